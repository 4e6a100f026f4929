// multicast::Group over UdpGroupPorts: three members, real sockets, and every twentieth datagram
// lost on purpose.
#include "net/multicast/group.hpp"

#include <deque>
#include <map>
#include <numeric>

#include "core/clock.hpp"
#include "core/prng.hpp"
#include "tests/udp/members.hpp"

namespace espalier::net {
namespace {

using multicast::Group;
using multicast::GroupOptions;

constexpr std::uint32_t kMembers = 3;

// Some of what arrives is lost.
class LossyPort final : public multicast::GroupPort, private rdma::DatagramSink {
 public:
  LossyPort(std::unique_ptr<UdpGroupPort> port, double loss, std::uint64_t seed)
      : port_(std::move(port)), loss_(loss), random_(seed) {}

  Joined joined() noexcept override { return port_->joined(); }
  std::uint32_t packet_bytes() const noexcept override { return port_->packet_bytes(); }
  std::uint32_t receive_depth() const noexcept override { return port_->receive_depth(); }
  rdma::Packet* take() noexcept override { return port_->take(); }
  void give(rdma::Packet& packet) noexcept override { port_->give(packet); }
  bool send(rdma::Packet& packet, bool more) noexcept override { return port_->send(packet, more); }
  void flush() noexcept override { port_->flush(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override {
    above_ = &sink;
    return port_->poll(*this, budget);
  }
  const Status& fault() const noexcept override { return port_->fault(); }
  int descriptor() const noexcept override { return port_->descriptor(); }
  bool arm() noexcept override { return port_->arm(); }

  std::uint64_t lost() const noexcept { return lost_; }

 private:
  void arrived(rdma::Packet& packet) noexcept override {
    if (random_.unit() >= loss_) return above_->arrived(packet);
    ++lost_;
    port_->give(packet);
  }

  const std::unique_ptr<UdpGroupPort> port_;
  const double loss_;
  Prng random_;
  rdma::DatagramSink* above_ = nullptr;
  std::uint64_t lost_ = 0;
};

using Bytes = std::vector<std::byte>;

// Mail to everybody, in the order of its posts.
struct PostOffice {
  struct Letter {
    Rank from;
    Bytes bytes;
  };
  std::array<std::deque<Letter>, kMembers> boxes;
};

struct Mail final : multicast::MemberMail {
  Mail(PostOffice& office_, Rank from_) : office(office_), from(from_) {}
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    office.boxes[static_cast<std::size_t>(to)].push_back({from, {message.begin(), message.end()}});
    return true;
  }
  PostOffice& office;
  const Rank from;
};

// What a source's packet with this number is; the number decides about all of it.
Bytes payload_of(Rank source, std::uint32_t number, std::size_t most) {
  Prng random(static_cast<std::uint64_t>(source) << 32 | number);
  Bytes bytes(random.next() % (most + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 16);
  return bytes;
}

struct Reader final : multicast::GroupSink {
  void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) override {
    EXPECT_EQ(tag, delivered[source]);
    const Bytes expected = payload_of(source, delivered[source]++, most);
    right = right && std::equal(payload.begin(), payload.end(), expected.begin(), expected.end());
  }
  void source_ended(Rank, std::uint32_t) override { ADD_FAILURE() << "nobody has died"; }
  std::size_t most = 0;
  std::map<Rank, std::uint32_t> delivered;
  bool right = true;
};

class UdpGroupJobs : public UdpGroups {
 protected:
  void make(const UdpGroupOptions& with, double loss, std::uint32_t sources) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      auto port = open(with);
      ASSERT_NE(port, nullptr);
      ASSERT_EQ(port->joined(), Joined::kYes) << logged_;
      ports_.push_back(std::make_unique<LossyPort>(std::move(port), loss, i + 1));
      mail_.push_back(std::make_unique<Mail>(office_, static_cast<Rank>(i)));
    }
    GroupOptions common;
    common.epoch = 29;
    common.group = 3;
    common.ranks = kMembers;
    common.sources = sources;
    common.receive_depth = ports_[0]->receive_depth();
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      common.rank = static_cast<Rank>(i);
      groups_.push_back(
          std::make_unique<Group>(ranks_, *ports_[i], *mail_[i], clock_, readers_[i], common));
      readers_[i].most = ports_[i]->packet_bytes() - multicast::kHeaderBytes;
    }
  }
  void turn(std::uint32_t member) {
    auto& box = office_.boxes[member];
    for (; !box.empty(); box.pop_front()) {
      groups_[member]->mail_arrived(box.front().from, box.front().bytes);
    }
    EXPECT_GE(groups_[member]->progress(), 0);
  }
  // As far as the window goes.
  void publish(Rank source, std::uint32_t& sent, std::uint32_t packets) {
    Group& group = *groups_[static_cast<std::size_t>(source)];
    for (; sent < packets; ++sent) {
      const std::span<std::byte> room = group.room();
      if (room.empty()) return;
      const Bytes bytes = payload_of(source, sent, room.size());
      std::copy(bytes.begin(), bytes.end(), room.begin());
      group.publish(bytes.size(), sent, sent % 4 != 3);
    }
    group.flush();
  }
  bool all_have(std::uint32_t packets, const std::vector<Rank>& sources) {
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      for (const Rank source : sources) {
        if (source != static_cast<Rank>(i) && readers_[i].delivered[source] < packets) return false;
      }
      if (!groups_[i]->drained()) return false;
    }
    return true;
  }

  SteadyClock clock_;
  PostOffice office_;
  std::vector<Rank> ranks_ = std::vector<Rank>(kMembers);
  std::array<Reader, kMembers> readers_;
  std::vector<std::unique_ptr<LossyPort>> ports_;
  std::vector<std::unique_ptr<Mail>> mail_;
  std::vector<std::unique_ptr<Group>> groups_;
};

TEST_F(UdpGroupJobs, EveryByteOfTwoSourcesArrivesWhateverIsLost) {
  constexpr std::uint32_t kPackets = 2000;
  make(options(), 0.05, 2);
  if (HasFatalFailure()) return;
  std::uint32_t sent[2] = {};
  ASSERT_TRUE(eventually([&] {
    for (std::uint32_t i = 0; i < 2; ++i) publish(static_cast<Rank>(i), sent[i], kPackets);
    for (std::uint32_t i = 0; i < kMembers; ++i) turn(i);
    return all_have(kPackets, {0, 1});
  })) << sent[0]
      << " and " << sent[1] << " sent";
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    EXPECT_TRUE(readers_[i].right) << i;
    for (const Rank source : {0, 1}) {
      EXPECT_EQ(readers_[i].delivered[source], source == static_cast<Rank>(i) ? 0U : kPackets);
    }
    EXPECT_GT(ports_[i]->lost(), kPackets / 20) << "of both sources' packets";
    EXPECT_GT(groups_[i]->counts().repairs_received, kPackets / 50) << i;
    for (const std::uint64_t refused : groups_[i]->counts().refused) EXPECT_EQ(refused, 0U);
  }
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(groups_[i]->counts().packets_sent, kPackets);
}

TEST_F(UdpGroupJobs, RefuseWhatStrangersSend) {
  constexpr std::uint32_t kPackets = 300;
  UdpGroupOptions with = options();
  with.packet_bytes = 1472;
  make(with, 0, 1);
  if (HasFatalFailure()) return;
  const Descriptor other = stranger();
  Prng random(5);
  std::uint32_t sent = 0, garbage = 0;
  ASSERT_TRUE(eventually([&] {
    publish(2, sent, kPackets);
    if (garbage < 500) {
      Bytes noise(random.next() % 1472);
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next() >> 16);
      EXPECT_TRUE(shout(other, with, noise));
      ++garbage;
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) turn(i);
    return garbage == 500 && all_have(kPackets, {2});
  }));
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    turn(i);
    const auto& refused = groups_[i]->counts().refused;
    EXPECT_EQ(std::accumulate(refused.begin(), refused.end(), std::uint64_t{0}), garbage) << i;
    EXPECT_TRUE(readers_[i].right);
    EXPECT_EQ(readers_[i].delivered[2], i == 2 ? 0U : kPackets);
  }
}

}  // namespace
}  // namespace espalier::net
