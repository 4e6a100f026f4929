// The protocol of messages by tag, by what comes in when: ends that no other rank causes.
#include "tags/tag_messages.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

namespace espalier {
namespace {

constexpr std::uint64_t kTagTimeoutNs = 1000;
constexpr unsigned kNameShift = 48;  // of a ready's argument: tags/tag_state.hpp

// Nothing ever goes on.
class IdleWire final : public Wire {
 public:
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send&, SendOp&) noexcept override { return Posted::kPending; }
  Posted publish(const Send&, const Group&, SendOp&) noexcept override { return Posted::kPending; }
  Posted recv(const SegmentId&, std::uint32_t, RecvOp&) noexcept override {
    return Posted::kPending;
  }
  void release(RecvOp&) noexcept override {}
  void cancel(RecvOp&) noexcept override {}
  void cancel(SendOp&) noexcept override {}
  int progress() noexcept override { return 0; }
};

struct SentOwn {
  ActiveMessage message;
  std::vector<std::byte> payload;
};

// Takes all at once, and keeps it.
class KeptMail final : public MessageSender {
 public:
  Result<bool> send_own(Rank, const ActiveMessage& message, const Finish&) override {
    const auto* payload = static_cast<const std::byte*>(message.payload);
    sent.push_back({message, {payload, payload + message.bytes}});
    return true;
  }
  bool send_own_now(Rank to, const ActiveMessage& message) noexcept override {
    return *send_own(to, message, {});
  }
  std::vector<SentOwn> sent;
};

class AllLive final : public Liveness {
 public:
  bool is_dead(Rank) noexcept override { return false; }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }
};

// Rank 0 of two.
class TagProtocol : public ::testing::Test {
 protected:
  TagProtocol() {
    auto membership = std::make_shared<Membership>();
    membership->ranks = {0, 1};
    team_.id = 5;
    team_.wire = &wire_;
    team_.segment_limit = 4096;
    team_.set_membership(0, std::move(membership));
  }
  ~TagProtocol() override {
    engine_.cancel(team_);
    tags_.close();
  }

  struct End {
    int count = 0;
    Status status;
  };
  static Finish to(End& end) {
    return {[](void* context, Status status) noexcept {
              ++static_cast<End*>(context)->count;
              static_cast<End*>(context)->status = status;
            },
            &end};
  }
  // Of the last message, which announced a send.
  std::uint64_t announced_name() const {
    std::uint64_t words[2];
    EXPECT_EQ(mail_.sent.back().message.id, kTagAnnounced);
    std::memcpy(words, mail_.sent.back().payload.data(), sizeof words);
    return words[1];
  }
  void come_ready(std::uint64_t bytes, std::uint64_t name) {
    ActiveMessage ready{kTagReady, bytes | name << kNameShift};
    ready.context = static_cast<std::uint32_t>(name >> 16);
    EXPECT_TRUE(tags_.take(1, ready));
  }

  IdleWire wire_;
  Counters counters_;
  Trace trace_;
  Tuning tuning_;
  Log log_{LogLevel::kError};
  AllLive live_;
  Team team_;
  Engine engine_{counters_, trace_, tuning_};
  TeamWatch watch_{engine_, live_, log_, {0, kTagTimeoutNs}};
  KeptMail mail_;
  TagMessages tags_{{engine_,
                     mail_,
                     live_,
                     counters_,
                     log_,
                     0,
                     {64, 4096, 4096},
                     {0, kTagTimeoutNs},
                     watch_,
                     [](const Finish&) noexcept { return true; }}};
  std::vector<std::byte> memory_ = std::vector<std::byte>(1000);
};

// Its receiver may find it later and post a flow, for which there is no message any more: the next
// one would be taken for it.
TEST_F(TagProtocol, ASendThatWaitsTooLongTakesItsTeamAlong) {
  End end;
  const TagSending sending{team_, 1, 7, {memory_.data(), memory_.size(), nullptr}, false};
  auto started = tags_.send(sending, to(end));
  ASSERT_TRUE(started.ok() && !started->done);
  tags_.look(0, kTagTimeoutNs);
  EXPECT_EQ(end.count, 0);
  tags_.look(0, 3 * kTagTimeoutNs);
  EXPECT_EQ(end.count, 1);
  EXPECT_EQ(end.status.code(), ESP_ERR_TIMEOUT);
  EXPECT_TRUE(team_.failed());
  EXPECT_EQ(team_.fault.code(), ESP_ERR_TIMEOUT);
  come_ready(memory_.size(), announced_name());
  EXPECT_EQ(team_.tagged, 0U);
}

// A text says which tag is wanted, and never one that nobody has asked for.
TEST_F(TagProtocol, TextsSayWhichTagsWouldDo) {
  struct Case {
    std::uint64_t tag, mask;
    const char* text;
  };
  constexpr std::uint64_t kUpperHalf = ~std::uint64_t{UINT32_MAX};
  std::vector<std::string> said;
  tags_.on_failure(
      [](void* context, std::string text) {
        static_cast<std::vector<std::string>*>(context)->push_back(std::move(text));
      },
      &said);
  for (const Case& one :
       {Case{0x1234, ESP_TAG_EXACT, "with tag 4660 from"}, Case{0x1234, 0, "with any tag from"},
        Case{0x1234, kUpperHalf, "with any tag from"},
        Case{0x1234, 0xff, "with tag 0x34 in bits 0xff from"}}) {
    End end;
    TagMessages::Receive* posted = nullptr;
    const TagReceiving receiving{team_,  1, one.tag, one.mask, {memory_.data(), 1, nullptr},
                                 nullptr};
    ASSERT_TRUE(tags_.receive(receiving, to(end), posted).ok());
    tags_.look(0, kTagTimeoutNs);
    tags_.look(0, 3 * kTagTimeoutNs);
    ASSERT_EQ(end.count, 1);
    ASSERT_FALSE(said.empty());
    EXPECT_NE(said.back().find(one.text), std::string::npos) << said.back();
    EXPECT_NE(said.back().find("TIMEOUT="), std::string::npos) << said.back();
  }
}

TEST_F(TagProtocol, AReceiveThatWaitsTooLongLeavesItsTeamWhole) {
  End end;
  TagMessages::Receive* posted = nullptr;
  const TagReceiving receiving{team_, 1, 7, ESP_TAG_EXACT, {memory_.data(), 10, nullptr}, nullptr};
  ASSERT_TRUE(tags_.receive(receiving, to(end), posted).ok());
  tags_.look(0, kTagTimeoutNs);
  tags_.look(0, 3 * kTagTimeoutNs);
  EXPECT_EQ(end.count, 1);
  EXPECT_EQ(end.status.code(), ESP_ERR_TIMEOUT);
  EXPECT_FALSE(team_.failed());
  EXPECT_TRUE(tags_.nothing_waits());
}

// More than there is: nobody touches it.
TEST_F(TagProtocol, ASendThatCannotBePackedEnds) {
#ifdef ESPALIER_SANITIZED
  GTEST_SKIP() << "sanitizers end a program that asks for so much";
#endif
  const Pattern apart = *Pattern::strided(ESP_BYTE, 2, 1, 2, 4);
  End end;
  constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 46;
  const TagSending sending{team_, 1, 7, {memory_.data(), kAbsurd, &apart}, false};
  auto started = tags_.send(sending, to(end));
  ASSERT_TRUE(started.ok() && !started->done);
  come_ready(kAbsurd, announced_name());
  EXPECT_EQ(end.count, 1);
  EXPECT_EQ(end.status.code(), ESP_ERR_NO_MEMORY);
  EXPECT_TRUE(team_.failed());
  EXPECT_EQ(team_.tagged, 0U);
}

// What answers no announcement of this rank is dropped.
TEST_F(TagProtocol, AnswersThatFitNoSendAreDropped) {
  End end;
  const TagSending sending{team_, 1, 7, {memory_.data(), memory_.size(), nullptr}, false};
  ASSERT_TRUE(tags_.send(sending, to(end)).ok());
  const std::uint64_t name = announced_name();
  come_ready(0, name + 1);
  come_ready(0, name + (std::uint64_t{1} << 16));
  come_ready(memory_.size() + 1, name);
  ActiveMessage ready{kTagReady, name << kNameShift};
  EXPECT_TRUE(tags_.take(0, ready)) << "of another rank";
  EXPECT_TRUE(tags_.take(1, {kTagTaken, ~std::uint64_t{0}})) << "more than was sent";
  EXPECT_EQ(end.count, 0);
  come_ready(0, name);
  EXPECT_EQ(end.count, 1);
  EXPECT_TRUE(end.status.ok());
  come_ready(0, name);
  EXPECT_EQ(end.count, 1);
}

}  // namespace
}  // namespace espalier
