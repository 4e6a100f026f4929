// Everything at once, in an order drawn from a seed: flows of all sizes between all ranks, plain
// and published, posted early and late, copied and in place, with wires that are looked at rarely.
// Every byte is checked. A failure prints its seed; the same seed gives the same run.
#include "tests/harness/traffic.hpp"
#include "tests/harness/world_kind.hpp"

namespace espalier::test {
namespace {

// One flow, driven by both of its ends at random moments.
class Flow {
 public:
  Flow(Prng& prng, std::uint64_t sequence, int ranks) : prng_(prng) {
    const auto from = static_cast<Rank>(prng.below(static_cast<std::uint64_t>(ranks)));
    const auto shift = 1 + prng.below(static_cast<std::uint64_t>(ranks) - 1);
    const auto to = static_cast<Rank>((static_cast<std::uint64_t>(from) + shift) %
                                      static_cast<std::uint64_t>(ranks));
    constexpr std::uint64_t kBytes[] = {0, 1, 8, 88, 89, 500, 4096, 10000, 65536, 200000};
    const std::uint64_t bytes = kBytes[prng.below(std::size(kBytes))];
    const auto total = static_cast<std::uint32_t>(1 + prng.below(bytes > 5000 ? 24 : 80));
    messages_ = make_flow(
        from, to, FlowId(1, static_cast<std::uint32_t>(prng.below(300)), sequence), total, bytes);
    window_ = static_cast<std::uint32_t>(1 + prng.below(64));
    for (auto& m : messages_) {
      m->in_place = bytes > 0 && prng.chance(0.3);
      m->signature = static_cast<std::uint32_t>(sequence);
    }
  }

  void act(World& world) {
    Message& first = *messages_.front();
    if (prng_.chance(0.5)) {
      while (sent_ < messages_.size() && prng_.chance(0.8)) {
        if (messages_[sent_]->send(world.wire(first.from), prng_.chance(0.1)) == Posted::kRetry)
          break;
        ++sent_;
      }
    }
    while (posted_ < messages_.size() && posted_ < taken_ + window_ && prng_.chance(0.7)) {
      (void)messages_[posted_++]->receive(world.wire(first.to), window_);
    }
    while (taken_ < posted_ && messages_[taken_]->received.complete()) {
      Message& m = *messages_[taken_];
      if (m.in_place && prng_.chance(0.5)) break;  // The view is held for some time.
      m.check();
      world.wire(first.to).release(m.received);
      ++taken_;
    }
  }
  bool over() const {
    if (taken_ < messages_.size()) return false;
    for (const auto& m : messages_) {
      if (!m->sent.complete()) return false;
    }
    return true;
  }
  void check_fired_once() const {
    for (const auto& m : messages_) {
      EXPECT_EQ(m->sent.fired, m->sent.posted == Posted::kPending ? 1 : 0);
      EXPECT_EQ(m->received.fired, m->received.posted == Posted::kPending ? 1 : 0);
    }
  }

 private:
  Prng& prng_;
  Messages messages_;
  std::uint32_t window_ = 1;
  std::size_t sent_ = 0, posted_ = 0, taken_ = 0;
};

void run_seed(World& world, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Prng prng(seed);
  std::vector<std::unique_ptr<Flow>> open, over;
  std::uint64_t started = 0;
  const double lazy = prng.unit();
  for (int round = 0; started < 60 || !open.empty(); ++round) {
    ASSERT_LT(round, 2'000'000) << open.size() << " flows do not end";
    if (started < 60 && open.size() < 12) {
      open.push_back(std::make_unique<Flow>(prng, started++, world.size()));
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i]->act(world);
      if (::testing::Test::HasFatalFailure()) return;
      if (!open[i]->over()) continue;
      over.push_back(std::move(open[i]));
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    int events = 0;
    bool looked = false;
    for (Rank r = 0; r < world.size(); ++r) {
      if (!prng.chance(lazy)) {
        looked = true;
        events += world.wire(r).progress();
      }
      if (prng.chance(0.01)) world.wire(r).idle();
    }
    if (looked && events == 0) world.rest();
  }
  settle(world);
  for (const auto& flow : over) flow->check_fired_once();
}

class RandomTraffic : public ::testing::TestWithParam<WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Of, RandomTraffic, ::testing::ValuesIn(random_worlds()), name_of_world);

TEST_P(RandomTraffic, EveryByteArrivesOnce) {
  if (const std::string why_not = why_not_here(GetParam()); !why_not.empty()) {
    GTEST_SKIP() << why_not;
  }
  for (std::uint64_t seed = 1; seed <= GetParam().random_seeds; ++seed) {
    const auto world = GetParam().make(static_cast<int>(2 + seed % 4));
    run_seed(*world, seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace espalier::test
