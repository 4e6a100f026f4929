// Gathers and scans among other operations: many at once, between small blocking calls, on parts of
// the job, in callbacks, and from the library's own memory.
#include <fmt/ranges.h>

#include <numeric>

#include "tests/api/cases.hpp"
#include "tests/support/scans.hpp"

namespace test {
namespace gathers_cases {
namespace {

// One of each kind under way together, with a number by which its values differ from others'.
struct Round {
  Round(const Context& context, int number, std::size_t length)
      : size(context.size), rank(context.rank), base(1000 * number), count(length) {
    const auto members = static_cast<std::size_t>(size);
    mine.assign(count, base + rank);
    cast.assign(count, rank == 0 ? base : -1);
    for (int r = 0; r < size; ++r) {
      const auto part = static_cast<std::size_t>(r + number) % 3 * count;
      counts.push_back(part);
      counts_back.push_back(static_cast<std::size_t>(rank + number) % 3 * count);
    }
    // To member r go as many elements as its count, so each gets as many from everybody.
    mine_v.assign(counts_back[0], base + rank);
    to_all_v.assign(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), base + rank);
    gathered_v.assign(to_all_v.size(), -1);
    exchanged_v.assign(counts_back[0] * members, -1);
    to_all.assign(count * members, base + rank);
    gathered.assign(to_all.size(), -1);
    exchanged = gathered;
    sums = scanned = exscanned = std::vector<int>(count, -1);
  }

  void start(esp_team* team) {
    esp_request** next = requests;
    const auto ok = [&](esp_status status, const char* what) {
      CHECK_OK(status, team, "{}", what);
    };
    ok(esp_allgather_start(team, mine.data(), gathered.data(), count, ESP_INT32, nullptr, nullptr,
                           next++),
       "allgather");
    ok(esp_alltoallv_start(team, to_all_v.data(), counts.data(), nullptr, exchanged_v.data(),
                           counts_back.data(), nullptr, ESP_INT32, nullptr, nullptr, next++),
       "alltoallv");
    ok(esp_exscan_start(team, mine.data(), exscanned.data(), count, ESP_INT32, ESP_SUM, nullptr,
                        nullptr, next++),
       "exscan");
    ok(esp_bcast_start(team, cast.data(), count, ESP_INT32, 0, nullptr, nullptr, next++), "bcast");
    ok(esp_allgatherv_start(team, mine_v.data(), gathered_v.data(), counts.data(), nullptr,
                            ESP_INT32, nullptr, nullptr, next++),
       "allgatherv");
    ok(esp_alltoall_start(team, to_all.data(), exchanged.data(), count, ESP_INT32, nullptr, nullptr,
                          next++),
       "alltoall");
    ok(esp_scan_start(team, mine.data(), scanned.data(), count, ESP_INT32, ESP_MAX, nullptr,
                      nullptr, next++),
       "scan");
    ok(esp_allreduce_start(team, mine.data(), sums.data(), count, ESP_INT32, ESP_SUM, nullptr,
                           nullptr, next++),
       "allreduce");
  }

  void check() const {
    std::size_t at = 0, at_v = 0;
    const auto sum_to = [&](int ranks) { return ranks * base + ranks * (ranks - 1) / 2; };
    for (int r = 0; r < size; ++r) {
      const std::size_t part = counts[static_cast<std::size_t>(r)];
      for (std::size_t i = 0; i < part; ++i, ++at_v) {
        CHECK_EQ(gathered_v[at_v], base + r, "allgatherv");
      }
      for (std::size_t i = 0; i < count; ++i, ++at) {
        CHECK_EQ(gathered[at], base + r, "allgather");
        CHECK_EQ(exchanged[at], base + r, "alltoall");
      }
      for (std::size_t i = 0; i < counts_back[0]; ++i) {
        const auto block = static_cast<std::size_t>(r) * counts_back[0];
        CHECK_EQ(exchanged_v[block + i], base + r, "alltoallv");
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      CHECK_EQ(scanned[i], base + rank, "scan");
      CHECK_EQ(exscanned[i], rank == 0 ? -1 : sum_to(rank), "exscan");
      CHECK_EQ(sums[i], sum_to(size), "allreduce");
      CHECK_EQ(cast[i], base, "bcast");
    }
  }

  int size, rank, base;
  std::size_t count;
  std::vector<std::size_t> counts, counts_back;
  std::vector<int> mine, mine_v, to_all, to_all_v, cast;
  std::vector<int> gathered, gathered_v, exchanged, exchanged_v, sums, scanned, exscanned;
  esp_request* requests[8] = {};
};

void many_at_once(const Context& context) {
  std::vector<Round> rounds;
  for (int i = 0; i < 12; ++i) {
    rounds.emplace_back(context, i,
                        std::size_t{i % 4 == 0 ? 3000u : 1u + static_cast<unsigned>(i)});
  }
  for (Round& round : rounds) round.start(context.world);
  // The last first: the end of one hangs on no wait for another.
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    CHECK_OK(esp_request_wait_all(round->requests, 8), context.world, "");
    round->check();
  }
}

// Operations with and without a short path take turns.
void between_small_calls(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> all(members), turned(members);
  for (int turn = 0; turn < 60; ++turn) {
    const int mine = context.rank + turn;
    int sum = mine, before = -1, root = turn;
    CHECK_OK(esp_allgather(context.world, &mine, all.data(), 1, ESP_INT32), context.world, "");
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &sum, 1, ESP_INT32, ESP_SUM), context.world,
             "");
    CHECK_OK(esp_alltoall(context.world, all.data(), turned.data(), 1, ESP_INT32), context.world,
             "");
    CHECK_OK(esp_bcast(context.world, &root, 1, ESP_INT32, turn % context.size), context.world, "");
    CHECK_OK(esp_exscan(context.world, &mine, &before, 1, ESP_INT32, ESP_MAX), context.world, "");
    if (turn % 5 == 0) CHECK_OK(esp_barrier(context.world), context.world, "");
    CHECK_EQ(std::accumulate(all.begin(), all.end(), 0), sum, "turn {}", turn);
    CHECK_EQ(all.back(), context.size - 1 + turn, "turn {}", turn);
    CHECK_EQ(turned, std::vector<int>(members, mine), "turn {}", turn);
    CHECK_EQ(before, context.rank == 0 ? -1 : mine - 1, "turn {}", turn);
  }
}

// The same number of elements in all, in other places from call to call.
void other_places(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  for (std::size_t turn = 0; turn < 12; ++turn) {
    std::vector<std::size_t> counts(members, 10);
    counts[turn % members] -= turn % 11;
    counts[(turn + 1) % members] += turn % 11;
    const Layout layout = turn % 2 == 0 ? packed(counts) : scattered(counts, turn);
    check_allgather(context.world, {.layout = layout, .type = ESP_INT32}, {});
    const std::vector<std::size_t> sent(members, 5 + static_cast<std::size_t>(context.rank) * turn);
    std::vector<std::size_t> received;
    for (std::size_t r = 0; r < members; ++r) received.push_back(5 + r * turn);
    check_alltoall(context.world,
                   {.sent = scattered(sent, turn), .received = scattered(received, 12 - turn)}, {});
  }
}

// Everything again, on halves of the job whose members stand in reverse.
void on_teams(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_split(context.world, context.rank % 2, -context.rank, &team), context.world,
           "");
  if (team == nullptr) return;
  const auto members = static_cast<std::size_t>(esp_team_size(team));
  for (const std::size_t count : {1u, 50u, 20'000u}) {
    const Layout layout = packed(std::vector<std::size_t>(members, count));
    for (const bool irregular : {false, true}) {
      check_allgather(team, {.layout = layout, .type = ESP_INT32, .irregular = irregular}, {});
      check_alltoall(
          team, {.sent = layout, .received = layout, .type = ESP_INT32, .irregular = irregular},
          {});
    }
    for (const bool exclusive : {false, true}) {
      check_prefix(team, {.type = ESP_DOUBLE, .count = count}, exclusive, {});
    }
  }
  CHECK_OK(esp_team_free(team), context.world, "");
}

// Each callback starts the next operation.
struct GatherChain {
  const Context* context = nullptr;
  int left = 0;
  int value = 0, sum = 0;
  std::vector<int> all;
  std::atomic<esp_status> ended{ESP_IN_PROGRESS};
};

void next_gather(void* raw, esp_status status) {
  auto* chain = static_cast<GatherChain*>(raw);
  esp_team* world = chain->context->world;
  const esp_notify notify{next_gather, chain, nullptr};
  if (status == ESP_OK && chain->left > 0) {
    const bool gathers = --chain->left % 2 != 0;
    if (gathers) {
      status = esp_allgather_start(world, &chain->value, chain->all.data(), 1, ESP_INT32, nullptr,
                                   &notify, nullptr);
    } else {
      chain->value = chain->all[0] + 1;
      status = esp_scan_start(world, &chain->value, &chain->sum, 1, ESP_INT32, ESP_SUM, nullptr,
                              &notify, nullptr);
    }
    if (status == ESP_OK) return;
  }
  chain->ended = status;
}

void in_callbacks(const Context& context) {
  GatherChain chain;
  chain.context = &context;
  chain.left = 100;
  chain.all.assign(static_cast<std::size_t>(context.size), -1);
  next_gather(&chain, ESP_OK);
  while (chain.ended == ESP_IN_PROGRESS) {
    if (esp_progress(context.job) == 0) sched_yield();
  }
  CHECK_OK(chain.ended, context.world, "chain");
  CHECK_EQ(chain.value, 50, "each turn adds one");
  CHECK_EQ(chain.sum, 50 * (context.rank + 1), "the last scan");
}

// Memory that others read in place.
void from_the_heap(const Context& context) {
  constexpr std::size_t kCount = 20'000;
  const auto members = static_cast<std::size_t>(context.size);
  auto* mine = static_cast<int*>(esp_alloc(context.job, kCount * sizeof(int)));
  auto* all = static_cast<int*>(esp_alloc(context.job, members * kCount * sizeof(int)));
  CHECK(mine != nullptr && all != nullptr, "{}", esp_job_error(context.job));
  if (mine == nullptr || all == nullptr) return;
  std::vector<int> turned(members * kCount);
  std::iota(mine, mine + kCount, context.rank * 100'000);
  CHECK_OK(esp_allgather(context.world, mine, all, kCount, ESP_INT32), context.world, "");
  CHECK_OK(esp_alltoall(context.world, all, turned.data(), kCount, ESP_INT32), context.world, "");
  for (std::size_t r = 0; r < members; ++r) {
    const int last = static_cast<int>(r) * 100'000 + static_cast<int>(kCount) - 1;
    CHECK_EQ(all[(r + 1) * kCount - 1], last, "of rank {}", r);
    // Everybody has gathered the same, and sends its block of this rank's number.
    CHECK_EQ(turned[(r + 1) * kCount - 1], mine[kCount - 1], "from rank {}", r);
  }
  esp_free(context.job, mine);
  esp_free(context.job, all);
}

}  // namespace
}  // namespace gathers_cases

void gathers(const Context& context) {
  gathers_cases::many_at_once(context);
  gathers_cases::between_small_calls(context);
  gathers_cases::other_places(context);
  gathers_cases::on_teams(context);
  gathers_cases::in_callbacks(context);
  gathers_cases::from_the_heap(context);
}

}  // namespace test
