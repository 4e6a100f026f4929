// Copies that belong to no plan: when they end, how often they are tried, and what an end of the
// job makes of them.
#include "coll/device/staged_copies.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace espalier {
namespace {

// Answers as it is told, and carries out when it is told.
class ObedientMover final : public Mover {
 public:
  Posted move(const Move&, Completion&) noexcept override { return Posted::kDone; }
  Posted repack(const Repack& what, Completion& op) noexcept override {
    ++asked;
    if (answer == Posted::kPending) pending.emplace_back(what, &op);
    if (answer == Posted::kDone) carry_out(what);
    return answer;
  }
  std::byte* allocate(std::uint64_t) noexcept override { return nullptr; }
  void release(std::byte*, std::uint64_t) noexcept override {}
  std::string why() const override { return ""; }
  void cancel(Completion& op) noexcept override {
    std::erase_if(pending, [&](const auto& one) { return one.second == &op; });
  }
  void complete(Status status) {
    const auto [what, op] = pending.front();
    pending.erase(pending.begin());
    if (status.ok()) carry_out(what);
    op->complete(status);
  }

  Posted answer = Posted::kPending;
  int asked = 0;
  std::vector<std::pair<Repack, Completion*>> pending;

 private:
  static void carry_out(const Repack& what) {
    if (what.packs) what.pattern->pack(what.run, what.elements, what.at, what.bytes);
    if (!what.packs) what.pattern->unpack(what.elements, what.run, what.at, what.bytes);
  }
};

struct EndedCopies {
  std::vector<esp_status> codes;
  Finish finish() {
    return {[](void* context, Status status) noexcept {
              static_cast<EndedCopies*>(context)->codes.push_back(status.code());
            },
            this};
  }
};

class StagedCopy : public ::testing::Test {
 protected:
  Repack packing() {
    return {.pattern = &bytes,
            .elements = from.data(),
            .run = to.data(),
            .bytes = from.size(),
            .packs = true};
  }

  Pattern bytes = Pattern::plain(ESP_BYTE);
  std::array<std::byte, 4> from = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}, to = {};
  ObedientMover mover;
  StagedCopies copies{mover};
  EndedCopies ended;
};

TEST_F(StagedCopy, WhatIsDoneAtOnceIsNotTold) {
  mover.answer = Posted::kDone;
  const Engine::Started started = copies.start(packing(), ended.finish());
  EXPECT_TRUE(started.done && started.status.ok());
  EXPECT_EQ(to, from);
  EXPECT_TRUE(ended.codes.empty());
}

TEST_F(StagedCopy, EachEndsOnceAsItsMoverSays) {
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  EXPECT_EQ(copies.progress(), 0);
  mover.complete(ESP_ERR_DEVICE);
  EXPECT_NE(to, from);
  mover.complete({});
  EXPECT_EQ(to, from);
  EXPECT_EQ(ended.codes, (std::vector{ESP_ERR_DEVICE, ESP_OK}));
}

TEST_F(StagedCopy, WhatFindsNoRoomIsTriedAgain) {
  mover.answer = Posted::kRetry;
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  EXPECT_EQ(copies.progress(), 0);
  EXPECT_EQ(mover.asked, 3) << "the first that waits is asked for alone";
  mover.answer = Posted::kPending;
  EXPECT_EQ(copies.progress(), 2);
  EXPECT_TRUE(ended.codes.empty());
  mover.complete({});
  mover.complete({});
  EXPECT_EQ(copies.progress(), 0);
  EXPECT_EQ(ended.codes, (std::vector{ESP_OK, ESP_OK}));
}

TEST_F(StagedCopy, AfterTheEndThereAreNone) {
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  mover.answer = Posted::kRetry;
  EXPECT_FALSE(copies.start(packing(), ended.finish()).done);
  copies.close();
  EXPECT_TRUE(mover.pending.empty());
  EXPECT_EQ(ended.codes, (std::vector{ESP_ERR_CANCELED, ESP_ERR_CANCELED}));
  const Engine::Started late = copies.start(packing(), ended.finish());
  EXPECT_TRUE(late.done);
  EXPECT_EQ(late.status.code(), ESP_ERR_CANCELED);
}

}  // namespace
}  // namespace espalier
