// 64 operations of every kind under way at once on eight teams, completed in an order of each
// rank's own, against what one processor that has all inputs makes of them.
#include <algorithm>
#include <memory>
#include <random>

#include "tests/api/cases.hpp"

namespace test {
namespace crowd_teams_cases {
namespace {

// One operation under way. Blocks have `count` elements, and values that no other operation has.
struct Work {
  esp_team* team;
  esp_graph* ring;
  int number, root, rank, size;
  std::size_t count;
  std::vector<int> in, out;
  std::vector<std::size_t> counts, turned;  // turned: displacements, the last block first
  esp_request* request = nullptr;

  std::size_t at(int block) const { return static_cast<std::size_t>(block) * count; }
  int value(int of_rank, int block, std::size_t i) const {
    return number * 100'000 + of_rank * 1000 + block * 100 + static_cast<int>(i % 91);
  }
  // Of the values of these ranks in their block.
  int sum(int ranks, int block, std::size_t i) const {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += value(r, block, i);
    return all;
  }
};

Work make_work(esp_team* team, esp_graph* ring, int number, std::size_t count) {
  Work w{team, ring, number, 0, esp_team_rank(team), esp_team_size(team), count, {}, {}, {}, {}};
  w.root = number % w.size;
  for (int block = 0; block < w.size; ++block) {
    for (std::size_t i = 0; i < count; ++i) w.in.push_back(w.value(w.rank, block, i));
    w.counts.push_back(count);
    w.turned.push_back(w.at(w.size - 1 - block));
  }
  w.out.assign(std::max(w.in.size(), 2 * count), -1);
  return w;
}

// What is to stand in the output; -1 where nothing comes.
using Expected = std::vector<int>;

template <typename Value>
void put(Expected& expected, std::size_t at, std::size_t count, Value&& value) {
  for (std::size_t i = 0; i < count; ++i) expected[at + i] = value(i);
}

struct Kind {
  const char* name;
  esp_status (*start)(Work& w);
  void (*reference)(const Work& w, Expected& expected);
};

constexpr esp_type kType = ESP_INT32;

// What several operations give.
void one_for_all(const Work& w, Expected& expected, int rank, int block) {
  put(expected, 0, w.count, [&](std::size_t i) { return w.value(rank, block, i); });
}
void block_of_each(const Work& w, Expected& expected, int block) {
  for (int r = 0; r < w.size; ++r) {
    put(expected, w.at(r), w.count, [&](std::size_t i) { return w.value(r, block, i); });
  }
}

constexpr Kind kKinds[] = {
    {"bcast",
     [](Work& w) {
       if (w.rank == w.root) std::copy_n(w.in.begin(), w.count, w.out.begin());
       return esp_bcast_start(w.team, w.out.data(), w.count, kType, w.root, nullptr, nullptr,
                              &w.request);
     },
     [](const Work& w, Expected& expected) { one_for_all(w, expected, w.root, 0); }},
    {"gather",
     [](Work& w) {
       return esp_gather_start(w.team, w.in.data(), w.out.data(), w.count, kType, w.root, nullptr,
                               nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       if (w.rank == w.root) block_of_each(w, expected, 0);
     }},
    {"allreduce",
     [](Work& w) {
       return esp_allreduce_start(w.team, w.in.data(), w.out.data(), w.count, kType, ESP_SUM,
                                  nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       put(expected, 0, w.count, [&](std::size_t i) { return w.sum(w.size, 0, i); });
     }},
    {"alltoallv",
     [](Work& w) {
       return esp_alltoallv_start(w.team, w.in.data(), w.counts.data(), nullptr, w.out.data(),
                                  w.counts.data(), w.turned.data(), kType, nullptr, nullptr,
                                  &w.request);
     },
     [](const Work& w, Expected& expected) {
       for (int r = 0; r < w.size; ++r) {
         put(expected, w.at(w.size - 1 - r), w.count,
             [&](std::size_t i) { return w.value(r, w.rank, i); });
       }
     }},
    {"reduce",
     [](Work& w) {
       return esp_reduce_start(w.team, w.in.data(), w.out.data(), w.count, kType, ESP_MIN, w.root,
                               nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       if (w.rank == w.root) one_for_all(w, expected, 0, 0);
     }},
    {"neighbor_allgather",
     [](Work& w) {
       return esp_neighbor_allgather_start(w.ring, w.in.data(), w.out.data(), w.count, kType,
                                           nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       const int before = (w.rank + w.size - 1) % w.size, next = (w.rank + 1) % w.size;
       put(expected, 0, w.count, [&](std::size_t i) { return w.value(before, 0, i); });
       put(expected, w.count, w.count, [&](std::size_t i) { return w.value(next, 0, i); });
     }},
    {"scan",
     [](Work& w) {
       return esp_scan_start(w.team, w.in.data(), w.out.data(), w.count, kType, ESP_SUM, nullptr,
                             nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       put(expected, 0, w.count, [&](std::size_t i) { return w.sum(w.rank + 1, 0, i); });
     }},
    {"scatterv",
     [](Work& w) {
       return esp_scatterv_start(w.team, w.in.data(), w.counts.data(), w.turned.data(),
                                 w.out.data(), w.count, kType, w.root, nullptr, nullptr,
                                 &w.request);
     },
     [](const Work& w, Expected& expected) {
       one_for_all(w, expected, w.root, w.size - 1 - w.rank);
     }},
    {"barrier", [](Work& w) { return esp_barrier_start(w.team, nullptr, nullptr, &w.request); },
     [](const Work&, Expected&) {}},
    {"allgatherv",
     [](Work& w) {
       return esp_allgatherv_start(w.team, w.in.data(), w.out.data(), w.counts.data(),
                                   w.turned.data(), kType, nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       for (int r = 0; r < w.size; ++r) {
         put(expected, w.at(w.size - 1 - r), w.count,
             [&](std::size_t i) { return w.value(r, 0, i); });
       }
     }},
    {"reduce_scatter",
     [](Work& w) {
       return esp_reduce_scatter_start(w.team, w.in.data(), w.out.data(), w.counts.data(), kType,
                                       ESP_MAX, nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) { one_for_all(w, expected, w.size - 1, w.rank); }},
    {"gatherv",
     [](Work& w) {
       return esp_gatherv_start(w.team, w.in.data(), w.count, w.out.data(), w.counts.data(),
                                nullptr, kType, w.root, nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       if (w.rank == w.root) block_of_each(w, expected, 0);
     }},
    {"alltoall",
     [](Work& w) {
       return esp_alltoall_start(w.team, w.in.data(), w.out.data(), w.count, kType, nullptr,
                                 nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) { block_of_each(w, expected, w.rank); }},
    {"exscan",
     [](Work& w) {
       return esp_exscan_start(w.team, w.in.data(), w.out.data(), w.count, kType, ESP_SUM, nullptr,
                               nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       if (w.rank == 0) return;
       put(expected, 0, w.count, [&](std::size_t i) { return w.sum(w.rank, 0, i); });
     }},
    {"scatter",
     [](Work& w) {
       return esp_scatter_start(w.team, w.in.data(), w.out.data(), w.count, kType, w.root, nullptr,
                                nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) { one_for_all(w, expected, w.root, w.rank); }},
    {"allgather",
     [](Work& w) {
       return esp_allgather_start(w.team, w.in.data(), w.out.data(), w.count, kType, nullptr,
                                  nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) { block_of_each(w, expected, 0); }},
    {"reduce_scatter_block",
     [](Work& w) {
       return esp_reduce_scatter_block_start(w.team, w.in.data(), w.out.data(), w.count, kType,
                                             ESP_SUM, nullptr, nullptr, &w.request);
     },
     [](const Work& w, Expected& expected) {
       put(expected, 0, w.count, [&](std::size_t i) { return w.sum(w.size, w.rank, i); });
     }},
};

constexpr int kTeams = 8, kEach = 8;

struct Team {
  esp_team* team = nullptr;
  esp_graph* ring = nullptr;
};

// The world, its copies, halves of it, in both orders.
bool make_teams(const Context& context, std::vector<Team>& teams) {
  for (int t = 0; t < kTeams; ++t) {
    Team& made = teams.emplace_back();
    const int color = t % 3 == 2 ? context.rank % 2 : 0, key = t % 2 == 0 ? 0 : -context.rank;
    CHECK_OK(esp_team_split(context.world, color, key, &made.team), context.world, "");
    if (made.team == nullptr) return false;
    const int extents[] = {esp_team_size(made.team)}, periodic[] = {1};
    CHECK_OK(esp_grid_create(made.team, 1, extents, periodic, &made.ring), made.team, "");
  }
  return true;
}

// As many kinds as there are: that has no divisor in common with the number of teams, so each team
// has each kind in turn.
const Kind& kind_of(int number) {
  return kKinds[static_cast<std::size_t>(number) % std::size(kKinds)];
}

void finish(Work& w) {
  const Kind& kind = kind_of(w.number);
  CHECK_OK(esp_request_wait(&w.request), w.team, "{} number {}", kind.name, w.number);
  Expected expected(w.out.size(), -1);
  kind.reference(w, expected);
  CHECK(w.out == expected, "{} number {} of {}", kind.name, w.number, w.count);
}

// Numbers from `first` on: other kinds on each team, other roots.
void all_at_once(const std::vector<Team>& teams, int first, std::size_t count, std::mt19937& own) {
  std::vector<Work> works;
  for (int i = 0; i < kTeams * kEach; ++i) {
    const Team& on = teams[static_cast<std::size_t>(i % kTeams)];
    const std::size_t length = i % 9 == 0 ? 0 : count + static_cast<std::size_t>(i);
    works.push_back(make_work(on.team, on.ring, first + i, length));
  }
  for (Work& w : works) {
    const Kind& kind = kind_of(w.number);
    CHECK_OK(kind.start(w), w.team, "{} number {}", kind.name, w.number);
  }
  std::vector<std::size_t> order(works.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), own);
  for (const std::size_t i : order) finish(works[i]);
}

}  // namespace
}  // namespace crowd_teams_cases

void crowd_teams(const Context& context) {
  using namespace crowd_teams_cases;
  std::vector<Team> teams;
  if (!make_teams(context, teams)) return;
  std::mt19937 own(static_cast<unsigned>(context.rank) + 7);
  int first = 0;
  for (const std::size_t count : {1u, 200u, 9000u}) {
    all_at_once(teams, first, count, own);
    first += kTeams * kEach;
  }
  for (Team& made : teams) {
    CHECK_OK(esp_graph_free(&made.ring), context.world, "");
    CHECK_OK(esp_team_free(made.team), context.world, "");
  }
}

}  // namespace test
