// Teams: who is in them, that they do not disturb each other, and that they can be had in number.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

// A team works: every member adds its rank in the job.
void check_works(esp_team* team, const char* what) {
  const int size = esp_team_size(team);
  int expected = 0;
  for (int r = 0; r < size; ++r) expected += esp_team_job_rank(team, r);
  int sum = esp_team_job_rank(team, esp_team_rank(team));
  CHECK_OK(esp_allreduce(team, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), team, "{}", what);
  CHECK_EQ(sum, expected, "{}", what);
  check_bcast(team, {.type = ESP_INT32, .count = 5000, .root = size - 1});
  check_reduce(team, {.type = ESP_DOUBLE, .count = 77, .root = size / 2});
}

// Ranks of the job and of the team, there and back.
void check_inverse(const Context& context, const esp_team* team) {
  int members = 0;
  for (int r = 0; r < context.size; ++r) {
    const int inside = esp_team_rank_of(team, r);
    if (inside < 0) continue;
    ++members;
    CHECK_EQ(esp_team_job_rank(team, inside), r, "member {}", inside);
  }
  CHECK_EQ(members, esp_team_size(team), "others are not members");
  for (const int outside : {-1, context.size, -context.size - 1}) {
    CHECK_EQ(esp_team_rank_of(team, outside), -1, "{} is no rank of the job", outside);
  }
}

void identity(const Context& context) {
  CHECK_EQ(esp_team_rank(context.world), context.rank, "world");
  CHECK_EQ(esp_team_size(context.world), context.size, "world");
  CHECK(esp_team_job(context.world) == context.job, "world");
  for (int r = 0; r < context.size; ++r) CHECK_EQ(esp_team_job_rank(context.world, r), r, "world");
  CHECK_EQ(esp_team_job_rank(context.world, context.size), -1, "out of range");
  CHECK_EQ(esp_team_job_rank(context.world, -1), -1, "out of range");
  CHECK_EQ(esp_team_rank_of(nullptr, 0), -1, "no team");
  check_inverse(context, context.world);
  CHECK_EQ(std::string(esp_team_error(context.world)), std::string(), "no failure yet");
}

void dup(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  CHECK(team != nullptr && team != context.world, "a new team");
  CHECK_EQ(esp_team_rank(team), context.rank, "dup");
  CHECK_EQ(esp_team_size(team), context.size, "dup");
  check_works(team, "dup");
  CHECK_OK(esp_team_free(team), context.world, "");
}

void split(const Context& context) {
  // Reversed halves; and every third rank in no team.
  const int color = context.rank % 3 == 2 ? ESP_NO_TEAM : context.rank % 2;
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, color, -context.rank, &team), context.world, "");
  CHECK_EQ(team == nullptr, color == ESP_NO_TEAM, "color {}", color);
  if (team == nullptr) return;
  std::vector<int> expected;
  for (int r = context.size - 1; r >= 0; --r) {
    if (r % 3 != 2 && r % 2 == color) expected.push_back(r);
  }
  CHECK_EQ(esp_team_size(team), static_cast<int>(expected.size()), "color {}", color);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK_EQ(esp_team_job_rank(team, static_cast<int>(i)), expected[i], "color {}", color);
  }
  CHECK_EQ(esp_team_job_rank(team, esp_team_rank(team)), context.rank, "own rank");
  check_inverse(context, team);
  check_works(team, "split");
  // A team of a team.
  esp_team* half = nullptr;
  CHECK_OK(esp_team_split(team, esp_team_rank(team) % 2, 0, &half), team, "");
  check_works(half, "split of split");
  CHECK_OK(esp_team_free(half), team, "");
  CHECK_OK(esp_team_free(team), context.world, "");
}

void include(const Context& context) {
  std::vector<int> ranks;
  for (int r = context.size - 1; r >= 0; r -= 2) ranks.push_back(r);
  esp_team* team = nullptr;
  const int count = static_cast<int>(ranks.size());
  CHECK_OK(esp_team_include(context.world, ranks.data(), count, &team), context.world, "");
  const bool inside = (context.size - 1 - context.rank) % 2 == 0;
  CHECK_EQ(team != nullptr, inside, "member");
  if (team == nullptr) return;
  CHECK_EQ(esp_team_size(team), count, "include");
  CHECK_EQ(esp_team_rank(team), (context.size - 1 - context.rank) / 2, "include");
  check_works(team, "include");
  CHECK_OK(esp_team_free(team), context.world, "");
}

// Nodes are numbered by their lowest ranks, alike on all ranks, and are those that share memory.
void nodes(const Context& context) {
  std::vector<int> node_of;
  int count = 0;
  for (int r = 0; r < context.size; ++r) {
    node_of.push_back(esp_job_node(context.job, r));
    CHECK(node_of.back() >= 0 && node_of.back() <= count, "rank {} is on {}", r, node_of.back());
    count = std::max(count, node_of.back() + 1);
  }
  for (const int outside : {-1, context.size}) {
    CHECK_EQ(esp_job_node(context.job, outside), -1, "{} is no rank", outside);
  }
  CHECK_EQ(esp_job_node(nullptr, 0), -1, "no job");
  const char* expected = std::getenv("API_NODES");
  if (expected != nullptr) CHECK_EQ(count, std::atoi(expected), "nodes");
  for (const esp_op op : {ESP_MIN, ESP_MAX}) {
    std::vector<int> agreed = node_of;
    CHECK_OK(
        esp_allreduce(context.world, ESP_IN_PLACE, agreed.data(), agreed.size(), ESP_INT32, op),
        context.world, "");
    CHECK(agreed == node_of, "ranks do not agree");
  }
  const int here = node_of[static_cast<std::size_t>(context.rank)];
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, here, 0, &team), context.world, "");
  esp_region* region = nullptr;
  CHECK_OK(esp_region_create(context.world, 8, &region), context.world, "");
  if (team == nullptr || region == nullptr) return;
  for (int r = 0; r < context.size; ++r) {
    const bool together = node_of[static_cast<std::size_t>(r)] == here;
    CHECK_EQ(esp_team_rank_of(team, r) >= 0, together, "rank {} in the team of a node", r);
    CHECK_EQ(esp_region_pointer(region, r) != nullptr, together, "memory of rank {}", r);
  }
  check_inverse(context, team);
  check_works(team, "of a node");
  CHECK_OK(esp_region_free(region), context.world, "");
  CHECK_OK(esp_team_free(team), context.world, "");
}

// Broadcasts on many teams at once, completed in another order than started.
void many_teams_at_once(const Context& context) {
  constexpr int kTeams = 24;
  constexpr std::size_t kCount = 600;
  std::vector<esp_team*> teams(kTeams, nullptr);
  std::vector<std::vector<int>> data(kTeams, std::vector<int>(kCount, -1));
  std::vector<esp_request*> requests(kTeams, nullptr);
  for (esp_team*& team : teams) CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  for (int i = 0; i < kTeams; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (context.rank == i % context.size) data[at].assign(kCount, i);
    CHECK_OK(esp_bcast_start(teams[at], data[at].data(), kCount, ESP_INT32, i % context.size,
                             nullptr, nullptr, &requests[at]),
             teams[at], "team {}", i);
  }
  for (int i = kTeams - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK_OK(esp_request_wait(&requests[at]), teams[at], "team {}", i);
    CHECK_EQ(std::accumulate(data[at].begin(), data[at].end(), 0), i * static_cast<int>(kCount),
             "team {}", i);
    CHECK_OK(esp_team_free(teams[at]), context.world, "team {}", i);
  }
}

// Teams that come and go leave nothing behind that could run out.
void remade(const Context& context) {
  const int rounds = context.size <= 4 ? 1000 : 4000 / context.size;
  for (int i = 0; i < rounds && g_failures == 0; ++i) {
    esp_team* team = nullptr;
    if (i % 2 == 0) CHECK_OK(esp_team_dup(context.world, &team), context.world, "round {}", i);
    if (i % 2 == 1) {
      CHECK_OK(esp_team_split(context.world, context.rank / 2, 0, &team), context.world, "{}", i);
    }
    int one = 1;
    CHECK_OK(esp_allreduce(team, ESP_IN_PLACE, &one, 1, ESP_INT32, ESP_SUM), team, "round {}", i);
    CHECK_EQ(one, esp_team_size(team), "round {}", i);
    CHECK_OK(esp_team_free(team), context.world, "round {}", i);
  }
}

// The number of a new team, which the text of a mismatch tells.
int number_of_next(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  int value = 0;
  esp_status status = context.rank == 0 ? esp_barrier(team)
                                        : esp_bcast(team, &value, 1, ESP_INT32, context.size - 1);
  if (status == ESP_OK) status = esp_barrier(team);
  CHECK_STATUS(status, ESP_ERR_MISMATCH, team, "");
  const std::string text = esp_team_error(team);
  const std::size_t at = text.find(" on team ");
  CHECK(at != text.npos, "{}", text);
  return at != text.npos ? std::atoi(text.c_str() + at + 9) : 0;
}

// A call costs a rank one number, however many ranks the job has and however many teams are made.
void numbers(const Context& context) {
  if (context.size < 2) return;
  const int before = number_of_next(context);
  constexpr int kSplits = 10;
  for (int i = 0; i < kSplits; ++i) {
    esp_team* alone = nullptr;
    CHECK_OK(esp_team_split(context.world, context.rank, 0, &alone), context.world, "");
    CHECK_OK(esp_team_free(alone), context.world, "");
  }
  CHECK_EQ(number_of_next(context), before + kSplits + 1, "numbers are spent");
  // A rank that is in none of the teams spends none.
  esp_team* pair = nullptr;
  for (int i = 0; i < kSplits; ++i) {
    const int color = context.rank < 2 ? 0 : ESP_NO_TEAM;
    CHECK_OK(esp_team_split(context.world, color, 0, &pair), context.world, "");
    if (pair != nullptr) CHECK_OK(esp_team_free(pair), context.world, "");
  }
  CHECK_EQ(number_of_next(context), before + 2 * kSplits + 2, "numbers are spent");
}

}  // namespace

void teams(const Context& context) {
  identity(context);
  dup(context);
  split(context);
  include(context);
  nodes(context);
  many_teams_at_once(context);
  remade(context);
  numbers(context);
}

}  // namespace test
