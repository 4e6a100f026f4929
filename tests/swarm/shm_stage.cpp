// The shared-memory stage: the library's ShmWires, all ranks in one thread, in an order drawn at
// random. Nothing here is simulated but time, which counts turns.
#include <fmt/format.h>

#include <queue>
#include <vector>

#include "core/liveness.hpp"
#include "net/sim/faults.hpp"
#include "tests/harness/shm_world.hpp"
#include "tests/swarm/stage.hpp"

namespace espalier::swarm {
namespace {

constexpr std::uint64_t kTurnNs = 100;
constexpr std::uint64_t kHorizonNs = 10'000'000;  // of crashes

// A crash is known at once.
class CrashedRanks final : public Liveness {
 public:
  explicit CrashedRanks(const Stage& stage) noexcept : stage_(stage) {}
  bool is_dead(Rank rank) noexcept override { return stage_.crashed(rank); }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }

 private:
  const Stage& stage_;
};

test::ShmWorldOptions world_options(const Scenario& scenario, Liveness& liveness) {
  test::ShmWorldOptions options;
  options.wire.liveness = &liveness;
  options.arena_bytes = scenario.arena_bytes;
  options.heap_bytes = 4096;
  options.wire.first_ring_bytes = scenario.ring_bytes;
  if (scenario.pulls) {
    options.wire.pull.threshold = 0;
    options.wire.quantum_bytes = 200;
    options.pulls_allowed = scenario.pulls_allowed;
  }
  return options;
}

class ShmStage final : public Stage {
 public:
  explicit ShmStage(const Scenario& scenario)
      : crashed_(*this),
        world_(std::make_unique<test::ShmWorld>(static_cast<int>(scenario.ranks),
                                                world_options(scenario, crashed_))),
        prng_(scenario.world.seed),
        ranks_(scenario.ranks) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      // Some are seldom looked at.
      ranks_[r].laziness = prng_.chance(0.2) ? 20 : prng_.below(3);
      counters_.push_back(&world_->counters(static_cast<Rank>(r)));
    }
    faults_ =
        sim::draw_faults(scenario.world.faults, scenario.ranks, kHorizonNs, scenario.world.seed);
  }

  Wire& wire(Rank rank) override { return world_->wire(rank); }
  Counters& counters(Rank rank) override { return *counters_[static_cast<std::size_t>(rank)]; }
  Clock& clock(Rank) override { return clock_; }
  void set_away(Rank rank, AwayMemory* away) override { world_->wire(rank).set_away(away); }
  void set_turn(Turn turn, void* context) override {
    turn_ = turn;
    context_ = context;
  }
  void schedule(Rank rank, std::uint64_t at_ns) override { alarms_.push({at_ns, pushed_++, rank}); }
  std::uint64_t now_ns() override { return clock_.now_ns(); }
  std::uint64_t events() const override { return turns_; }
  std::uint64_t unseed() const override { return unseed_; }
  bool crashed(Rank rank) const override { return ranks_[static_cast<std::size_t>(rank)].crashed; }
  std::string leftovers() override {
    for (Rank r = 0; r < world_->size(); ++r) {
      if (!world_->wire(r).quiet()) return fmt::format("the wire of rank {} keeps something", r);
    }
    return {};
  }
  std::string close() override {
    world_.reset();
    return {};
  }

  bool step() override {
    clock_.advance_ns(kTurnNs);
    crash_ranks();
    if (!alarms_.empty() && alarms_.top().at_ns <= clock_.now_ns()) {
      const Rank rank = alarms_.top().rank;
      alarms_.pop();
      look(rank, true);
      return true;
    }
    if (quiet_ > 4 * ranks_.size() + 16) return skip_quiet();
    const auto rank = static_cast<Rank>(prng_.below(ranks_.size()));
    Node& node = ranks_[static_cast<std::size_t>(rank)];
    if (node.laziness > 0 && prng_.below(node.laziness + 1) > 0) return true;
    look(rank, false);
    return true;
  }

 private:
  struct Node {
    std::uint64_t laziness = 0;
    bool crashed = false;
  };
  struct Alarm {
    std::uint64_t at_ns, number;
    Rank rank;
    bool operator<(const Alarm& other) const noexcept {  // the earliest is on top
      return at_ns != other.at_ns ? at_ns > other.at_ns : number > other.number;
    }
  };

  // One turn of a rank, as Worker gives them.
  void look(Rank rank, bool alarm) {
    if (crashed(rank)) return;
    int events = world_->wire(rank).progress();
    events += turn_(context_, rank);
    ++turns_;
    unseed_ = (unseed_ ^ static_cast<std::uint64_t>(rank) << 8 ^ static_cast<unsigned>(events)) *
                  0x9e3779b97f4a7c15ULL +
              1;
    ++quiet_;
    if (events > 0 || alarm) {
      quiet_ = 0;
    } else if (prng_.chance(0.05)) {
      world_->wire(rank).idle();
    }
  }

  // Everybody looks once more, long and hard; then time goes on to the next alarm.
  bool skip_quiet() {
    for (std::size_t round = 0; round < kRoundsOfAll; ++round) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        look(static_cast<Rank>(r), false);
        if (quiet_ == 0) return true;
        if (!ranks_[r].crashed) world_->wire(static_cast<Rank>(r)).idle();
      }
    }
    const std::uint64_t now = clock_.now_ns();
    if (!alarms_.empty()) {
      if (alarms_.top().at_ns > now) clock_.advance_ns(alarms_.top().at_ns - now);
      quiet_ = 0;
    }
    return !alarms_.empty();
  }

  void crash_ranks() {
    while (next_fault_ < faults_.size() && faults_[next_fault_].begin_ns <= clock_.now_ns()) {
      const sim::FaultEvent& fault = faults_[next_fault_++];
      if (fault.kind != sim::FaultEvent::Kind::kCrash) continue;
      ranks_[static_cast<std::size_t>(fault.from)].crashed = true;
    }
  }

  static constexpr std::size_t kRoundsOfAll = 200;  // a wire may look at idle peers now and then

  CrashedRanks crashed_;
  std::unique_ptr<test::ShmWorld> world_;
  std::vector<Counters*> counters_;
  Prng prng_;
  std::vector<Node> ranks_;
  std::vector<sim::FaultEvent> faults_;
  std::size_t next_fault_ = 0;
  ManualClock clock_;
  std::priority_queue<Alarm> alarms_;
  std::uint64_t pushed_ = 0, turns_ = 0, unseed_ = 0;
  std::size_t quiet_ = 0;
  Turn turn_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Stage> make_shm_stage(const Scenario& scenario) {
  return std::make_unique<ShmStage>(scenario);
}

}  // namespace espalier::swarm
