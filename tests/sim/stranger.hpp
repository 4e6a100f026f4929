// StrangerNet: a ConnectionLink at rank 0, and at rank 1 a bare port that answers the handshake and
// sends whatever a test wants.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/rdma/connection_link.hpp"
#include "net/rdma/pulls.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "tests/harness/letters.hpp"
#include "tests/harness/sim_bed.hpp"
#include "tests/sim/frames.hpp"

namespace espalier::test {

class StrangerNet : private rdma::LetterBox, private rdma::ConnectionSink, private net::FrameSink {
 public:
  static constexpr std::uint64_t kPayloadMax = 1 << 16;

  // `pull_from_bytes`: rank 0 offers frames of so many bytes to be read.
  explicit StrangerNet(std::uint64_t pull_from_bytes = kNever)
      : bed_(2), net_(world_), letters_(world_), here_(net_, 0), port_(net_, 1) {
    world_.set_turn(
        [](void* self, Rank r) {
          auto& test = *static_cast<StrangerNet*>(self);
          if (r == 1) return (void)test.port_.poll(test, 64);
          while (test.link_->progress(test) > 0) {
          }
        },
        this);
    rdma::ConnectionOptions options;
    options.payload_max = kPayloadMax;
    options.place_from_bytes = 1000;
    options.pull_from_bytes = pull_from_bytes;
    link_ = std::move(
        *rdma::ConnectionLink::create(here_, letters_.postman(0), world_.clock(0), 0, 2, options));
    letters_.postman(1).deliver_to(this);
    for (auto* memory : {&memory_, &theirs_}) memory->resize(kPayloadMax);
    EXPECT_TRUE(link_->memory().add(memory_.data(), memory_.size()).ok());
    port_.provide(port_.receive_depth());
    region_ = *port_.enroll(theirs_.data(), theirs_.size());
    link_->reach(1);
    world_.run();
    EXPECT_TRUE(link_->up(1));
  }
  virtual ~StrangerNet() {
    letters_.postman(1).deliver_to(nullptr);
    link_.reset();
    port_.withdraw(region_);
  }

  // As rank 1 sends them: counted messages, and others.
  std::vector<std::byte> message(rdma::MessageKind kind, const std::vector<std::byte>& body,
                                 std::uint8_t keep = 0, std::uint16_t credits = 0) {
    using Kind = rdma::MessageKind;
    const bool counted = kind == Kind::kFrames || kind == Kind::kGoodbye || kind == Kind::kFetched;
    std::vector<std::byte> head(rdma::MessageHead::kBytes);
    rdma::write_head({kind, keep, credits, counted ? next_++ : remark_++}, head.data());
    return head + body;
  }
  void send(rdma::MessageKind kind, const std::vector<std::byte>& body, std::uint8_t keep = 0,
            std::uint16_t credits = 0) {
    send_bytes(message(kind, body, keep, credits));
  }
  void send_bytes(std::vector<std::byte> bytes) {
    bytes_ = std::move(bytes);
    ASSERT_TRUE(port_.send(*connection_, transfer(bytes_)));
    world_.run();
  }
  void send_headless(std::uint32_t step, std::uint64_t bytes) {
    const std::uint32_t slot = rdma::KnownHeaders::slot_of(segment(0, 0));
    send_immediate(rdma::Headless(slot, step, next_++, false, 0).immediate(), bytes);
  }
  void send_immediate(std::uint32_t immediate, std::uint64_t bytes) {
    bytes_.assign(bytes, std::byte{9});
    ASSERT_TRUE(port_.send_immediate(*connection_, transfer(bytes_), immediate));
    world_.run();
  }
  // Says that it has placed a frame.
  void place(std::uint32_t slot) {
    write_immediate(rdma::Placement(slot, next_++, false, 0).immediate());
  }
  void write_immediate(std::uint32_t immediate) {
    bytes_.clear();
    ASSERT_TRUE(port_.write(*connection_, transfer(bytes_), {}, true, immediate));
    world_.run();
  }
  std::vector<std::byte> offer_of(const net::FrameHeader& header, std::uint32_t slot,
                                  std::uint32_t serial = 0) {
    rdma::Announcement announcement;
    announcement.slot = slot;
    announcement.serial = serial;
    announcement.memory = {reinterpret_cast<std::uint64_t>(theirs_.data()), region_.remote_key};
    announcement.frame = header;
    std::vector<std::byte> body(rdma::Announcement::kBytes);
    write_announcement(announcement, body.data());
    return body;
  }
  // It has room for this.
  void offer(const net::FrameHeader& header, std::uint32_t slot) {
    send(rdma::MessageKind::kAnnounce, offer_of(header, slot));
  }
  void retire(std::uint32_t slot) {
    std::vector<std::byte> body(sizeof slot);
    std::memcpy(body.data(), &slot, sizeof slot);
    send(rdma::MessageKind::kRetire, body);
  }
  // This may be read there.
  void offer_to_read(const net::FrameHeader& header, std::uint32_t slot, std::uint32_t serial) {
    send(rdma::MessageKind::kReadable, offer_of(header, slot, serial));
  }
  std::vector<std::byte> answer_of(std::uint32_t slot, std::uint32_t how) {
    const std::array<std::uint32_t, 2> answer = {slot, how};
    std::vector<std::byte> body(sizeof answer);
    std::memcpy(body.data(), answer.data(), sizeof answer);
    return body;
  }
  std::vector<std::byte> expected_of(std::uint64_t expected) {
    std::vector<std::byte> body(sizeof expected);
    std::memcpy(body.data(), &expected, sizeof expected);
    return body;
  }
  std::uint64_t got() const { return got_; }
  void say_goodbye() { send(rdma::MessageKind::kGoodbye, expected_of(got_ + 1)); }
  // What rank 0 has offered has been read (1), or is to be sent (2).
  void answer(std::uint32_t slot, std::uint32_t how) {
    send(rdma::MessageKind::kFetched, answer_of(slot, how));
  }
  // A request for the connection after the present one, as it should be.
  rdma::Letter request() {
    rdma::Letter letter;
    letter.kind = rdma::LetterKind::kRequest;
    letter.epoch = epoch_ + 1;
    letter.window = 32;
    letter.expected = got_ + 1;
    letter.end = port_.address(*connection_);
    return letter;
  }
  // Asks for a new connection, and makes it.
  void renew() {
    pending_ = *port_.create();
    rdma::Letter letter = request();
    letter.end = port_.address(*pending_);
    post_letter(letter_bytes(letter));
  }
  void post_letter(std::span<const std::byte> bytes) {
    letters_.postman(1).post(0, bytes);
    world_.run();
  }
  bool want(const net::FrameHeader& header) { return link_->announce(1, header, memory_.data()); }
  void post(const net::FrameHeader& header) {
    (void)link_->post(1, header, memory_.data(), nobody_);
  }
  void run() { world_.run(); }
  void pass(std::uint64_t ns) {
    world_.wake_at(0, world_.now_ns() + ns);
    world_.run();
  }
  std::string story() const { return link_->describe(1); }
  std::uint64_t connections() const { return link_->statistics().connections; }
  std::uint64_t pulled() const { return link_->statistics().pulled; }

  void expect_refused(const char* why) const {
    EXPECT_EQ(lost_, ESP_ERR_NETWORK);
    EXPECT_THAT(story(), ::testing::HasSubstr("rank 1 sent what no rank of this version sends: "));
    EXPECT_THAT(story(), ::testing::HasSubstr(why));
  }

  bool deaf_ = false;                     // to replies
  std::function<void()> on_frame_;        // in end()
  std::vector<std::string> seen_;         // by rank 1
  std::vector<net::FrameHeader> frames_;  // that came whole, to rank 0
  esp_status lost_ = ESP_OK;
  std::vector<std::uint32_t> slots_;     // that rank 0 has announced
  std::vector<std::uint32_t> readable_;  // ... has offered to be read

 private:
  rdma::Transfer transfer(const std::vector<std::byte>& bytes) {
    // Longer ones would need memory that is registered.
    EXPECT_LE(bytes.size(), port_.inline_bytes());
    return {.local = bytes.data(), .bytes = bytes.size(), .signaled = true};
  }

  void letter(Rank from, std::span<const std::byte> bytes) noexcept override {
    auto letter = rdma::parse_letter(bytes);
    ASSERT_TRUE(letter.ok());
    epoch_ = letter->epoch;
    if (letter->kind == rdma::LetterKind::kReply && pending_) {
      return deaf_ ? void() : join(from, *letter);
    }
    if (letter->kind != rdma::LetterKind::kRequest) return;
    pending_.reset();
    connection_ = *port_.create();
    ASSERT_TRUE(port_.connect(*connection_, letter->end).ok());
    remark_ = 0;
    slots_.clear();
    readable_.clear();
    rdma::Letter reply = *letter;
    reply.kind = rdma::LetterKind::kReply;
    reply.expected = got_ + 1;
    reply.end = port_.address(*connection_);
    letters_.postman(1).post(from, rdma::letter_bytes(reply));
  }
  void join(Rank from, const rdma::Letter& reply) noexcept {
    connection_ = *std::exchange(pending_, {});
    ASSERT_TRUE(port_.connect(*connection_, reply.end).ok());
    remark_ = 0;
    slots_.clear();
    readable_.clear();
    rdma::Letter ready;
    ready.kind = rdma::LetterKind::kReady;
    ready.epoch = reply.epoch;
    letters_.postman(1).post(from, rdma::letter_bytes(ready));
  }
  void received(rdma::ConnectionId, rdma::Packet& packet) noexcept override {
    auto head = rdma::parse_head({packet.data, packet.bytes});
    ASSERT_TRUE(head.ok());
    const std::size_t places =
        (packet.bytes - rdma::MessageHead::kBytes) / rdma::Announcement::kBytes;
    if (head->kind == rdma::MessageKind::kAnnounce) {
      seen_.push_back("announce " + std::to_string(places));
      for (std::size_t i = 0; i < places; ++i) {
        const std::size_t at = rdma::MessageHead::kBytes + i * rdma::Announcement::kBytes;
        slots_.push_back(static_cast<std::uint32_t>(packet.data[at]));
      }
    } else if (head->kind == rdma::MessageKind::kReadable) {
      seen_.emplace_back("readable");
      readable_.push_back(static_cast<std::uint32_t>(packet.data[rdma::MessageHead::kBytes]));
    } else if (head->kind == rdma::MessageKind::kFetched) {
      ++got_;
      const auto how = static_cast<unsigned>(packet.data[rdma::MessageHead::kBytes + 4]);
      seen_.push_back("answer " + std::to_string(how));
    } else if (head->kind == rdma::MessageKind::kFrames) {
      ++got_;
      const std::span<const std::byte> body(packet.data + rdma::MessageHead::kBytes,
                                            net::kFrameHeaderBytes);
      auto header = net::parse_frame(body.first<net::kFrameHeaderBytes>(), kPayloadMax);
      const bool grant = header.ok() && header->kind == net::FrameKind::kGrant;
      seen_.emplace_back(grant ? "grant" : "segment");
    }
    port_.repost(packet);
  }
  void received_immediate(rdma::ConnectionId, rdma::Packet& packet,
                          std::uint32_t) noexcept override {
    ++got_;
    seen_.emplace_back("headless");
    port_.repost(packet);
  }
  void placed(rdma::ConnectionId, std::uint32_t, std::uint32_t) noexcept override {
    ++got_;
    seen_.emplace_back("placed");
  }
  void completed(rdma::ConnectionId, std::uint64_t) noexcept override {}
  void broken(rdma::ConnectionId, rdma::Fault) noexcept override {}
  void failed(rdma::ConnectionId, std::uint64_t, rdma::Fault) noexcept override {}

  // No receive is posted that want() has not announced.
  bool expects(Rank, const net::FrameHeader&) const noexcept override { return false; }
  std::byte* begin(Rank, const net::FrameHeader& header) noexcept override {
    EXPECT_LE(header.bytes, kPayloadMax);
    return memory_.data();
  }
  void end(Rank, const net::FrameHeader& header, std::byte*) noexcept override {
    frames_.push_back(header);
    if (on_frame_) on_frame_();
  }
  void lost(Rank, const Status& why) noexcept override { lost_ = why.code(); }

  SimBed bed_;
  sim::World& world_ = bed_.world;
  sim::ConnectionNet net_;
  Letters letters_;
  sim::SimConnectionPort here_, port_;
  std::vector<std::byte> memory_, theirs_;
  std::unique_ptr<rdma::ConnectionLink> link_;
  rdma::Region region_;
  std::optional<rdma::ConnectionId> connection_, pending_;
  std::uint32_t next_ = 1, remark_ = 0, epoch_ = 0;
  std::uint64_t got_ = 0;  // counted messages
  std::vector<std::byte> bytes_;
  Completion nobody_{[](Completion&, Status) noexcept {}};
};

class Stranger : public ::testing::Test, protected StrangerNet {
 protected:
  using StrangerNet::StrangerNet;
};

}  // namespace espalier::test
