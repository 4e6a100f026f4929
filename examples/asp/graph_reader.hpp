// Reads graphs from DIMACS .gr and Matrix Market files, and the names of their vertices.
//
// Files are bad input until proven good: a FileError names file, line and what was expected.
// Memory is bounded by the size of the file (and by ReadLimits), never by what a header promises.
// Single thread. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph.hpp"
#include "line_scanner.hpp"

namespace asp {

struct ReadLimits {
  std::uint64_t file_bytes = std::uint64_t{1} << 30;
  // The distance matrix has vertices * vertices elements: 16 GiB at this limit, over all ranks.
  std::int64_t vertices = 65536;
  // Any path is then shorter than 2^56: 64-bit distances cannot overflow.
  std::int64_t weight = std::int64_t{1} << 40;
};

struct ReadOptions {
  ReadLimits limits;
  // Real weights are multiplied by this and rounded. 0: they must be whole numbers.
  double scale = 0;
};

// Chooses the format by content, then by extension (.gr, .mtx).
Graph read_graph(const std::string& path, const ReadOptions& options);

// Fills graph.places from lines "vertex TAB latitude TAB longitude TAB name"; '#' starts a comment.
void read_places(const std::string& path, Graph& graph);

// The formats themselves, on text in memory; `path` is only for messages.
Graph parse_dimacs(const std::string& path, std::string_view text, const ReadOptions& options);
Graph parse_matrix_market(const std::string& path, std::string_view text,
                          const ReadOptions& options);
void parse_places(const std::string& path, std::string_view text, Graph& graph);

}  // namespace asp
