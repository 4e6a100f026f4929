// Remote access against a member of the job that does not keep to the rules: nothing outside a
// region is touched, and the member is given up; what a rule-abiding member may do late is
// answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "net/remote_access.hpp"
#include "raw_peer.hpp"
#include "tests/support/one_route.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;
using net::RemoteAccess;

struct Taker final : MessageTaker {
  bool take(Rank, const ActiveMessage& message) noexcept override {
    ++messages;
    return message.id == 1;
  }
  int messages = 0;
};

FrameHeader request(FrameKind kind, std::uint32_t region, std::uint64_t offset,
                    std::uint64_t bytes) {
  FrameHeader header;
  header.kind = kind;
  header.ordinal = region;
  header.flow = offset;
  if (kind == FrameKind::kPut) header.bytes = bytes;
  if (kind == FrameKind::kGet) header.total = static_cast<std::uint32_t>(bytes);
  if (kind == FrameKind::kAtomic) {
    header.total = 1;
    header.bytes = net::kOperandBytes;
  }
  return header;
}

// A rank with a region of 1000 bytes in the middle of memory that nobody may touch.
struct Scene {
  Scene() : member(rank) {
    access = std::make_unique<RemoteAccess>(routes, taker);
    region = access->offer(memory.data() + 1000, 1000);
    member.shake_hands();
    EXPECT_TRUE(member.proven);
  }
  void send(const FrameHeader& header) {
    Bytes bytes = bytes_of(header);
    bytes.resize(bytes.size() + header.bytes, std::byte{0xFF});
    member.send(bytes);
  }
  FrameHeader answer() {
    const Bytes bytes = member.receive(net::kFrameHeaderBytes);
    EXPECT_EQ(bytes.size(), net::kFrameHeaderBytes);
    if (bytes.size() < net::kFrameHeaderBytes) return {};
    auto parsed =
        net::parse_frame(std::span<const std::byte, net::kFrameHeaderBytes>(bytes), 1 << 20);
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? *parsed : FrameHeader{};
  }
  bool untouched() const {
    return std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  Taker taker;
  LoneRank rank;
  RawPeer member;
  std::vector<std::byte> memory = std::vector<std::byte>(3000);
  OneRoute routes{*rank.wire};
  std::unique_ptr<RemoteAccess> access;
  std::uint32_t region = 0;
};

TEST(TcpAccess, RequestsOutOfBoundsAreTheEndOfTheirSender) {
  const FrameHeader wrong[] = {
      request(FrameKind::kPut, 0, 990, 11),    request(FrameKind::kPut, 0, 1000, 1),
      request(FrameKind::kPut, 0, ~0ULL, 8),   request(FrameKind::kPut, 0, 0, 1001),
      request(FrameKind::kPut, 1, 0, 8),       request(FrameKind::kPut, ~0U, 0, 8),
      request(FrameKind::kGet, 0, 1000, 1),    request(FrameKind::kGet, 0, ~0ULL - 7, 8),
      request(FrameKind::kGet, 7, 0, 1),       request(FrameKind::kAtomic, 0, 4, 8),
      request(FrameKind::kAtomic, 0, 1000, 8), request(FrameKind::kAtomic, 0, ~0ULL - 7, 8),
      request(FrameKind::kAtomic, 3, 0, 8),
  };
  for (const FrameHeader& header : wrong) {
    Scene scene;
    scene.send(header);
    EXPECT_TRUE(scene.member.becomes_closed())
        << "region " << header.ordinal << " offset " << header.flow;
    EXPECT_FALSE(scene.access->state(1).ok());
    EXPECT_TRUE(scene.untouched());
  }
}

TEST(TcpAccess, AnswersThatNobodyAskedForAreTheEndOfTheirSender) {
  Scene scene;
  FrameHeader answer;
  answer.kind = FrameKind::kAnswer;
  scene.send(answer);
  EXPECT_TRUE(scene.member.becomes_closed());
}

TEST(TcpAccess, RequestsForWhatWasFreedAreToldSo) {
  Scene scene;
  scene.access->retract(scene.region);
  for (const FrameKind kind : {FrameKind::kPut, FrameKind::kGet, FrameKind::kAtomic}) {
    scene.send(request(kind, scene.region, 8, 16));
    const FrameHeader answer = scene.answer();
    EXPECT_EQ(answer.kind, FrameKind::kAnswer);
    EXPECT_EQ(answer.total, 1U);
    EXPECT_EQ(answer.bytes, 0U);
  }
  EXPECT_TRUE(scene.untouched());
  EXPECT_TRUE(scene.access->state(1).ok());
}

TEST(TcpAccess, RefusalsAreToldOncePerId) {
  Scene scene;
  FrameHeader message;
  message.kind = FrameKind::kMessage;
  message.bytes = 100;
  for (const std::uint32_t id : {2, 2, 2, 9, 2, 1}) {
    message.ordinal = id;
    scene.send(message);
  }
  for (const std::uint32_t id : {2, 9}) {
    const FrameHeader refusal = scene.answer();
    EXPECT_EQ(refusal.kind, FrameKind::kRefused);
    EXPECT_EQ(refusal.ordinal, id);
  }
  EXPECT_TRUE(scene.rank.until([&] { return scene.taker.messages == 6; }));
}

// Whatever a member sends, memory outside the region stays as it was, and nothing hangs.
TEST(TcpAccess, NoiseTouchesNothingOutsideTheRegion) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Scene scene;
    Prng prng(seed);
    for (int frames = 0; frames < 60 && !scene.member.is_closed(); ++frames) {
      const auto kind = static_cast<FrameKind>(prng.between(static_cast<int>(FrameKind::kMessage),
                                                            static_cast<int>(FrameKind::kAnswer)));
      FrameHeader header =
          request(kind, prng.chance(0.98) ? 0 : 1,
                  prng.chance(0.9) ? 8 * prng.below(115) : prng.below(1100), 1 + prng.below(80));
      if (kind == FrameKind::kMessage) header.bytes = prng.below(3000);
      if (kind == FrameKind::kRefused) header.flow = 0;
      if (kind == FrameKind::kAnswer) header = FrameHeader{.kind = FrameKind::kAnswer};
      if (kind == FrameKind::kAnswer && prng.chance(0.95)) continue;
      scene.send(header);
      if (prng.chance(0.2)) (void)scene.rank.wire->progress();
      (void)scene.access->progress();
    }
    scene.rank.look(5);
    const auto zero = [](std::byte b) { return b == std::byte{0}; };
    EXPECT_TRUE(std::all_of(scene.memory.begin(), scene.memory.begin() + 1000, zero)) << seed;
    EXPECT_TRUE(std::all_of(scene.memory.begin() + 2000, scene.memory.end(), zero)) << seed;
  }
}

// Its region goes between header and operands.
TEST(TcpAccess, AnAtomicThatIsUnderWayDoesNotOutlastItsRegion) {
  Scene scene;
  const FrameHeader header = request(FrameKind::kAtomic, scene.region, 8, 8);
  Bytes bytes = bytes_of(header);
  bytes.resize(bytes.size() + header.bytes, std::byte{0xFF});
  const std::size_t half = net::kFrameHeaderBytes + 4;
  scene.member.send(std::span(bytes).first(half));
  scene.rank.look();
  scene.access->retract(scene.region);
  scene.member.send(std::span(bytes).subspan(half));
  const FrameHeader answer = scene.answer();
  EXPECT_EQ(answer.kind, FrameKind::kAnswer);
  EXPECT_EQ(answer.total, 1u) << "refused";
  EXPECT_EQ(answer.bytes, 0u);
  EXPECT_TRUE(scene.untouched());
}

// Of a team that was freed: what has come is dropped, and what comes yet costs nothing, its sender
// included.
TEST(TcpForgotten, SegmentsOfAFreedTeamAreDropped) {
  LoneRank rank;
  RawPeer member(rank);
  member.shake_hands();
  // A link waits a moment for the receive of a frame that has none.
  const auto settle = [&] {
    for (int i = 0; i < 5; ++i, rank.clock.advance_ns(1'000'000)) rank.look();
  };
  const auto send = [&](std::uint32_t team, std::uint32_t ordinal, std::size_t part) {
    FrameHeader header;
    header.kind = FrameKind::kSegment;
    header.flow = FlowId(team, 1, 1).key;
    header.ordinal = ordinal;
    header.total = 100;
    header.bytes = 500;
    Bytes bytes = bytes_of(header);
    bytes.resize(bytes.size() + header.bytes);
    member.send(std::span(bytes).first(bytes.size() - part));
    settle();
    return bytes;
  };
  send(7, 0, 0);
  send(8, 0, 0);
  const Bytes half = send(7, 1, 300);
  const std::uint64_t held = rank.wire->held_bytes();
  rank.wire->forget_team(7);
  EXPECT_LT(rank.wire->held_bytes(), held);
  member.send(std::span(half).last(300));
  settle();
  const std::uint64_t of_other = rank.wire->held_bytes();
  EXPECT_GT(of_other, 0u);
  send(7, 2, 0);
  send(7, 50, 0);  // which nobody had granted
  EXPECT_EQ(rank.wire->held_bytes(), of_other);
  EXPECT_TRUE(rank.wire->state(1).ok());
  send(8, 50, 0);
  EXPECT_FALSE(rank.wire->state(1).ok()) << "of a team that lives";
}

}  // namespace
}  // namespace espalier::test
