// What is to be computed, as rank 0 reads or draws it; share_problem.hpp gives it to the others.
//
// Single thread. path: setup
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "graph.hpp"
#include "options.hpp"

namespace asp {

struct Query {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

struct Problem {
  Graph graph;  // Name and places: on rank 0 only.
  std::vector<Query> queries;
  bool wide = false;  // Distances of 64 bits.
};

// Bad input: the text is for the user.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads or draws the graph. Throws FileError or InputError.
Problem load_problem(const Options& options);

// A graph that is strongly connected (a ring in random order) with `degree` arcs per vertex.
Graph random_graph(int vertex_count, int degree, std::uint64_t seed);

// By exact name, by number (from 1), or by a part of exactly one name. Throws InputError.
std::int32_t find_vertex(const Graph& graph, std::string_view text);

// Its name, or "vertex 7".
std::string vertex_label(const Graph& graph, std::int32_t vertex);

}  // namespace asp
