// Short operations of all kinds, started and blocking ones mixed, many under way, on one node and
// on several: whatever the order in which ranks get their turns, results are right and nothing is
// written that somebody still reads.
#include "coll/engine/short_operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/kernels/isa.hpp"
#include "core/prng.hpp"
#include "tests/support/allocations.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kShortBytes = 2048;

// Between all ranks of the test. A segment waits until it is received.
struct Mail {
  using Key = std::tuple<Rank, Rank, std::uint64_t, std::uint32_t>;  // from, to, flow, ordinal
  std::map<Key, std::vector<std::byte>> segments;
};

class MailWire final : public Wire {
 public:
  MailWire(Mail& mail, Rank rank) : mail_(mail), rank_(rank) {}
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send& send, SendOp&) noexcept override {
    const auto* data = static_cast<const std::byte*>(send.data);
    mail_.segments[{rank_, send.segment.peer, send.segment.flow.key, send.segment.ordinal}] = {
        data, data + send.bytes};
    return Posted::kDone;
  }
  Posted publish(const Send&, const Group&, SendOp&) noexcept override { std::abort(); }
  Posted recv(const SegmentId& segment, std::uint32_t, RecvOp& op) noexcept override {
    op.peer = segment.peer;
    op.flow = segment.flow.key;
    op.ordinal = segment.ordinal;
    posted_.push_back(&op);
    return Posted::kPending;
  }
  void release(RecvOp&) noexcept override {}
  void cancel(RecvOp& op) noexcept override { std::erase(posted_, &op); }
  void cancel(SendOp&) noexcept override {}
  int progress() noexcept override {
    int events = 0;
    for (std::size_t i = 0; i < posted_.size();) {
      RecvOp& op = *posted_[i];
      const auto found = mail_.segments.find({op.peer, rank_, op.flow, op.ordinal});
      if (found == mail_.segments.end()) {
        ++i;
        continue;
      }
      posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
      views_.push_back(std::move(found->second));
      mail_.segments.erase(found);
      if (op.dst != nullptr && op.bytes > 0) std::memcpy(op.dst, views_.back().data(), op.bytes);
      op.view = views_.back().data();
      op.complete({});
      ++events;
    }
    return events;
  }

 private:
  Mail& mail_;
  Rank rank_;
  std::vector<RecvOp*> posted_;
  std::deque<std::vector<std::byte>> views_;
};

struct Routes final : WireRoutes {
  explicit Routes(Wire& to) : wire(to) {}
  Wire& wire_to(Rank) noexcept override { return wire; }
  Wire& wire;
};

// What all ranks call, in this order.
struct Step {
  Collective collective = Collective::kBarrier;
  int root = 0;
  std::size_t count = 0;
  bool in_place = false;
  bool blocking = false;
};

std::int32_t value(std::size_t step, int rank, std::size_t i) {
  return static_cast<std::int32_t>(step * 1009 + static_cast<std::size_t>(rank) * 7919 + i);
}

// Elements of block b; irregular: of all lengths, nothing among them.
std::size_t block_of(const Step& step, std::size_t b) {
  return is_irregular(step.collective) ? (step.count + 2 * b) % (step.count + 1) : step.count;
}
// Where it begins.
std::size_t begin_of(const Step& step, std::size_t b) {
  std::size_t sum = 0;
  for (std::size_t before = 0; before < b; ++before) sum += block_of(step, before);
  return sum;
}

struct Under {  // way
  std::size_t step = 0;
  std::vector<std::int32_t> input, output;
  std::vector<std::size_t> counts, displs;
  bool done = false;
  Status status;
  static void finish(void* context, Status status) noexcept {
    static_cast<Under*>(context)->done = true;
    static_cast<Under*>(context)->status = status;
  }
};

struct Member {
  Member(Mail& mail, Rank rank) : wire(mail, rank), routes(wire) {}
  SteadyClock clock;
  Bell bell;
  SleeperCount sleepers;
  Doorbell doorbell{bell, sleepers, false};
  Counters counters;
  Trace trace;
  Engine engine{counters, trace, {}};
  Worker worker{clock, doorbell, counters, {}};
  ShortPath path{worker, engine, doorbell};
  ShortOperations operations{path, engine, counters};
  MailWire wire;
  Routes routes;
  Team team;
  std::size_t next = 0;  // step
  std::list<Under> under;
};

class ShortJob {
 public:
  explicit ShortJob(const std::vector<std::int32_t>& node_of) {
    const auto size = static_cast<int>(node_of.size());
    auto membership = std::make_shared<Membership>();
    membership->ranks.resize(node_of.size());
    std::iota(membership->ranks.begin(), membership->ranks.end(), 0);
    const int nodes = 1 + *std::max_element(node_of.begin(), node_of.end());
    if (nodes > 1) {
      membership->nodes = TeamNodes::of(node_of);
      std::vector<std::int32_t> heads(static_cast<std::size_t>(nodes));
      std::iota(heads.begin(), heads.end(), 0);
      membership->heads = TeamNodes::of(heads);
    }
    for (int r = 0; r < size; ++r) {
      Member& member = members_.emplace_back(mail_, r);
      member.team.wire = &member.wire;
      member.team.network = &member.routes;
      member.team.segment_limit = 65536;
      member.team.set_membership(r, membership);
      member.team.short_path = true;
      const auto node = static_cast<std::size_t>(member.team.node());
      if (boards_.size() <= node) boards_.resize(node + 1);
      std::vector<Line>& lines = boards_[node];
      const int rows = member.team.rows();
      if (lines.empty()) lines.resize(Board::bytes(rows, kShortBytes) / sizeof(Line) + 1);
      member.team.board = Board(lines.front().bytes, rows, kShortBytes, 0);
      ShortOperations::set_limits(member.team, {});
    }
  }

  void run(const std::vector<Step>& script, std::uint64_t seed, std::size_t most_under_way) {
    Prng random(seed);
    std::size_t unfinished = members_.size();
    for (std::uint64_t turn = 0; unfinished > 0 && !testing::Test::HasFailure(); ++turn) {
      ASSERT_LT(turn, 2000 * script.size() * members_.size()) << "nothing goes on";
      Member& member = members_[random.below(members_.size())];
      const bool was_done = member.next == script.size() && member.under.empty();
      const bool waits = !member.under.empty() && script[member.under.back().step].blocking;
      if (random.below(2) == 0 && member.next < script.size() && !waits &&
          member.under.size() < most_under_way) {
        start(member, script[member.next]);
      } else {
        (void)member.wire.progress();
        (void)member.engine.progress();
        (void)member.operations.progress();
      }
      collect(member, script);
      if (!was_done && member.next == script.size() && member.under.empty()) --unfinished;
    }
  }
  std::size_t size() const { return members_.size(); }
  Member& member(std::size_t i) { return members_[i]; }

 private:
  struct alignas(128) Line {
    std::byte bytes[128] = {};
  };

  void start(Member& member, const Step& step) {
    const CollectiveTraits& traits = traits_of(step.collective);
    const auto size = members_.size();
    const int rank = member.team.rank;
    Under& under = member.under.emplace_back();
    under.step = member.next++;
    const auto own = static_cast<std::size_t>(rank);
    const auto elements = [&](Extent extent) -> std::size_t {
      if (extent == Extent::kNone) return 0;
      return extent == Extent::kOne ? block_of(step, own) : begin_of(step, size);
    };
    const std::size_t inputs =
        step.collective == Collective::kBcast ? step.count : elements(traits.input);
    under.output.assign(elements(traits.output), -1);
    for (std::size_t i = 0; i < inputs; ++i) under.input.push_back(value(under.step, rank, i));
    Call call;
    call.collective = step.collective;
    call.count = step.count;
    call.type = ESP_INT32;
    call.element_bytes = sizeof(std::int32_t);
    call.op = ESP_SUM;
    call.combiner = Combiner(kernel_, ESP_INT32);
    call.root = step.root;
    call.blocking = step.blocking;
    call.output = under.output.data();
    call.input = under.input.data();
    if (is_irregular(step.collective)) {
      for (std::size_t b = 0; b < size; ++b) under.counts.push_back(block_of(step, b));
      for (std::size_t b = 0; b < size; ++b) under.displs.push_back(begin_of(step, b));
      call.count = begin_of(step, size);
      call.longest = *std::max_element(under.counts.begin(), under.counts.end());
      call.in_counts = call.out_counts = under.counts.data();
      if (step.root == 0) call.out_displs = under.displs.data();
    }
    const bool gets = !traits.root_gets || rank == step.root;
    if (step.collective == Collective::kBcast) {
      if (rank == step.root) under.output = under.input;
      call.input = nullptr;
    } else if (step.in_place && step.collective == Collective::kScatter) {
      call.in_place = rank == step.root;
      if (call.in_place) call.output = nullptr;
    } else if (step.in_place && gets && traits.input != Extent::kNone) {
      call.in_place = true;
      // Of reductions the result is shorter than what stood there.
      under.output.resize(std::max(under.output.size(), under.input.size()), -1);
      call.output = under.output.data();
      auto* at = under.output.data();
      const bool gathers = traits.input == Extent::kOne && traits.output > Extent::kOne;
      if (gathers) at += begin_of(step, own);
      std::copy(under.input.begin(), under.input.end(), at);
      call.input = at;
    }
    ASSERT_TRUE(ShortOperations::takes(member.team, call));
    auto started = member.operations.start(member.team, call, {Under::finish, &under});
    ASSERT_TRUE(started.ok());
    if (started->done) Under::finish(&under, started->status);
  }

  // What is complete is checked at once, and its memory gone.
  void collect(Member& member, const std::vector<Step>& script) {
    for (auto at = member.under.begin(); at != member.under.end();) {
      if (!at->done) {
        ++at;
        continue;
      }
      ASSERT_TRUE(at->status.ok()) << member.team.fault_text;
      check(member.team.rank, script[at->step], *at);
      at = member.under.erase(at);
    }
  }

  void check(int rank, const Step& step, const Under& under) {
    const auto size = static_cast<int>(members_.size());
    const auto sum = [&](int first, int end, std::size_t i) {
      std::int32_t all = 0;
      for (int r = first; r < end; ++r) all += value(under.step, r, i);
      return all;
    };
    const auto own = static_cast<std::size_t>(rank);
    const bool one_block = traits_of(step.collective).output == Extent::kOne;
    const std::size_t results =
        std::min(under.output.size(), one_block ? block_of(step, own) : under.output.size());
    std::size_t block = 0;
    for (std::size_t i = 0; i < results; ++i) {
      std::int32_t expected = -1;
      while (!one_block && i >= begin_of(step, block + 1)) ++block;
      const std::size_t at = i - (one_block ? 0 : begin_of(step, block));
      switch (step.collective) {
        case Collective::kBcast:
          expected = value(under.step, step.root, i);
          break;
        case Collective::kReduce:
          if (rank == step.root) expected = sum(0, size, i);
          break;
        case Collective::kAllreduce:
          expected = sum(0, size, i);
          break;
        case Collective::kGather:
          if (rank != step.root) break;
          [[fallthrough]];
        case Collective::kAllgather:
        case Collective::kAllgatherv:
          expected = value(under.step, static_cast<int>(block), at);
          break;
        case Collective::kAlltoall:
          expected = value(under.step, static_cast<int>(block), begin_of(step, own) + at);
          break;
        case Collective::kScatter:
          if (step.in_place && rank == step.root) break;
          expected = value(under.step, step.root, begin_of(step, own) + at);
          break;
        case Collective::kReduceScatterBlock:
        case Collective::kReduceScatter:
          expected = sum(0, size, begin_of(step, own) + at);
          break;
        case Collective::kScan:
          expected = sum(0, rank + 1, i);
          break;
        case Collective::kExscan:
          if (rank == 0) expected = under.output[i];  // left alone
          if (rank > 0) expected = sum(0, rank, i);
          break;
        default:
          break;
      }
      ASSERT_EQ(under.output[i], expected)
          << collective_name(step.collective) << " " << under.step << " on rank " << rank
          << ", element " << i << ", in place " << step.in_place;
    }
  }

  Mail mail_;
  std::vector<std::vector<Line>> boards_;
  std::deque<Member> members_;
  CombineKernel kernel_ = combine_kernel_for(best_isa(), ESP_SUM, ESP_INT32);
};

std::vector<Step> script_of(std::uint64_t seed, std::size_t size, bool several, std::size_t steps) {
  constexpr Collective kKinds[] = {
      Collective::kBarrier,      Collective::kBcast,      Collective::kReduce,
      Collective::kAllreduce,    Collective::kAllgather,  Collective::kAlltoall,
      Collective::kScan,         Collective::kExscan,     Collective::kGather,
      Collective::kScatter,      Collective::kAllgatherv, Collective::kReduceScatterBlock,
      Collective::kReduceScatter};
  constexpr std::size_t kCounts[] = {0, 1, 2, 28, 29, 500};
  Prng random(seed);
  std::vector<Step> script(steps);
  for (Step& step : script) {
    step.collective = kKinds[random.below(several ? 4 : std::size(kKinds))];
    step.root = static_cast<int>(random.below(size));
    step.in_place = random.below(2) == 0;
    step.blocking = random.below(4) == 0;
    if (step.collective == Collective::kBarrier) continue;
    step.count = kCounts[random.below(std::size(kCounts))];
    const bool in_slots =
        several || step.collective == Collective::kScan || step.collective == Collective::kExscan;
    if (in_slots) {
      step.count = std::min<std::size_t>(step.count, 28);
    }
    // A line holds a block for each.
    const CollectiveTraits& traits = traits_of(step.collective);
    if (traits.input == Extent::kPerMember || traits.input == Extent::kCounts) {
      step.count = std::min<std::size_t>(step.count, 500 / size);
    }
  }
  return script;
}

TEST(ShortOperations, AnyOrderOfTurnsGivesTheResults) {
  const std::vector<std::vector<std::int32_t>> layouts = {{0},
                                                          {0, 0},
                                                          {0, 0, 0, 0, 0},
                                                          {0, 1},
                                                          {0, 0, 1, 1},
                                                          {0, 1, 0, 1, 2, 0},
                                                          {0, 0, 0, 1, 2, 2, 1}};
  for (const auto& layout : layouts) {
    const bool several = *std::max_element(layout.begin(), layout.end()) > 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(testing::Message() << layout.size() << " ranks, seed " << seed);
      ShortJob job(layout);
      job.run(script_of(seed, layout.size(), several, 150), seed + 100, 1 + seed * 4);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// More members than one kernel call combines.
TEST(ShortOperations, ManyMembersOnANode) {
  ShortJob one(std::vector<std::int32_t>(70, 0));
  one.run(script_of(1, 70, false, 60), 1, 5);
  std::vector<std::int32_t> two(80, 0);
  std::fill(two.begin() + 40, two.end(), 1);
  ShortJob several(two);
  several.run(script_of(2, 80, true, 60), 2, 5);
}

// One that reads late, while it has entered all that follows: nothing is written under it.
TEST(ShortOperations, SlotsWaitForWhoGoesOnWithoutReading) {
  for (const std::size_t count : {2, 500}) {
    ShortJob job({0, 0, 0});
    const auto start = [&](std::size_t rank, std::vector<std::int32_t>& buffer, bool& done) {
      Call call;
      call.collective = Collective::kBcast;
      call.count = count;
      call.type = ESP_INT32;
      call.element_bytes = sizeof(std::int32_t);
      call.output = buffer.data();
      Member& member = job.member(rank);
      const Finish finish = {[](void* at, Status) noexcept { *static_cast<bool*>(at) = true; },
                             &done};
      auto started = member.operations.start(member.team, call, finish);
      ASSERT_TRUE(started.ok());
      done = started->done;
    };
    constexpr std::size_t kCalls = 100;
    std::vector<std::vector<std::int32_t>> sent(kCalls), got[2];
    bool sent_done[kCalls] = {}, got_done[2][kCalls] = {};
    got[0] = got[1] =
        std::vector<std::vector<std::int32_t>>(kCalls, std::vector<std::int32_t>(count));
    for (std::size_t i = 0; i < kCalls; ++i) {
      start(1, got[0][i], got_done[0][i]);  // before anything is there
      EXPECT_FALSE(got_done[0][i]);
    }
    for (std::size_t i = 0; i < kCalls; ++i) {
      sent[i].assign(count, static_cast<std::int32_t>(i));
      start(0, sent[i], sent_done[i]);
      start(2, got[1][i], got_done[1][i]);
    }
    const std::size_t depth = Board::depth(count * sizeof(std::int32_t));
    EXPECT_EQ(std::count(std::begin(sent_done), std::end(sent_done), true),
              static_cast<std::ptrdiff_t>(depth));
    EXPECT_EQ(job.member(0).team.short_wait, depth + 1);
    EXPECT_EQ(ShortOperations::awaited(*job.member(0).team.short_operations), 1);
    for (int round = 0; round < 1000; ++round) {
      for (std::size_t r = 0; r < 3; ++r) (void)job.member(2 - r).operations.progress();
    }
    for (std::size_t i = 0; i < kCalls; ++i) {
      EXPECT_TRUE(sent_done[i] && got_done[0][i] && got_done[1][i]) << i;
      EXPECT_EQ(got[0][i], sent[i]);
      EXPECT_EQ(got[1][i], sent[i]);
    }
    EXPECT_EQ(job.member(1).team.short_wait, 0U);
    EXPECT_EQ(job.member(1).team.shown_unread, 0U);
  }
}

// A failed team ends what waits, and tells nobody twice.
TEST(ShortOperations, EndWithTheTeam) {
  for (const auto& layout : {std::vector<std::int32_t>{0, 0}, {0, 1}}) {
    ShortJob job(layout);
    Member& member = job.member(0);
    int told = 0;
    Call call;
    call.collective = Collective::kBarrier;
    const Finish finish = {[](void* at, Status status) noexcept {
                             *static_cast<int*>(at) += status.code() == ESP_ERR_CANCELED ? 1 : 100;
                           },
                           &told};
    for (int i = 0; i < 3; ++i) {
      auto started = member.operations.start(member.team, call, finish);
      ASSERT_TRUE(started.ok());
      EXPECT_FALSE(started->done);
    }
    member.engine.cancel(member.team);
    EXPECT_EQ(told, 0);
    (void)member.operations.progress();
    (void)member.engine.progress();
    (void)member.operations.progress();
    EXPECT_EQ(told, 3);
    EXPECT_EQ(member.team.short_operations, nullptr);
  }
}

TEST(ShortOperations, AllocateNothingOnceTheirShapeIsKnown) {
  ShortJob job({0, 0});
  const auto round = [&] {
    for (std::size_t r = 0; r < 2; ++r) {
      static std::int32_t in[2] = {1, 2}, out[2] = {};
      Call call;
      call.collective = Collective::kAllreduce;
      call.count = 1;
      call.type = ESP_INT32;
      call.element_bytes = sizeof(std::int32_t);
      call.combiner = Combiner(combine_kernel_for(best_isa(), ESP_SUM, ESP_INT32), ESP_INT32);
      call.input = &in[r];
      call.output = &out[r];
      Member& member = job.member(r);
      ASSERT_TRUE(member.operations.start(member.team, call, {}).ok());
    }
    for (std::size_t r = 0; r < 2; ++r) (void)job.member(r).operations.progress();
  };
  round();
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace espalier
