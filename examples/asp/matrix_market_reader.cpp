// Matrix Market coordinate format: entry (i, j, value) is an arc from i to j of that weight.
//
// Fields integer, real and pattern (weight 1); symmetry general and symmetric (both directions).
// Entries on the diagonal are arcs from a vertex to itself, which no shortest path uses.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "graph_reader.hpp"

namespace asp {
namespace {

// "1 2" and the line break: fewer bytes cannot hold an entry.
constexpr std::int64_t kEntryBytesMin = 4;

enum class Field { kInteger, kReal, kPattern };

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

class MatrixMarketParser {
 public:
  MatrixMarketParser(const std::string& path, std::string_view text, const ReadOptions& options)
      : scanner_(path, text),
        options_(options),
        entries_max_(static_cast<std::int64_t>(text.size()) / kEntryBytesMin + 1) {}

  Graph parse() {
    parse_banner();
    if (!next_content()) scanner_.fail("the file ends without the line 'ROWS COLUMNS ENTRIES'");
    parse_size();
    std::int64_t entries = 0;
    while (next_content()) {
      if (entries++ == promised_) {
        scanner_.fail(
            fmt::format("more entries than the {} that line {} promises", promised_, size_line_));
      }
      parse_entry();
    }
    if (entries != promised_) {
      scanner_.fail(fmt::format("the file ends after {} of the {} entries that line {} promises",
                                entries, promised_, size_line_));
    }
    return std::move(graph_);
  }

 private:
  bool next_content() {
    while (scanner_.next_line()) {
      if (!scanner_.line().starts_with('%')) return true;
    }
    return false;
  }

  void parse_banner() {
    constexpr std::string_view kForm =
        "'%%MatrixMarket matrix coordinate integer|real|pattern general|symmetric'";
    if (!scanner_.next_line()) scanner_.fail("the file is empty");
    const auto& fields = scanner_.split();
    if (fields.size() != 5 || lower(fields[0]) != "%%matrixmarket" ||
        lower(fields[1]) != "matrix" || lower(fields[2]) != "coordinate") {
      scanner_.fail_expected(kForm);
    }
    const std::string field = lower(fields[3]);
    const std::string symmetry = lower(fields[4]);
    if (field != "integer" && field != "real" && field != "pattern") {
      scanner_.fail_expected("integer, real or pattern entries", fields[3]);
    }
    if (symmetry != "general" && symmetry != "symmetric") {
      scanner_.fail_expected("a general or symmetric matrix", fields[4]);
    }
    field_ = field == "integer" ? Field::kInteger
             : field == "real"  ? Field::kReal
                                : Field::kPattern;
    symmetric_ = symmetry == "symmetric";
  }

  void parse_size() {
    const auto& fields = scanner_.split();
    if (fields.size() != 3) scanner_.fail_expected("'ROWS COLUMNS ENTRIES'");
    size_line_ = scanner_.line_number();
    const std::int64_t rows =
        scanner_.integer(fields[0], "the number of rows", 1, options_.limits.vertices);
    scanner_.integer(fields[1], "as many columns as rows", rows, rows);
    promised_ = scanner_.integer(
        fields[2], "the number of entries that a file of this size can hold", 0, entries_max_);
    graph_.vertex_count = static_cast<std::int32_t>(rows);
    graph_.arcs.reserve(static_cast<std::size_t>(promised_ * (symmetric_ ? 2 : 1)));
  }

  void parse_entry() {
    const auto& fields = scanner_.split();
    if (fields.size() != (field_ == Field::kPattern ? 2U : 3U)) {
      scanner_.fail_expected(field_ == Field::kPattern ? "an entry 'ROW COLUMN'"
                                                       : "an entry 'ROW COLUMN VALUE'");
    }
    const auto vertex = [&](std::string_view field, std::string_view what) {
      return static_cast<std::int32_t>(scanner_.integer(field, what, 1, graph_.vertex_count) - 1);
    };
    const std::int32_t row = vertex(fields[0], "a row");
    const std::int32_t column = vertex(fields[1], "a column");
    const std::int64_t weight = field_ == Field::kPattern ? 1 : parse_weight(fields[2]);
    if (symmetric_ && column > row) {
      scanner_.fail("entry above the diagonal: a symmetric file holds only the lower triangle");
    }
    graph_.arcs.push_back({row, column, weight});
    if (symmetric_ && row != column) graph_.arcs.push_back({column, row, weight});
  }

  std::int64_t parse_weight(std::string_view field) {
    if (field_ == Field::kInteger) {
      return scanner_.integer(field, "a weight", 0, options_.limits.weight);
    }
    const double value = scanner_.real(field, "a weight");
    const double scaled = options_.scale > 0 ? std::round(value * options_.scale) : value;
    if (!(scaled >= 0 && scaled <= static_cast<double>(options_.limits.weight))) {
      scanner_.fail_expected(
          fmt::format("a weight (from 0 to {} after scaling)", options_.limits.weight), field);
    }
    if (scaled != std::floor(scaled)) {
      scanner_.fail_expected("a whole number as weight (--scale F multiplies by F and rounds)",
                             field);
    }
    return static_cast<std::int64_t>(scaled);
  }

  LineScanner scanner_;
  ReadOptions options_;
  std::int64_t entries_max_;
  Field field_ = Field::kInteger;
  bool symmetric_ = false;
  std::int64_t promised_ = 0;
  int size_line_ = 0;
  Graph graph_;
};

}  // namespace

Graph parse_matrix_market(const std::string& path, std::string_view text,
                          const ReadOptions& options) {
  return MatrixMarketParser(path, text, options).parse();
}

}  // namespace asp
