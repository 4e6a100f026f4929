// ConnectionLink and a peer that is no link: what it is sent, in which order; and what it may send
// without being refused.
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "letters.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "sim_world.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;
using rdma::ConnectionId;
using rdma::Headless;
using rdma::KnownHeaders;
using rdma::MessageHead;
using rdma::MessageKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FrameHeader segment(std::uint64_t sequence, std::uint64_t bytes, std::uint32_t total = 1) {
  FrameHeader header;
  header.flow = FlowId(1, 2, sequence).key;
  header.total = total;
  header.bytes = bytes;
  return header;
}

std::vector<std::byte> frame(const FrameHeader& header, std::uint64_t bytes) {
  const net::FrameBytes head = net::frame_bytes(header);
  std::vector<std::byte> all(head.begin(), head.end());
  all.resize(head.size() + bytes, std::byte{7});
  return all;
}

std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Rank 0 has a link, rank 1 a bare port, which answers the handshake.
class Stranger : public ::testing::Test,
                 private rdma::LetterBox,
                 private rdma::ConnectionSink,
                 private net::FrameSink {
 protected:
  Stranger()
      : machine_(device_machine()),
        map_(*sim::Map::create(machine_, 2, 1, sim::Placement::kByCore, 1)),
        world_(machine_, map_, {}),
        net_(world_),
        letters_(world_),
        here_(net_, 0),
        port_(net_, 1) {
    world_.set_turn(
        [](void* self, Rank r) {
          auto& test = *static_cast<Stranger*>(self);
          if (r == 1) return (void)test.port_.poll(test, 64);
          while (test.link_->progress(test) > 0) {
          }
        },
        this);
    rdma::ConnectionOptions options;
    options.payload_max = 1 << 20;
    options.place_from_bytes = 1000;
    link_ = std::move(
        *rdma::ConnectionLink::create(here_, letters_.postman(0), world_.clock(0), 0, 2, options));
    letters_.postman(1).deliver_to(this);
    for (auto* memory : {&memory_, &theirs_}) memory->resize(1 << 16);
    EXPECT_TRUE(link_->memory().add(memory_.data(), memory_.size()).ok());
    port_.provide(port_.receive_depth());
    region_ = *port_.enroll(theirs_.data(), theirs_.size());
    link_->reach(1);
    world_.run();
    EXPECT_TRUE(link_->up(1));
  }
  ~Stranger() override {
    letters_.postman(1).deliver_to(nullptr);
    link_.reset();
    port_.withdraw(region_);
  }

  // As rank 1 sends them: counted messages, and others.
  void send(MessageKind kind, const std::vector<std::byte>& body, std::uint8_t keep = 0) {
    const bool counted = kind == MessageKind::kFrames || kind == MessageKind::kGoodbye;
    std::vector<std::byte> message(MessageHead::kBytes);
    rdma::write_head({kind, keep, 0, counted ? next_++ : remark_++}, message.data());
    bytes_.push_back(message + body);
    ASSERT_TRUE(port_.send(*connection_, transfer(bytes_.back())));
    world_.run();
  }
  void send_headless(std::uint32_t step, std::uint64_t bytes) {
    const std::uint32_t slot = KnownHeaders::slot_of(segment(0, 0));
    bytes_.emplace_back(bytes, std::byte{9});
    const Headless what(slot, step, next_++, false, 0);
    ASSERT_TRUE(port_.send_immediate(*connection_, transfer(bytes_.back()), what.immediate()));
    world_.run();
  }
  // It has room for this.
  void offer(const FrameHeader& header, std::uint32_t slot) {
    rdma::Announcement announcement;
    announcement.slot = slot;
    announcement.memory = {reinterpret_cast<std::uint64_t>(theirs_.data()), region_.remote_key};
    announcement.frame = header;
    std::vector<std::byte> body(rdma::Announcement::kBytes);
    write_announcement(announcement, body.data());
    send(MessageKind::kAnnounce, body);
  }
  void want(const FrameHeader& header) { ASSERT_TRUE(link_->announce(1, header, memory_.data())); }
  void post(const FrameHeader& header) { (void)link_->post(1, header, memory_.data(), nobody_); }
  void expect_refused(const char* why) {
    EXPECT_EQ(lost_, ESP_ERR_NETWORK);
    EXPECT_THAT(link_->describe(1), HasSubstr("rank 1 sent what no rank of this version sends: "));
    EXPECT_THAT(link_->describe(1), HasSubstr(why));
  }

  std::function<void()> on_frame_;   // in end()
  std::vector<std::string> seen_;    // by rank 1
  std::vector<FrameHeader> frames_;  // that came whole, to rank 0
  esp_status lost_ = ESP_OK;

 private:
  rdma::Transfer transfer(const std::vector<std::byte>& bytes) {
    // Longer ones would need memory that is registered.
    EXPECT_LE(bytes.size(), port_.inline_bytes());
    return {.local = bytes.data(), .bytes = bytes.size()};
  }

  void letter(Rank from, std::span<const std::byte> bytes) noexcept override {
    auto letter = rdma::parse_letter(bytes);
    ASSERT_TRUE(letter.ok());
    if (letter->kind != rdma::LetterKind::kRequest) return;
    connection_ = *port_.create();
    ASSERT_TRUE(port_.connect(*connection_, letter->end).ok());
    rdma::Letter reply = *letter;
    reply.kind = rdma::LetterKind::kReply;
    reply.end = port_.address(*connection_);
    letters_.postman(1).post(from, rdma::letter_bytes(reply));
  }
  void received(ConnectionId, rdma::Packet& packet) noexcept override {
    auto head = rdma::parse_head({packet.data, packet.bytes});
    ASSERT_TRUE(head.ok());
    const std::size_t places = (packet.bytes - MessageHead::kBytes) / rdma::Announcement::kBytes;
    if (head->kind == MessageKind::kAnnounce) {
      seen_.push_back("announce " + std::to_string(places));
    } else if (head->kind == MessageKind::kFrames) {
      const std::span<const std::byte> body(packet.data + MessageHead::kBytes,
                                            net::kFrameHeaderBytes);
      auto header = net::parse_frame(body.first<net::kFrameHeaderBytes>(), 1 << 20);
      ASSERT_TRUE(header.ok());
      seen_.emplace_back(header->kind == FrameKind::kGrant ? "grant" : "segment");
    }
    port_.repost(packet);
  }
  void received_immediate(ConnectionId, rdma::Packet& packet, std::uint32_t) noexcept override {
    seen_.emplace_back("headless");
    port_.repost(packet);
  }
  void placed(ConnectionId, std::uint32_t, std::uint32_t) noexcept override {
    seen_.emplace_back("placed");
  }
  void completed(ConnectionId, std::uint64_t) noexcept override {}
  void broken(ConnectionId, rdma::Fault) noexcept override {}
  void failed(ConnectionId, std::uint64_t, rdma::Fault) noexcept override {}

  std::byte* begin(Rank, const FrameHeader&) noexcept override { return memory_.data(); }
  void end(Rank, const FrameHeader& header, std::byte*) noexcept override {
    frames_.push_back(header);
    if (on_frame_) on_frame_();
  }
  void lost(Rank, const Status& why) noexcept override { lost_ = why.code(); }

  const sim::Machine machine_;
  const sim::Map map_;
  sim::World world_;
  sim::ConnectionNet net_;
  Letters letters_;
  sim::SimConnectionPort here_, port_;
  std::vector<std::byte> memory_, theirs_;
  std::unique_ptr<rdma::ConnectionLink> link_;
  rdma::Region region_;
  std::optional<ConnectionId> connection_;
  std::uint32_t next_ = 1, remark_ = 0;
  std::vector<std::vector<std::byte>> bytes_;
  Completion nobody_{[](Completion&, Status) noexcept {}};
};

std::uint8_t kept() {
  return static_cast<std::uint8_t>(1 + KnownHeaders::slot_of(segment(0, 0)));
}

TEST_F(Stranger, MayLeaveOutAHeaderThatWasKept) {
  send(MessageKind::kFrames, frame(segment(5, 3, 2), 3), kept());
  send_headless(0, 10);
  send_headless(2, 0);
  FrameHeader second = segment(5, 10, 2), third = segment(7, 0, 2);
  second.ordinal = 1;
  EXPECT_THAT(frames_, ElementsAre(segment(5, 3, 2), second, third));
  EXPECT_EQ(lost_, ESP_OK);
}

TEST_F(Stranger, MayNotLeaveOutAnother) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  send_headless(1, 3);
  expect_refused("3 bytes that follow header");
}

TEST_F(Stranger, MayNotGoOnBehindTheLastOfAFlow) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3), kept());
  send_headless(0, 3);
  expect_refused("3 bytes that follow header");
}

TEST_F(Stranger, MayNotLeaveOutAHeaderWithinAFrame) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3), kept());
  send(MessageKind::kFrames, frame(segment(6, 30), 10));
  send_headless(1, 20);
  expect_refused("20 bytes that follow header");
}

TEST_F(Stranger, MayNotHaveAHeaderKeptThatIsNotAlone) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3) + frame(segment(6, 3), 3), kept());
  expect_refused("a header to keep that is not a segment's of its own");
}

TEST_F(Stranger, MayNotHaveAHeaderKeptThatIsNoSegments) {
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.ordinal = 1;
  send(MessageKind::kFrames, frame(grant, 0), kept());
  expect_refused("a header to keep that is not a segment's of its own");
}

TEST_F(Stranger, MayNotAnnounceHalves) {
  send(MessageKind::kAnnounce, std::vector<std::byte>(rdma::Announcement::kBytes + 1));
  expect_refused("announcements of 53 bytes");
}

TEST_F(Stranger, MayNotAnnounceNothing) {
  send(MessageKind::kAnnounce, {});
  expect_refused("announcements of 0 bytes");
}

// Its next frame may be the answer to what is sent behind.
TEST_F(Stranger, HearsOfPlacesBeforeFrames) {
  on_frame_ = [&] {
    want(segment(90, 5000));
    post(segment(70, 8));
  };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "segment"));
  seen_.clear();
  offer(segment(71, 4000), 3);
  on_frame_ = [&] {
    post(segment(71, 4000));
    want(segment(91, 5000));
  };
  send(MessageKind::kFrames, frame(segment(6, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "placed"));
}

// Places of one flow: the first at once, then four at a time; before a permission all there are.
TEST_F(Stranger, HearsOfPlacesInTime) {
  FrameHeader header = segment(90, 5000, 100);
  const auto want_more = [&](int count) {
    for (; count > 0; --count, ++header.ordinal) want(header);
  };
  on_frame_ = [&] { want_more(8); };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 2", "announce 2", "announce 2", "announce 2"));
  seen_.clear();
  on_frame_ = [&] { want_more(3); };
  send(MessageKind::kFrames, frame(segment(6, 3), 3));
  EXPECT_THAT(seen_, ElementsAre());
  on_frame_ = [&] { want_more(1); };
  send(MessageKind::kFrames, frame(segment(7, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 2", "announce 2"));
  seen_.clear();
  on_frame_ = [&] {
    want_more(1);
    FrameHeader grant;
    grant.kind = FrameKind::kGrant;
    grant.flow = header.flow;
    grant.ordinal = header.ordinal;
    post(grant);
  };
  send(MessageKind::kFrames, frame(segment(8, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "grant"));
  // Outside of progress(), too.
  seen_.clear();
  on_frame_ = {};
  want_more(1);
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.flow = header.flow;
  grant.ordinal = header.ordinal;
  post(grant);
  send(MessageKind::kCredits, {});
  EXPECT_THAT(seen_, ElementsAre("announce 1", "grant"));
}

}  // namespace
}  // namespace espalier::test
