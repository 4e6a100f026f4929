// Many of the new collectives under way at once, on several teams, completed in another order than
// they were started in, and among the others.
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "tests/api/cases.hpp"
#include "tests/support/neighbors.hpp"

namespace test {
namespace crowd_cases {
namespace {

// One operation under way, with a number by which its values differ from others'.
class Work {
 public:
  Work(esp_team* team, esp_graph* ring, int number, std::size_t count)
      : team_(team),
        ring_(ring),
        number_(number),
        rank_(esp_team_rank(team)),
        size_(esp_team_size(team)),
        count_(count),
        root_(number % size_),
        kind_(number % 7) {
    const auto all = count * static_cast<std::size_t>(size_);
    in_.assign(all, 0);
    for (int r = 0; r < size_; ++r) {
      for (std::size_t i = 0; i < count; ++i) in_[at(r, i)] = value(rank_, r, i);
    }
    out_.assign(std::max(all, 2 * count), -1);
    counts_.assign(static_cast<std::size_t>(size_), count);
  }

  void start() {
    const auto ok = [&](esp_status status) { CHECK_OK(status, team_, "kind {}", kind_); };
    constexpr esp_type type = ESP_INT32;
    int *in = in_.data(), *out = out_.data();
    switch (kind_) {
      case 0:
        ok(esp_gather_start(team_, in, out, count_, type, root_, nullptr, nullptr, &request_));
        break;
      case 1:
        ok(esp_scatter_start(team_, in, out, count_, type, root_, nullptr, nullptr, &request_));
        break;
      case 2:
        ok(esp_reduce_scatter_block_start(team_, in, out, count_, type, ESP_SUM, nullptr, nullptr,
                                          &request_));
        break;
      case 3:
        ok(esp_neighbor_allgather_start(ring_, in, out, count_, type, nullptr, nullptr, &request_));
        break;
      case 4:
        ok(esp_alltoall_start(team_, in, out, count_, type, nullptr, nullptr, &request_));
        break;
      case 5:
        ok(esp_gatherv_start(team_, in, count_, out, counts_.data(), nullptr, type, root_, nullptr,
                             nullptr, &request_));
        break;
      default:
        ok(esp_reduce_scatter_start(team_, in, out, counts_.data(), type, ESP_MAX, nullptr, nullptr,
                                    &request_));
    }
  }
  void finish() {
    CHECK_OK(esp_request_wait(&request_), team_, "kind {}", kind_);
    check();
  }

 private:
  std::size_t at(int r, std::size_t i) const { return static_cast<std::size_t>(r) * count_ + i; }
  int value(int rank, int block, std::size_t i) const {
    return number_ * 100'000 + rank * 1000 + block * 100 + static_cast<int>(i % 91);
  }
  void check() const {
    std::vector<int> expected(out_.size(), -1);
    for (std::size_t i = 0; i < count_; ++i) {
      for (int r = 0; r < size_; ++r) {
        if ((kind_ == 0 || kind_ == 5) && rank_ == root_) expected[at(r, i)] = value(r, 0, i);
        if (kind_ == 4) expected[at(r, i)] = value(r, rank_, i);
      }
      const int before = (rank_ + size_ - 1) % size_, next = (rank_ + 1) % size_;
      if (kind_ == 1) expected[i] = value(root_, rank_, i);
      if (kind_ == 2) {
        expected[i] = 0;
        for (int r = 0; r < size_; ++r) expected[i] += value(r, rank_, i);
      }
      if (kind_ == 3) {
        expected[i] = value(before, 0, i);
        expected[count_ + i] = value(next, 0, i);
      }
      if (kind_ == 6) expected[i] = value(size_ - 1, rank_, i);
    }
    CHECK(out_ == expected, "kind {} number {} of {}", kind_, number_, count_);
  }

  esp_team* team_;
  esp_graph* ring_;
  int number_, rank_, size_;
  std::size_t count_;
  int root_, kind_;
  std::vector<int> in_, out_;
  std::vector<std::size_t> counts_;
  esp_request* request_ = nullptr;
};

// Eight teams: the world, its copies, halves of it, in both orders.
void on_eight_teams(const Context& context) {
  constexpr int kTeams = 8, kEach = 8;
  std::vector<esp_team*> teams(kTeams);
  std::vector<esp_graph*> rings(kTeams);
  for (int t = 0; t < kTeams; ++t) {
    const int color = t % 3 == 2 ? context.rank % 2 : 0, key = t % 2 == 0 ? 0 : -context.rank;
    esp_team*& team = teams[static_cast<std::size_t>(t)];
    CHECK_OK(esp_team_split(context.world, color, key, &team), context.world, "");
    if (team == nullptr) return;
    const int size = esp_team_size(team), extents[] = {size}, periodic[] = {1};
    CHECK_OK(esp_grid_create(team, 1, extents, periodic, &rings[static_cast<std::size_t>(t)]), team,
             "");
  }
  std::mt19937 own(static_cast<unsigned>(context.rank) + 7);
  for (const std::size_t count : {1u, 200u, 9000u}) {
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < kTeams * kEach; ++i) {
      const auto team = static_cast<std::size_t>(i % kTeams);
      const std::size_t length = i % 9 == 0 ? 0 : count + static_cast<std::size_t>(i);
      works.push_back(std::make_unique<Work>(teams[team], rings[team], i, length));
    }
    for (auto& work : works) work->start();
    // Each rank in an order of its own.
    std::shuffle(works.begin(), works.end(), own);
    for (auto& work : works) work->finish();
  }
  for (std::size_t t = 0; t < kTeams; ++t) {
    CHECK_OK(esp_graph_free(&rings[t]), context.world, "");
    CHECK_OK(esp_team_free(teams[t]), context.world, "");
  }
}

// Small ones between blocking calls that go the short way.
void between_small_calls(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> all(members), mine(members);
  for (int turn = 0; turn < 80; ++turn) {
    const int root = turn % context.size;
    int own = context.rank + turn, got = -1, sum = 0, part = -1;
    std::fill(all.begin(), all.end(), -1);
    CHECK_OK(esp_gather(context.world, &own, all.data(), 1, ESP_INT32, root), context.world, "");
    CHECK_OK(esp_allreduce(context.world, &own, &sum, 1, ESP_INT32, ESP_SUM), context.world, "");
    if (context.rank == root) CHECK_EQ(std::accumulate(all.begin(), all.end(), 0), sum, "{}", turn);
    CHECK_OK(esp_scatter(context.world, all.data(), &got, 1, ESP_INT32, root), context.world, "");
    CHECK_EQ(got, own, "what was gathered comes back in turn {}", turn);
    if (turn % 5 == 0) CHECK_OK(esp_barrier(context.world), context.world, "");
    std::fill(mine.begin(), mine.end(), own);
    CHECK_OK(esp_reduce_scatter_block(context.world, mine.data(), &part, 1, ESP_INT32, ESP_SUM),
             context.world, "");
    CHECK_EQ(part, sum, "turn {}", turn);
  }
}

// Each callback starts the next operation.
struct Chain {
  const Context* context = nullptr;
  int left = 100;
  int value = 0;
  std::vector<int> all;
  std::atomic<esp_status> ended{ESP_IN_PROGRESS};
};

void next_link(void* raw, esp_status status) {
  auto& chain = *static_cast<Chain*>(raw);
  esp_team* world = chain.context->world;
  const esp_notify notify{next_link, &chain, nullptr};
  if (status == ESP_OK && chain.left > 0) {
    const bool gathers = --chain.left % 2 != 0;
    if (gathers) {
      status = esp_gather_start(world, &chain.value, chain.all.data(), 1, ESP_INT32, 0, nullptr,
                                &notify, nullptr);
    } else {
      for (int& x : chain.all) ++x;
      status = esp_scatter_start(world, chain.all.data(), &chain.value, 1, ESP_INT32, 0, nullptr,
                                 &notify, nullptr);
    }
    if (status == ESP_OK) return;
  }
  chain.ended = status;
}

void in_callbacks(const Context& context) {
  Chain chain;
  chain.context = &context;
  chain.value = 100 * context.rank;
  chain.all.assign(static_cast<std::size_t>(context.size), -1);
  next_link(&chain, ESP_OK);
  while (chain.ended == ESP_IN_PROGRESS) {
    if (esp_progress(context.job) == 0) sched_yield();
  }
  CHECK_OK(chain.ended, context.world, "chain");
  CHECK_EQ(chain.value, 100 * context.rank + 50, "each turn adds one");
}

// Memory that others read in place.
void from_the_heap(const Context& context) {
  constexpr std::size_t kCount = 20'000;
  const auto members = static_cast<std::size_t>(context.size);
  const std::size_t bytes = kCount * sizeof(int);
  auto* mine = static_cast<int*>(esp_alloc(context.job, bytes));
  auto* all = static_cast<int*>(esp_alloc(context.job, members * bytes));
  CHECK(mine != nullptr && all != nullptr, "{}", esp_job_error(context.job));
  if (mine == nullptr || all == nullptr) return;
  std::iota(mine, mine + kCount, context.rank * 100'000);
  const int root = context.size - 1;
  CHECK_OK(esp_gather(context.world, mine, all, kCount, ESP_INT32, root), context.world, "");
  std::vector<int> back(kCount, -1);
  CHECK_OK(esp_scatter(context.world, all, back.data(), kCount, ESP_INT32, root), context.world,
           "");
  CHECK(std::equal(back.begin(), back.end(), mine), "what was gathered comes back");
  for (std::size_t r = 0; r < members; ++r) std::copy_n(mine, kCount, all + r * kCount);
  CHECK_OK(esp_reduce_scatter_block(context.world, all, back.data(), kCount, ESP_INT32, ESP_MAX),
           context.world, "");
  CHECK_EQ(back.back(), root * 100'000 + static_cast<int>(kCount) - 1, "the largest");
  esp_free(context.job, mine);
  esp_free(context.job, all);
}

}  // namespace
}  // namespace crowd_cases

void crowd(const Context& context) {
  crowd_cases::on_eight_teams(context);
  crowd_cases::between_small_calls(context);
  crowd_cases::in_callbacks(context);
  crowd_cases::from_the_heap(context);
}

}  // namespace test
