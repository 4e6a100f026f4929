#include "graph_reader.hpp"

#include <filesystem>
#include <vector>

namespace asp {
namespace {

constexpr std::uint64_t kPlacesBytesMax = std::uint64_t{1} << 26;

}  // namespace

Graph read_graph(const std::string& path, const ReadOptions& options) {
  const std::string text = read_text_file(path, options.limits.file_bytes);
  const std::filesystem::path file(path);
  const std::string extension = file.extension().string();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw FileError(path + ": the file is empty");

  const bool has_banner = std::string_view(text).substr(first).starts_with("%%MatrixMarket");
  const bool looks_dimacs = text[first] == 'c' || text[first] == 'p';
  Graph graph;
  if (has_banner || extension == ".mtx") {
    graph = parse_matrix_market(path, text, options);
  } else if (looks_dimacs || extension == ".gr") {
    graph = parse_dimacs(path, text, options);
  } else {
    throw FileError(path +
                    ": unknown format: a DIMACS file starts with a line 'c ...' or "
                    "'p sp VERTICES ARCS', a Matrix Market file with '%%MatrixMarket'");
  }
  graph.name = file.stem().string();
  return graph;
}

void read_places(const std::string& path, Graph& graph) {
  parse_places(path, read_text_file(path, kPlacesBytesMax), graph);
}

void parse_places(const std::string& path, std::string_view text, Graph& graph) {
  const auto count = static_cast<std::size_t>(graph.vertex_count);
  std::vector<Place> places(count);
  LineScanner scanner(path, text);
  while (scanner.next_line()) {
    if (scanner.line().starts_with('#')) continue;
    const auto& fields = scanner.split("\t");
    if (fields.size() != 4) {
      scanner.fail_expected("'VERTEX<tab>LATITUDE<tab>LONGITUDE<tab>NAME'");
    }
    const auto vertex =
        static_cast<std::size_t>(scanner.integer(fields[0], "a vertex", 1, graph.vertex_count));
    Place& place = places[vertex - 1];
    if (!place.name.empty()) scanner.fail("second name for vertex " + std::to_string(vertex));
    place.latitude = scanner.real(fields[1], "a latitude");
    place.longitude = scanner.real(fields[2], "a longitude");
    place.name = fields[3];
  }
  for (std::size_t vertex = 0; vertex < count; ++vertex) {
    if (places[vertex].name.empty()) {
      scanner.fail("the file ends without a name for vertex " + std::to_string(vertex + 1));
    }
  }
  graph.places = std::move(places);
}

}  // namespace asp
