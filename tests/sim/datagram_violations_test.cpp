// What DatagramLink refuses of a peer, each by its name; and a peer that sends, at random, packets
// that are nearly right: it is borne or lost, and nothing else happens.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/crc32c.hpp"
#include "core/prng.hpp"
#include "frames.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/sim/sim_datagram_port.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;
using rdma::kData;
using rdma::kGoodbye;
using rdma::kLetter;
using rdma::kProbe;
using rdma::kRefusal;
using rdma::Refused;
using ::testing::AnyOf;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

// A DatagramLink at rank 0, and at rank 1 a bare port.
class Net : private rdma::DatagramSink, private net::FrameSink {
 public:
  static constexpr std::uint64_t kPayloadMax = 5000;

  Net()
      : bed_(2),
        net_(world_),
        here_(net_, 0, {}),
        port_(net_, 1, {}),
        path_(*port_.open_path(sim::SimDatagramPort::address_of(0))),
        memory_(kPayloadMax) {
    world_.set_turn(
        [](void* self, Rank r) {
          auto& net = *static_cast<Net*>(self);
          if (r == 1) return (void)net.port_.poll(net, 64);
          net.look();
        },
        this);
    rdma::DatagramLinkOptions options;
    options.me = {1, 0, 2};
    options.round_trip = {200'000, 50'000, 2'000'000};
    options.give_up_ns = options.keepalive_ns = 1'000'000'000;
    options.payload_max = kPayloadMax;
    link_ = std::make_unique<rdma::DatagramLink>(here_, world_.clock(0), sim_addresses(), options);
  }
  virtual ~Net() {
    link_.reset();
    EXPECT_EQ(here_.held(), 0U);
  }

  // The next packet with data, or one without a number.
  rdma::PacketHeader next(int flags) {
    rdma::PacketHeader header;
    header.flags = static_cast<std::uint8_t>(flags);
    header.epoch = 1;
    header.from = 1;
    header.to = 0;
    header.ack.expected.value = heard_;
    header.ack.limit.value = heard_ + 16;
    if ((flags & kData) != 0) header.sequence.value = sent_++;
    return header;
  }
  // Flags are set behind write_packet(), which writes none that are impossible.
  Bytes packet(rdma::PacketHeader header, const Bytes& payload) {
    constexpr std::size_t kFlagsAt = 5;
    const auto flags = static_cast<std::byte>(std::exchange(header.flags, std::uint8_t{kData}));
    header.bytes = static_cast<std::uint16_t>(payload.size());
    Bytes all(rdma::packet_length(header));
    std::copy(payload.begin(), payload.end(), all.begin() + rdma::kPacketHeaderBytes);
    rdma::write_packet(header, all);
    all[kFlagsAt] = (all[kFlagsAt] & std::byte{rdma::kSelective}) | flags;
    const std::uint32_t sum = crc32c(std::span<const std::byte>(all).subspan(sizeof sum));
    std::memcpy(all.data(), &sum, sizeof sum);
    return all;
  }
  void send(int flags, const Bytes& payload) { send_bytes(packet(next(flags), payload)); }
  void send_bytes(const Bytes& bytes) {
    rdma::Packet* out = port_.take();
    ASSERT_NE(out, nullptr);
    std::copy(bytes.begin(), bytes.end(), out->data);
    out->bytes = static_cast<std::uint32_t>(bytes.size());
    ASSERT_TRUE(port_.send(path_, *out, false));
    port_.give(*out);
    run();
  }
  void post(const FrameHeader& header) {
    (void)link_->post(1, header, memory_.data(), nobody_);
    look();
    run();
  }
  // A tenth of a millisecond: acknowledgements are not held back longer.
  void run() {
    const std::uint64_t end_ns = world_.now_ns() + 100'000;
    world_.wake_at(0, end_ns);
    (void)world_.run(end_ns);
    (void)port_.poll(*this, 64);
  }
  std::string story() const { return link_->describe(1); }
  std::uint64_t refused(Refused why) const {
    return counts().refused[static_cast<std::size_t>(why)];
  }
  const rdma::DatagramLinkCounts& counts() const { return link_->counts(); }
  bool delivered() const { return link_->delivered(1); }

  esp_status lost_ = ESP_OK;
  std::uint64_t frames_ = 0;  // that came whole, to rank 0
  std::uint32_t heard_ = 0;   // packets with data from rank 0, in order
  std::uint32_t sent_ = 0;
  int told_ = 0;  // refusals that rank 1 got

 private:
  void look() {
    while (link_->progress(*this) > 0) {
    }
  }
  void arrived(rdma::Packet& packet) noexcept override {
    rdma::PacketHeader header;
    const rdma::Identity me = {1, 1, 2, port_.intact()};
    EXPECT_EQ(rdma::parse_packet({packet.data, packet.bytes}, me, header), Refused::kNo);
    if ((header.flags & kData) != 0 && header.sequence.value == heard_) ++heard_;
    told_ += header.flags == kRefusal ? 1 : 0;
    port_.give(packet);
  }
  std::byte* begin(Rank, const FrameHeader& header) noexcept override {
    EXPECT_LE(header.bytes, kPayloadMax);
    EXPECT_FALSE(std::exchange(inside_, true));
    return memory_.data();
  }
  void end(Rank, const FrameHeader&, std::byte*) noexcept override {
    EXPECT_TRUE(std::exchange(inside_, false));
    ++frames_;
  }
  void lost(Rank peer, const Status& why) noexcept override {
    EXPECT_EQ(peer, 1);
    EXPECT_EQ(lost_, ESP_OK) << "lost twice";
    lost_ = why.code();
  }

  SimBed bed_;
  sim::World& world_ = bed_.world;
  sim::DatagramNet net_;
  sim::SimDatagramPort here_, port_;
  const rdma::PathId path_;
  Bytes memory_;
  std::unique_ptr<rdma::DatagramLink> link_;
  bool inside_ = false;
  Completion nobody_{[](Completion&, Status) noexcept {}};
};

class DatagramStranger : public ::testing::Test, protected Net {
 protected:
  void expect_lost(const char* why) {
    EXPECT_EQ(lost_, ESP_ERR_NETWORK);
    EXPECT_THAT(story(), HasSubstr(why));
    EXPECT_GE(told_, 1) << "it is told that it was given up";
  }
};

TEST_F(DatagramStranger, IsHeardWhenAllIsRight) {
  for (std::uint64_t i = 0; i < 20; ++i) send(kData, frame(segment(i, 30), 30));
  EXPECT_EQ(frames_, 20U);
  post(segment(1, 40));
  EXPECT_EQ(heard_, 1U);
  send(0, {});
  EXPECT_TRUE(delivered());
  send(kData | kGoodbye, {});
  EXPECT_EQ(lost_, ESP_OK);
}

TEST_F(DatagramStranger, MayNotSayGoodbyeInsideAFrame) {
  send(kData, frame(segment(1, 30), 10));
  send(kData | kGoodbye, {});
  expect_lost("a goodbye inside a frame");
}

TEST_F(DatagramStranger, MayNotSpeakAfterItsGoodbye) {
  send(kData | kGoodbye, {});
  EXPECT_EQ(lost_, ESP_OK);
  send(kData, frame(segment(1, 3), 3));
  expect_lost("it follows a goodbye");
  EXPECT_EQ(frames_, 0U);
}

TEST_F(DatagramStranger, MaySayItsGoodbyeAgain) {
  const Bytes goodbye = packet(next(kData | kGoodbye), {});
  for (int i = 0; i < 3; ++i) send_bytes(goodbye);
  EXPECT_EQ(lost_, ESP_OK);
}

TEST_F(DatagramStranger, MayNotSayGoodbyeAmongFrames) {
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  send(kData, frame(goodbye, 0));
  expect_lost("a goodbye among frames");
}

TEST_F(DatagramStranger, MayNotEndInsideAHeader) {
  send(kData, Bytes(net::kFrameHeaderBytes - 1));
  expect_lost("it ends inside a frame's header");
}

TEST_F(DatagramStranger, MayNotSendMoreThanAFrameMayHave) {
  send(kData, frame(segment(1, kPayloadMax + 1), 10));
  EXPECT_EQ(lost_, ESP_ERR_NETWORK);
}

TEST_F(DatagramStranger, CannotAcknowledgeWhatWasNotSent) {
  post(segment(1, 40));
  rdma::PacketHeader header = next(0);
  header.ack.expected.value = 50;
  header.ack.limit.value = 60;
  send_bytes(packet(header, {}));
  EXPECT_FALSE(delivered());
  EXPECT_EQ(lost_, ESP_OK);
  send(0, {});
  EXPECT_TRUE(delivered());
}

TEST_F(DatagramStranger, IsNotHeardBeyondItsPermission) {
  rdma::PacketHeader header = next(kData);
  header.sequence.value = 1000;
  send_bytes(packet(header, frame(segment(1, 3), 3)));
  EXPECT_EQ(frames_, 0U);
  EXPECT_EQ(counts().forbidden, 1U);
}

TEST_F(DatagramStranger, IsNotHeardWhereItsHeaderIsWrong) {
  const Bytes good = packet(next(kData), frame(segment(1, 3), 3));
  send_bytes(Bytes(good.begin(), good.begin() + 10));
  EXPECT_EQ(refused(Refused::kShort), 1U);
  Bytes bad = good;
  bad.back() ^= std::byte{1};
  send_bytes(bad);
  EXPECT_EQ(refused(Refused::kChecksum), 1U);
  rdma::PacketHeader header = next(kData);
  header.epoch = 2;
  send_bytes(packet(header, {}));
  EXPECT_EQ(refused(Refused::kEpoch), 1U);
  for (const Rank from : {0, 2, -1}) {
    header = next(kData);
    header.from = from;
    send_bytes(packet(header, {}));
  }
  EXPECT_EQ(refused(Refused::kAddress), 3U);
  send_bytes(packet(next(kGoodbye | kLetter), {}));
  EXPECT_EQ(refused(Refused::kFlags), 1U);
  EXPECT_EQ(frames_, 0U);
  send_bytes(good);
  EXPECT_EQ(frames_, 1U);
}

// ---- At random

std::uint32_t below(Prng& prng, std::uint64_t bound) {
  return static_cast<std::uint32_t>(prng.below(bound));
}

Bytes some_frames(Prng& prng, double wrong) {
  Bytes all;
  for (std::uint64_t i = prng.below(3); i < 3; ++i) {
    FrameHeader header = segment(prng.below(100), prng.below(60));
    if (prng.chance(wrong)) header.kind = static_cast<FrameKind>(1 + prng.below(11));
    if (prng.chance(wrong)) header.total = below(prng, 4);
    if (prng.chance(wrong)) header.bytes = prng.below(2 * Net::kPayloadMax);
    const Bytes one = frame(header, std::min<std::uint64_t>(header.bytes, 60));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void act(Prng& prng, Net& net, double wrong) {
  if (prng.chance(0.2)) return net.post(segment(prng.below(100), prng.below(1000)));
  constexpr std::array<int, 6> kFlags = {kData, kData, kData, kData | kProbe, kProbe, 0};
  int flags = kFlags[prng.below(kFlags.size())];
  if (prng.chance(wrong)) flags = static_cast<int>(prng.below(32));
  rdma::PacketHeader header = net.next(flags);
  if (prng.chance(wrong)) header.sequence.value += below(prng, 300) - 150;
  if (prng.chance(wrong)) header.ack.expected.value += below(prng, 40) - 20;
  if (prng.chance(wrong)) header.ack.limit.value += below(prng, 300) - 150;
  if (prng.chance(wrong)) header.ack.arrived.set(below(prng, 128));
  if (prng.chance(wrong)) header.ack.held_ns = below(prng, ~std::uint32_t{0});
  Bytes bytes = net.packet(header, (flags & kData) != 0 ? some_frames(prng, wrong) : Bytes());
  if (prng.chance(wrong)) bytes[prng.below(bytes.size())] ^= std::byte{4};
  if (prng.chance(wrong / 4)) bytes.resize(1 + prng.below(bytes.size()));
  net.send_bytes(bytes);
}

TEST(DatagramStrangersAtRandom, AreBorneOrLost) {
  std::array<int, 2> ends = {};
  std::uint64_t frames = 0, heard = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    Net net;
    const double wrong = seed % 3 == 0 ? 0.1 : seed % 3 == 1 ? 0.02 : 0.002;
    for (int i = 0; i < 60 && net.lost_ == ESP_OK; ++i) act(prng, net, wrong);
    ++ends[net.lost_ == ESP_OK ? 0 : 1];
    frames += net.frames_;
    heard += net.heard_;
    if (net.lost_ != ESP_OK) {
      EXPECT_THAT(net.story(), AnyOf(HasSubstr("bad packet: "), HasSubstr("bad frame"),
                                     HasSubstr("it has given this rank up, or has gone")));
    }
    // Nothing is waited for that can hang a rank that goes on.
    for (int i = 0; i < 10; ++i) act(prng, net, wrong);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ends[0], 100);
  EXPECT_GT(ends[1], 300);
  EXPECT_GT(frames, 10'000U);
  EXPECT_GT(heard, 2'000U);
}

}  // namespace
}  // namespace espalier::test
