// DIMACS shortest-path format (9th DIMACS Implementation Challenge): 'c' comments, one problem line
// 'p sp VERTICES ARCS', then ARCS lines 'a FROM TO WEIGHT', vertices from 1.
#include <fmt/format.h>

#include "graph_reader.hpp"

namespace asp {
namespace {

// "a 1 2 3" and the line break: fewer bytes cannot hold an arc.
constexpr std::int64_t kArcBytesMin = 7;

class DimacsParser {
 public:
  DimacsParser(const std::string& path, std::string_view text, const ReadOptions& options)
      : scanner_(path, text),
        limits_(options.limits),
        arcs_max_(static_cast<std::int64_t>(text.size()) / kArcBytesMin + 1) {}

  Graph parse() {
    while (scanner_.next_line()) parse_line();
    if (graph_.vertex_count == 0) scanner_.fail("the file ends without a line 'p sp N M'");
    if (std::ssize(graph_.arcs) != promised_) {
      scanner_.fail(fmt::format("the file ends after {} of the {} arcs that line {} promises",
                                graph_.arcs.size(), promised_, problem_line_));
    }
    return std::move(graph_);
  }

 private:
  void parse_line() {
    const auto& fields = scanner_.split();
    const std::string_view kind = fields[0];
    if (kind.starts_with('c')) return;
    if (kind == "p") {
      parse_problem(fields);
    } else if (kind == "a") {
      parse_arc(fields);
    } else {
      scanner_.fail_expected("a line 'c ...', 'p sp N M' or 'a FROM TO WEIGHT'");
    }
  }

  void parse_problem(const std::vector<std::string_view>& fields) {
    if (problem_line_ != 0) {
      scanner_.fail(fmt::format("second problem line; the first is line {}", problem_line_));
    }
    if (fields.size() != 4 || fields[1] != "sp") {
      scanner_.fail_expected("the problem line 'p sp VERTICES ARCS'");
    }
    problem_line_ = scanner_.line_number();
    graph_.vertex_count = static_cast<std::int32_t>(
        scanner_.integer(fields[2], "the number of vertices", 1, limits_.vertices));
    promised_ = scanner_.integer(fields[3], "the number of arcs that a file of this size can hold",
                                 0, arcs_max_);
    graph_.arcs.reserve(static_cast<std::size_t>(promised_));
  }

  void parse_arc(const std::vector<std::string_view>& fields) {
    if (problem_line_ == 0) scanner_.fail_expected("the problem line 'p sp N M' before any arc");
    if (fields.size() != 4) scanner_.fail_expected("an arc 'a FROM TO WEIGHT'");
    if (std::ssize(graph_.arcs) == promised_) {
      scanner_.fail(
          fmt::format("more arcs than the {} that line {} promises", promised_, problem_line_));
    }
    const auto vertex = [&](std::string_view field) {
      return static_cast<std::int32_t>(scanner_.integer(field, "a vertex", 1, graph_.vertex_count) -
                                       1);
    };
    graph_.arcs.push_back({vertex(fields[1]), vertex(fields[2]),
                           scanner_.integer(fields[3], "a weight", 0, limits_.weight)});
  }

  LineScanner scanner_;
  ReadLimits limits_;
  std::int64_t arcs_max_;
  std::int64_t promised_ = 0;
  int problem_line_ = 0;
  Graph graph_;
};

}  // namespace

Graph parse_dimacs(const std::string& path, std::string_view text, const ReadOptions& options) {
  return DimacsParser(path, text, options).parse();
}

}  // namespace asp
