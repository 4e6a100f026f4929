// The rest of the program's logic: serial references, checking, names, the command line, timelines.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "evaluate.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "reference.hpp"
#include "timeline.hpp"

namespace asp {
namespace {

Graph small_graph() {
  Graph graph;
  graph.vertex_count = 4;
  graph.arcs = {{0, 1, 3}, {0, 1, 2}, {1, 2, 0}, {2, 1, 0}, {0, 2, 9}, {2, 2, 1}};
  return graph;
}

Graph named_graph() {
  Graph graph = small_graph();
  graph.places = {{0, 0, "Vaduz"}, {0, 0, "Vaduz, Mill Road"}, {0, 0, "Balzers"}, {0, 0, "12"}};
  return graph;
}

TEST(Reference, DijkstraEqualsFloydWarshall) {
  for (const int degree : {0, 1, 4}) {
    const Graph graph = random_graph(50, degree, 3);
    const std::vector<std::int64_t> matrix = serial_floyd_warshall(graph);
    const Adjacency adjacency(graph);
    for (int source = 0; source < 50; ++source) {
      const auto row = matrix.begin() + source * 50;
      EXPECT_EQ(adjacency.dijkstra(source), std::vector<std::int64_t>(row, row + 50));
    }
  }
}

TEST(Reference, ParallelArcsLoopsAndUnreachableVertices) {
  const std::vector<std::int64_t> matrix = serial_floyd_warshall(small_graph());
  EXPECT_EQ(std::vector<std::int64_t>(matrix.begin(), matrix.begin() + 4),
            (std::vector<std::int64_t>{0, 2, 2, kUnreachable}));
}

TEST(Route, FollowsShortestArcsAndDoesNotCircleAlongWeightZero) {
  const Adjacency adjacency(small_graph());
  EXPECT_EQ(adjacency.route(0, 2, {2, 0, 0, kUnreachable}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(adjacency.route(2, 2, {2, 0, 0, kUnreachable}), (std::vector<int>{2}));
  EXPECT_TRUE(adjacency.route(3, 2, {2, 0, 0, kUnreachable}).empty());
}

TEST(SelfCheck, NamesTheFirstDifference) {
  const Graph graph = small_graph();
  for (const bool whole : {true, false}) {
    Reference reference(graph, {.whole_matrix = whole, .rows = {0}});
    EXPECT_EQ(reference.compare(0, {0, 2, 2, kUnreachable}), "");
    EXPECT_EQ(reference.compare(0, {0, 2, 3, kUnreachable}),
              "from vertex 1 to vertex 3: parallel 3, serial 2");
    EXPECT_EQ(reference.compare(0, {0, 2, 2, 1}),
              "from vertex 1 to vertex 4: parallel 1, serial unreachable");
  }
}

TEST(SelfCheck, PlansEveryRowWhereAffordableAndASampleElsewhere) {
  EXPECT_TRUE(plan_check(100, 300).whole_matrix);
  EXPECT_EQ(plan_check(100, 300).rows.size(), 100U);
  EXPECT_FALSE(plan_check(1626, 3902).whole_matrix);
  EXPECT_EQ(plan_check(1626, 3902).rows.size(), 1626U);
  const std::vector<int> sample = plan_check(60000, 1 << 20).rows;
  EXPECT_EQ(sample.size(), 64U);
  EXPECT_EQ(std::set<int>(sample.begin(), sample.end()).size(), 64U);
  EXPECT_LT(sample.back(), 60000);
}

TEST(Facts, OfAMatrixMergedFromTwoRanks) {
  const Graph graph = small_graph();
  const RowLayout layout(4, 2);
  std::vector<Facts> parts;
  for (int rank = 0; rank < 2; ++rank) {
    RowBlock<std::int32_t> block(layout, rank);
    for (const Arc& arc : graph.arcs) block.insert(arc);
    parts.push_back(facts_of(block));
  }
  const Facts facts = merge(parts);
  EXPECT_EQ(facts.reachable, 4);
  EXPECT_EQ(facts.sum, 2 + 9 + 0 + 0);
  EXPECT_EQ(facts.longest, 9);
  EXPECT_EQ(facts.longest_from, 0);
  EXPECT_EQ(facts.longest_to, 2);
  EXPECT_EQ(facts.radius, 0);
}

TEST(FindVertex, ByNameNumberOrUniquePart) {
  const Graph graph = named_graph();
  EXPECT_EQ(find_vertex(graph, "vaduz"), 0);
  EXPECT_EQ(find_vertex(graph, "mill"), 1);
  EXPECT_EQ(find_vertex(graph, "3"), 2);
  EXPECT_EQ(find_vertex(graph, "12"), 3);
}

TEST(FindVertex, ExplainsWhatIsWrong) {
  const auto error = [](const Graph& graph, const char* text) -> std::string {
    try {
      (void)find_vertex(graph, text);
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(named_graph(), "Schaan"), "no vertex is called 'Schaan'");
  EXPECT_EQ(error(named_graph(), "a"),
            "3 vertices have 'a' in their names, for example\n  Vaduz\n  Vaduz, Mill Road\n"
            "  Balzers");
  EXPECT_EQ(error(named_graph(), "9"), "no vertex 9: they count from 1 to 4");
  EXPECT_EQ(error(small_graph(), "Vaduz"), "'Vaduz': vertices have no names here, give a number");
  EXPECT_EQ(error(named_graph(), ""), "no vertex is called ''");
}

TEST(RandomGraph, DependsOnTheSeedAlone) {
  EXPECT_EQ(random_graph(30, 4, 1).arcs, random_graph(30, 4, 1).arcs);
  EXPECT_NE(random_graph(30, 4, 1).arcs, random_graph(30, 4, 2).arcs);
  EXPECT_EQ(random_graph(30, 4, 1).arcs.size(), 120U);
  EXPECT_TRUE(random_graph(30, 0, 1).arcs.empty());
}

CommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "asp");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, ReadsOptions) {
  const CommandLine line =
      parse({"x.gr", "--lookahead", "3", "--shape", "binomial", "--segment", "4096", "--query", "A",
             "B", "--query", "C", "D", "--distance", "int64", "--self-check"});
  ASSERT_TRUE(line.options.has_value()) << line.text;
  EXPECT_EQ(line.options->file, "x.gr");
  EXPECT_EQ(line.options->lookahead, 3);
  EXPECT_EQ(line.options->coll.shape, ESP_SHAPE_BINOMIAL);
  EXPECT_EQ(line.options->coll.segment_bytes, 4096U);
  EXPECT_EQ(line.options->distance, DistanceType::kInt64);
  EXPECT_TRUE(line.options->self_check);
  ASSERT_EQ(line.options->queries.size(), 2U);
  EXPECT_EQ(line.options->queries[1].second, "D");
}

TEST(CommandLine, ExplainsWhatIsWrong) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{}, "FILE or --synthetic N"},
      {{"x.gr", "--wrong"}, "--wrong"},
      {{"x.gr", "--shape", "star"}, "expected auto|binary|"},
      {{"x.gr", "--lookahead", "65"}, "--lookahead"},
      {{"x.gr", "--synthetic", "5"}, "--synthetic"},
      {{"--synthetic", "0"}, "--synthetic"},
      {{"x.gr", "--query", "A"}, "--query"},
      {{"x.gr", "--scale", "-1"}, "--scale"},
  };
  for (const auto& [arguments, expected] : cases) {
    const CommandLine line = parse(arguments);
    EXPECT_FALSE(line.options.has_value());
    EXPECT_EQ(line.exit_code, 2);
    EXPECT_NE(line.text.find(expected), std::string::npos) << line.text;
  }
}

TEST(CommandLine, HelpIsNoError) {
  const CommandLine line = parse({"--help"});
  EXPECT_FALSE(line.options.has_value());
  EXPECT_EQ(line.exit_code, 0);
  EXPECT_NE(line.text.find("--self-check"), std::string::npos);
}

TEST(Timeline, IsJsonWithOneLanePerRank) {
  std::ostringstream out;
  write_timeline(out, {{{SpanKind::kSetup, -1, 100.0, 100.5}, {SpanKind::kCompute, 0, 100.5, 101}},
                       {{SpanKind::kBroadcast, 7, 100.25, 100.75}}});
  const nlohmann::json json = nlohmann::json::parse(out.str());
  std::vector<nlohmann::json> spans;
  std::set<std::string> lanes;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
    if (event["name"] == "thread_name") lanes.insert(event["args"]["name"]);
  }
  EXPECT_EQ(lanes, (std::set<std::string>{"rank 0", "rank 1"}));
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0]["ts"], 0.0);
  EXPECT_FALSE(spans[0]["args"].contains("step"));
  EXPECT_EQ(spans[2]["tid"], 1);
  EXPECT_EQ(spans[2]["name"], "broadcast");
  EXPECT_EQ(spans[2]["ts"], 250000.0);
  EXPECT_EQ(spans[2]["dur"], 500000.0);
  EXPECT_EQ(spans[2]["args"]["step"], 7);
}

}  // namespace
}  // namespace asp
