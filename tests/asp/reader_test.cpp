#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph_reader.hpp"

namespace asp {
namespace {

constexpr char kDimacs[] =
    "c four places\r\n"
    "p sp 4 3\r\n"
    "\r\n"
    "a 1 2 10\r\n"
    "a 2 3 0\n"
    "a 4 1 7";

constexpr char kSymmetric[] =
    "%%MatrixMarket matrix coordinate integer symmetric\n"
    "% comment\n"
    "3 3 3\n"
    "2 1 5\n"
    "3 3 9\n"
    "3 2 6\n";

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

std::string dimacs_error(std::string_view text) {
  return message_of([&] { (void)parse_dimacs("f.gr", text, {}); });
}

std::string market_error(std::string_view text) {
  return message_of([&] { (void)parse_matrix_market("f.mtx", text, {}); });
}

TEST(Dimacs, ReadsArcsWhateverTheLineEnds) {
  const Graph graph = parse_dimacs("f.gr", kDimacs, {});
  EXPECT_EQ(graph.vertex_count, 4);
  EXPECT_EQ(graph.arcs, (std::vector<Arc>{{0, 1, 10}, {1, 2, 0}, {3, 0, 7}}));
}

TEST(Dimacs, SaysWhereAndWhatWasExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f.gr:0: the file ends without a line 'p sp N M'"},
      {"c only\n", "f.gr:1: the file ends without a line 'p sp N M'"},
      {"a 1 2 3\n", "f.gr:1: expected the problem line 'p sp N M' before any arc"},
      {"p max 3 1\n", "f.gr:1: expected the problem line 'p sp VERTICES ARCS'"},
      {"p sp 3\n", "f.gr:1: expected the problem line 'p sp VERTICES ARCS', found 'p sp 3'"},
      {"p sp 0 0\n", "f.gr:1: expected the number of vertices (a whole number from 1 to 65536)"},
      {"p sp -3 1\n", "f.gr:1: expected the number of vertices"},
      {"p sp 99999999999999999999 1\n", "f.gr:1: expected the number of vertices"},
      {"p sp 3 2\np sp 3 2\n", "f.gr:2: second problem line; the first is line 1"},
      {"p sp 3 1\na 1 2\n", "f.gr:2: expected an arc 'a FROM TO WEIGHT', found 'a 1 2'"},
      {"p sp 3 1\na 1 2 3 4\n", "f.gr:2: expected an arc"},
      {"p sp 3 1\na 0 2 3\n", "f.gr:2: expected a vertex (a whole number from 1 to 3), found '0'"},
      {"p sp 3 1\na 1 4 3\n", "f.gr:2: expected a vertex"},
      {"p sp 3 1\na 1 2 -3\n", "f.gr:2: expected a weight (a whole number from 0 to"},
      {"p sp 3 1\na 1 2 3.5\n", "f.gr:2: expected a weight"},
      {"p sp 3 1\na 1 2 x\n", "found 'x'"},
      {"p sp 3 1\nedge 1 2 3\n", "f.gr:2: expected a line 'c ...', 'p sp N M' or"},
      {"p sp 3 1\na 1 2 3\na 2 3 4\n", "f.gr:3: more arcs than the 1 that line 1 promises"},
      {"p sp 3 2\na 1 2 3\n", "f.gr:2: the file ends after 1 of the 2 arcs that line 1 promises"},
      {std::string("p sp 3 1\na 1 \0 3\n", 17), "found '\\x00'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(dimacs_error(text).find(expected), std::string::npos)
        << "text: " << text << "\nmessage: " << dimacs_error(text) << "\nexpected: " << expected;
  }
}

TEST(Dimacs, AHeaderCannotAskForMoreThanTheFileHolds) {
  // Accepting either promise would reserve terabytes.
  EXPECT_NE(dimacs_error("p sp 3 1000000000000\na 1 2 3\n").find("a file of this size can hold"),
            std::string::npos);
  EXPECT_NE(dimacs_error("p sp 2000000000 1\na 1 2 3\n").find("number of vertices"),
            std::string::npos);
}

TEST(Dimacs, AnEndlessLineIsNotRepeatedToTheUser) {
  const std::string message = dimacs_error(std::string(1 << 20, 'x'));
  EXPECT_LT(message.size(), 200U);
}

TEST(MatrixMarket, ReadsSymmetricAsBothDirections) {
  const Graph graph = parse_matrix_market("f.mtx", kSymmetric, {});
  EXPECT_EQ(graph.vertex_count, 3);
  EXPECT_EQ(graph.arcs, (std::vector<Arc>{{1, 0, 5}, {0, 1, 5}, {2, 2, 9}, {2, 1, 6}, {1, 2, 6}}));
}

TEST(MatrixMarket, ReadsPatternAndRealWeights) {
  EXPECT_EQ(
      parse_matrix_market("f", "%%matrixmarket MATRIX Coordinate Pattern General\n2 2 1\n1 2\n", {})
          .arcs,
      (std::vector<Arc>{{0, 1, 1}}));
  const char* real = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3.0\n2 1 2.5e2\n";
  EXPECT_EQ(parse_matrix_market("f", real, {}).arcs, (std::vector<Arc>{{0, 1, 3}, {1, 0, 250}}));
}

TEST(MatrixMarket, RoundsFractionsOnlyWhenAScaleIsGiven) {
  const char* text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.256\n";
  EXPECT_NE(market_error(text).find("f.mtx:3: expected a whole number as weight (--scale"),
            std::string::npos);
  EXPECT_EQ(parse_matrix_market("f", text, {.limits = {}, .scale = 100}).arcs,
            (std::vector<Arc>{{0, 1, 26}}));
}

TEST(MatrixMarket, SaysWhereAndWhatWasExpected) {
  const std::string head = "%%MatrixMarket matrix coordinate integer general\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f.mtx:0: the file is empty"},
      {"1 2 3\n", "f.mtx:1: expected '%%MatrixMarket matrix coordinate"},
      {"%%MatrixMarket matrix array real general\n", "f.mtx:1: expected '%%MatrixMarket matrix"},
      {"%%MatrixMarket matrix coordinate complex general\n", "expected integer, real or pattern"},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "expected a general or symmetric"},
      {head, "f.mtx:1: the file ends without the line 'ROWS COLUMNS ENTRIES'"},
      {head + "3 3\n", "f.mtx:2: expected 'ROWS COLUMNS ENTRIES', found '3 3'"},
      {head + "3 4 1\n1 2 3\n", "f.mtx:2: expected as many columns as rows"},
      {head + "3 3 123456789012\n", "f.mtx:2: expected the number of entries that a file of this"},
      {head + "3 3 1\n1 2\n", "f.mtx:3: expected an entry 'ROW COLUMN VALUE', found '1 2'"},
      {head + "3 3 1\n4 2 1\n", "f.mtx:3: expected a row (a whole number from 1 to 3), found '4'"},
      {head + "3 3 1\n1 2 -1\n", "f.mtx:3: expected a weight"},
      {head + "3 3 1\n1 2 1\n2 1 1\n", "f.mtx:4: more entries than the 1 that line 2 promises"},
      {head + "3 3 2\n1 2 1\n", "f.mtx:3: the file ends after 1 of the 2 entries"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n",
       "(a number), found 'nan'"},
      {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e300\n", "a weight (from 0 to"},
      {"%%MatrixMarket matrix coordinate integer symmetric\n3 3 1\n1 2 1\n", "above the diagonal"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(market_error(text).find(expected), std::string::npos)
        << "text: " << text << "\nmessage: " << market_error(text) << "\nexpected: " << expected;
  }
}

// Damaged files: whatever happens, it is a graph within its own bounds or a FileError with a line.
void expect_graph_or_error(const std::string& text,
                           Graph (*parse)(const std::string&, std::string_view,
                                          const ReadOptions&)) {
  try {
    const Graph graph = parse("damaged", text, {});
    ASSERT_GE(graph.vertex_count, 1);
    ASSERT_LE(graph.arcs.size(), text.size());
    for (const Arc& arc : graph.arcs) {
      ASSERT_GE(arc.from, 0);
      ASSERT_LT(arc.from, graph.vertex_count);
      ASSERT_GE(arc.to, 0);
      ASSERT_LT(arc.to, graph.vertex_count);
      ASSERT_GE(arc.weight, 0);
    }
  } catch (const FileError& error) {
    ASSERT_TRUE(std::string(error.what()).starts_with("damaged:")) << error.what();
  }
}

TEST(DamagedFiles, EveryTruncationIsHandled) {
  const std::string dimacs = kDimacs;
  const std::string market = kSymmetric;
  for (std::size_t n = 0; n < dimacs.size(); ++n) {
    expect_graph_or_error(dimacs.substr(0, n), parse_dimacs);
  }
  for (std::size_t n = 0; n < market.size(); ++n) {
    expect_graph_or_error(market.substr(0, n), parse_matrix_market);
  }
}

TEST(DamagedFiles, RandomDamageIsHandled) {
  std::mt19937 random(20);
  constexpr std::string_view kLikely = "0123456789-+.eapc% \t\r\n\0\xff";
  for (int round = 0; round < 20000; ++round) {
    const bool dimacs = round % 2 == 0;
    std::string text = dimacs ? kDimacs : kSymmetric;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = kLikely[random() % kLikely.size()];
          break;
        case 1:
          text.insert(at, 1 + random() % 20, kLikely[random() % kLikely.size()]);
          break;
        default:
          text.erase(at, 1 + random() % 5);
      }
      if (text.empty()) text = " ";
    }
    expect_graph_or_error(text, dimacs ? parse_dimacs : parse_matrix_market);
  }
}

TEST(Places, ReadsNamesAndPositions) {
  Graph graph;
  graph.vertex_count = 2;
  parse_places("f.names", "# comment\n2\t47.5\t-9.25\tUpper Town / Main Street\n1\t0\t0\tA\n",
               graph);
  ASSERT_EQ(graph.places.size(), 2U);
  EXPECT_EQ(graph.places[1].name, "Upper Town / Main Street");
  EXPECT_EQ(graph.places[1].latitude, 47.5);
  EXPECT_EQ(graph.places[1].longitude, -9.25);
}

TEST(Places, SaysWhereAndWhatWasExpected) {
  Graph graph;
  graph.vertex_count = 2;
  const auto error = [&](const char* text) {
    return message_of([&] { parse_places("f.names", text, graph); });
  };
  EXPECT_NE(error("1 2 3 A\n").find("f.names:1: expected 'VERTEX<tab>"), std::string::npos);
  EXPECT_NE(error("3\t1\t1\tA\n").find("f.names:1: expected a vertex"), std::string::npos);
  EXPECT_NE(error("1\tx\t1\tA\n").find("expected a latitude (a number), found 'x'"),
            std::string::npos);
  EXPECT_NE(error("1\t1\t1\tA\n1\t1\t1\tB\n").find("f.names:2: second name for vertex 1"),
            std::string::npos);
  EXPECT_NE(error("1\t1\t1\tA\n").find("ends without a name for vertex 2"), std::string::npos);
  EXPECT_TRUE(graph.places.empty());
}

class ReadGraph : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/asp_reader_test_" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(ReadGraph, ChoosesByContentThenByExtension) {
  EXPECT_EQ(read_graph(write("a.gr", kDimacs), {}).vertex_count, 4);
  EXPECT_EQ(read_graph(write("b", kDimacs), {}).vertex_count, 4);
  EXPECT_EQ(read_graph(write("c.gr", kSymmetric), {}).vertex_count, 3);
  const std::string unknown = write("d.csv", "from,to,weight\n");
  EXPECT_NE(message_of([&] { (void)read_graph(unknown, {}); }).find("unknown format"),
            std::string::npos);
  const std::string market = write("e.mtx", "1 2 3\n");
  EXPECT_NE(message_of([&] { (void)read_graph(market, {}); }).find("%%MatrixMarket"),
            std::string::npos);
}

TEST_F(ReadGraph, SaysWhyAFileCannotBeRead) {
  const auto error = [](const std::string& path, std::uint64_t bytes_max = 1000) {
    const ReadLimits limits{.file_bytes = bytes_max};
    return message_of([&] { (void)read_graph(path, {.limits = limits}); });
  };
  EXPECT_NE(error("/nowhere/x.gr").find("/nowhere/x.gr: No such file or directory"),
            std::string::npos);
  EXPECT_NE(error(testing::TempDir()).find("not a regular file"), std::string::npos);
  EXPECT_NE(error(write("f.gr", kDimacs), 10).find("at most 10 are accepted"), std::string::npos);
  EXPECT_NE(error(write("g.gr", "  \n\n")).find("the file is empty"), std::string::npos);
}

TEST_F(ReadGraph, ReadsTheShippedNetwork) {
  Graph graph = read_graph(ASP_DATA "/liechtenstein.gr", {});
  read_places(ASP_DATA "/liechtenstein.names", graph);
  EXPECT_EQ(graph.vertex_count, 1626);
  EXPECT_EQ(graph.arcs.size(), 3902U);
  EXPECT_EQ(graph.places.size(), 1626U);
}

}  // namespace
}  // namespace asp
