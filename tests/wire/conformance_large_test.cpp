// The contract of core/wire.hpp where there is much: large messages, and many flows at once.
#include <algorithm>

#include "conformance.hpp"

namespace espalier::test {
namespace {

// A message of any size: one segment, or a flow of them where those of the wire are smaller.
class Load {
 public:
  Load(World& world, std::uint64_t bytes, std::uint64_t sequence)
      : world_(world),
        bytes_(bytes),
        flow_(2, 0, sequence),
        piece_(std::min(std::max<std::uint64_t>(bytes, 1), world.wire(0).caps(1).segment_bytes)),
        total_(
            static_cast<std::uint32_t>(std::max<std::uint64_t>((bytes + piece_ - 1) / piece_, 1))),
        source_(bytes),
        target_(bytes + 1),
        sent_(total_),
        received_(total_) {
    fill(source_.data(), bytes_, sequence);
    target_[bytes_] = std::byte{0x5a};  // must stay
  }

  // Posts what is possible. True: all of it is there.
  bool act() {
    while (taken_ < posted_ && received_[taken_].complete()) ++taken_;
    while (posted_ < total_ && posted_ < taken_ + kWindow) {
      RecvProbe& op = received_[posted_];
      op.dst = target_.data() + posted_ * piece_;
      op.bytes = bytes_of(posted_);
      op.posted = world_.wire(1).recv({0, flow_, posted_, total_, 7}, kWindow, op);
      ++posted_;
    }
    while (gone_ < total_ && send(gone_) != Posted::kRetry) ++gone_;
    const auto complete = [](const SendProbe& op) { return op.complete(); };
    return taken_ == total_ && gone_ == total_ && std::all_of(sent_.begin(), sent_.end(), complete);
  }
  void check() const {
    for (const RecvProbe& op : received_) {
      ASSERT_EQ(op.status.code(), ESP_OK);
      EXPECT_EQ(op.fired, op.posted == Posted::kPending ? 1 : 0);
    }
    EXPECT_TRUE(bytes_ == 0 || std::memcmp(target_.data(), source_.data(), bytes_) == 0);
    EXPECT_EQ(target_[bytes_], std::byte{0x5a}) << "written past the end";
  }

 private:
  static constexpr std::uint32_t kWindow = 6;

  std::uint64_t bytes_of(std::uint32_t ordinal) const {
    return std::min(piece_, bytes_ - ordinal * piece_);
  }
  Posted send(std::uint32_t ordinal) {
    Send request;
    request.segment = {1, flow_, ordinal, total_, 7};
    request.data = source_.data() + ordinal * piece_;
    request.bytes = bytes_of(ordinal);
    request.flow_bytes = bytes_;
    return sent_[ordinal].posted = world_.wire(0).send(request, sent_[ordinal]);
  }

  World& world_;
  const std::uint64_t bytes_;
  const FlowId flow_;
  const std::uint64_t piece_;
  const std::uint32_t total_;
  std::vector<std::byte> source_, target_;
  std::vector<SendProbe> sent_;
  std::vector<RecvProbe> received_;
  std::uint32_t posted_ = 0, taken_ = 0, gone_ = 0;
};

TEST_P(WireContract, MessagesUpToTheLargest) {
  const std::uint64_t most = GetParam().large_bytes;
  std::vector<std::uint64_t> sizes = {most};
  if (!GetParam().slow) {
    sizes = {0, 1, 4095, 4097, (1 << 16) - 1, (1 << 20) - 1, (1 << 20) + 1, (3 << 20) + 1, most};
  }
  World& world = make(2);
  meet(world, 0, 1, 0);
  std::uint64_t sequence = 0;
  for (const std::uint64_t bytes : sizes) {
    Load load(world, bytes, ++sequence);
    ASSERT_TRUE(step_until(
        world, [&] { return load.act(); }, 10'000'000))
        << bytes;
    load.check();
  }
  if (GetParam().faulty) {
    EXPECT_GT(world.faults(), 0U) << "the network is good";
  }
}

// Flows between all pairs, in both directions; half of the segments come before their receives.
TEST_P(WireContract, ManyFlowsAtOnce) {
  World& world = make(3);
  Messages all;
  const std::uint64_t flows = GetParam().slow ? 200 : 3000;
  for (std::uint64_t n = 0; n < flows; ++n) {
    const auto from = static_cast<Rank>(n % 3);
    const auto to = static_cast<Rank>((n + 1 + n / 3 % 2) % 3);
    const std::uint64_t bytes = n % 7 == 0 ? 3000 : n % 100;
    const auto small = static_cast<std::uint32_t>(n % 5);
    for (auto& m : make_flow(from, to, FlowId(4, small, n), 1 + small % 2, bytes)) {
      all.push_back(std::move(m));
    }
  }
  Prng prng(1);
  for (auto& m : all) {
    if (prng.chance(0.5)) (void)m->receive(world.wire(m->to));
  }
  std::size_t complete = 0;
  ASSERT_TRUE(step_until(world, [&] {
    for (auto& m : all) {
      if (m->sent.posted == Posted::kRetry) (void)m->send(world.wire(m->from));
      const bool sent = m->sent.posted != Posted::kRetry;
      if (sent && m->received.posted == Posted::kRetry) (void)m->receive(world.wire(m->to));
    }
    complete = static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& m) { return m->complete(); }));
    return complete == all.size();
  })) << complete;
  for (auto& m : all) {
    m->check();
    EXPECT_LE(m->received.fired, 1);
    EXPECT_LE(m->sent.fired, 1);
  }
}

}  // namespace
}  // namespace espalier::test
