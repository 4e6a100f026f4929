// A weighted directed graph as the program reads it: arcs, and the places its vertices stand for.
//
// Vertices count from 0 here and from 1 in files. Weights are whole numbers, never negative.
// Plain values; no thread rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace asp {

// Broadcast as raw bytes from rank 0 to the others, hence without padding.
struct Arc {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t weight = 0;
  friend bool operator==(const Arc&, const Arc&) = default;
};
static_assert(sizeof(Arc) == 16);

struct Place {
  double latitude = 0;
  double longitude = 0;
  std::string name;
};

struct Graph {
  std::string name;
  std::int32_t vertex_count = 0;
  std::vector<Arc> arcs;
  std::vector<Place> places;  // One per vertex, or none at all.
};

}  // namespace asp
