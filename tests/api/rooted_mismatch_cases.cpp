// Ranks that make different calls of gathers to a root, scatters, reduce-scatters and exchanges of
// neighbours: by the next call on the team everybody gets an error that names the other.
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/rank_check.hpp"

namespace test {
namespace rooted_mismatch_cases {
namespace {

using Made = std::function<esp_status(esp_team*)>;

bool tells(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

// Both ranks of a pair make their own call on a team made for the purpose. `words`: what the text
// has to say of either call.
void disagree(const Context& context, const char* what, const Made& even, const char* even_words,
              const Made& odd, const char* odd_words) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "{}", what);
  const bool is_even = context.rank % 2 == 0;
  esp_status status = (is_even ? even : odd)(team);
  // Who only sends, or does nothing, may be done before anybody else has called.
  if (status == ESP_OK) status = esp_barrier(team);
  CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "{}", what);
  const std::string text = esp_team_error(team);
  CHECK(tells(text, fmt::format("rank {}", context.rank ^ 1)), "{}: {}", what, text);
  // What a member on another node has called may come too late to be told.
  const bool nodes = counter(context, "frames_sent") > 0;
  CHECK(nodes || (tells(text, even_words) && tells(text, odd_words)), "{}: {}", what, text);
  int one = 1;
  CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &one, 1, ESP_INT32, ESP_SUM), context.world,
           "the world after {}", what);
  CHECK_EQ(one, context.size, "the world after {}", what);
}

void other_calls(const Context& context) {
  static double x[40'000], y[40'000];
  static const std::size_t seven[] = {3, 4}, eight[] = {3, 5};
  const auto gather = [](std::size_t count, int root) {
    return [=](esp_team* t) { return esp_gather(t, x, y, count, ESP_DOUBLE, root); };
  };
  const auto scatter = [](std::size_t count, int root) {
    return [=](esp_team* t) { return esp_scatter(t, x, y, count, ESP_DOUBLE, root); };
  };
  const auto gatherv = [](int root) {
    return [=](esp_team* t) {
      const auto count = seven[esp_team_rank(t)];
      return esp_gatherv(t, x, count, y, seven, nullptr, ESP_DOUBLE, root);
    };
  };
  const auto block = [](std::size_t count, esp_op op) {
    return [=](esp_team* t) { return esp_reduce_scatter_block(t, x, y, count, ESP_DOUBLE, op); };
  };
  const auto parts = [](const std::size_t* counts) {
    return [=](esp_team* t) { return esp_reduce_scatter(t, x, y, counts, ESP_DOUBLE, ESP_SUM); };
  };
  for (const std::size_t count : {8u, 20'000u}) {
    disagree(context, "root of a gather", gather(count, 0), "root 0", gather(count, 1), "root 1");
    disagree(context, "root of a scatter", scatter(count, 0), "root 0", scatter(count, 1),
             "root 1");
    disagree(context, "count of a gather", gather(count, 0), "gather", gather(count - 1, 0),
             fmt::format("{}", count - 1).c_str());
    disagree(context, "count of a scatter", scatter(count, 0), "scatter", scatter(count - 1, 0),
             fmt::format("{}", count - 1).c_str());
    disagree(context, "gather and scatter", gather(count, 0), "gather", scatter(count, 0),
             "scatter");
    disagree(context, "count of a reduce-scatter", block(count, ESP_SUM), "reduce",
             block(count - 1, ESP_SUM), "reduce");
  }
  disagree(context, "roots of a gatherv", gatherv(0), "gatherv", gatherv(1), "gatherv");
  disagree(context, "gather and gatherv", gather(8, 0), "gather", gatherv(0), "gatherv");
  disagree(context, "operator of a reduce-scatter", block(8, ESP_SUM), "sum", block(8, ESP_MAX),
           "max");
  disagree(context, "counts of a reduce-scatter", parts(seven), "7", parts(eight), "8");
  disagree(context, "gather and barrier", gather(8, 0), "gather", esp_barrier, "barrier");
}

// One of a graph calls another thing, or another of the same name.
void neighbors_disagree(const Context& context) {
  static double x[40'000], y[40'000];
  const auto with_graph = [](auto call) {
    return [=](esp_team* t) {
      const int other[] = {1 - esp_team_rank(t)};
      esp_graph* graph = nullptr;
      const esp_status made = esp_graph_create(t, 1, other, 1, other, &graph);
      if (made != ESP_OK) return made;
      const esp_status status = call(t, graph);
      (void)esp_graph_free(&graph);
      return status;
    };
  };
  const auto exchange = [&](std::size_t count) {
    return with_graph(
        [=](esp_team*, esp_graph* g) { return esp_neighbor_alltoall(g, x, y, count, ESP_DOUBLE); });
  };
  const auto gather = [&](std::size_t count) {
    return with_graph([=](esp_team*, esp_graph* g) {
      return esp_neighbor_allgather(g, x, y, count, ESP_DOUBLE);
    });
  };
  const auto barrier = with_graph([](esp_team* t, esp_graph*) { return esp_barrier(t); });
  for (const std::size_t count : {8u, 20'000u}) {
    disagree(context, "neighbours and a barrier", exchange(count), "alltoall", barrier, "barrier");
    disagree(context, "two exchanges", exchange(count), "alltoall", gather(count), "allgather");
    disagree(context, "count of an exchange", exchange(count), "alltoall", exchange(count - 1),
             "alltoall");
  }
}

// A sender sends another number of elements than the root expects, or the other way round. Who
// receives is told.
void lengths(const Context& context) {
  static double x[100'000], y[100'000];
  for (const auto& [much, more] : {std::pair{5u, 1u}, std::pair{30'000u, 1u},
                                   std::pair{8192u, 8192u}, std::pair{32'768u, 32'768u}}) {
    for (const bool gathers : {true, false}) {
      for (const bool too_many : {true, false}) {
        esp_team* team = nullptr;
        CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
        const bool is_root = esp_team_rank(team) == 0;
        const std::size_t expected[] = {much, too_many ? much : much + more};
        const std::size_t sent = too_many ? much + more : much, mine = is_root ? much : sent;
        esp_status status = gathers
                                ? esp_gatherv(team, x, mine, y, expected, nullptr, ESP_DOUBLE, 0)
                                : esp_scatterv(team, x, expected, nullptr, y, mine, ESP_DOUBLE, 0);
        const bool receives = gathers == is_root;
        // The other learns at the next call, if not before.
        if (!receives && status == ESP_OK) status = esp_barrier(team);
        CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "{} elements and {}, {}", much, more,
                     gathers ? "gatherv" : "scatterv");
        const std::string text = esp_team_error(team);
        CHECK(!receives || tells(text, fmt::format("rank {}", context.rank ^ 1)), "{}", text);
        CHECK_OK(esp_barrier(context.world), context.world, "the world");
      }
    }
  }
}

}  // namespace
}  // namespace rooted_mismatch_cases

void rooted_mismatch(const Context& context) {
  rooted_mismatch_cases::other_calls(context);
  rooted_mismatch_cases::neighbors_disagree(context);
  rooted_mismatch_cases::lengths(context);
}

// Run with a short TIMEOUT: who sends nothing cannot be seen to send too little.
void unsent_rooted(const Context& context) {
  double x[8] = {}, y[16] = {};
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "");
  const std::size_t five[] = {0, 5};
  const bool expects = context.rank % 2 == 0;
  const esp_status status = esp_gatherv(team, x, 0, y, five, nullptr, ESP_DOUBLE, 0);
  if (expects) {
    CHECK_STATUS(status, ESP_ERR_TIMEOUT, team, "nothing comes");
    const std::string text = esp_team_error(team), other = fmt::format("rank {}", context.rank + 1);
    CHECK(text.find(other) != text.npos, "{}", text);
  } else {
    CHECK_OK(status, team, "all was sent");
    ::usleep(1'500'000);  // The world waits no longer than the team.
  }
  CHECK_OK(esp_barrier(context.world), context.world, "");
}

}  // namespace test
