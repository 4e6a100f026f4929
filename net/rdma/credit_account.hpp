// CreditAccount: how many messages one connection may have under way, in both directions.
//
// Each side grants the other a window of packets of its receive queue. A message takes one; when
// its packet is posted again the receiver owes a credit, which goes back with its next message, or,
// once half of the window is owed, in a message of its own. The last credit is kept for that: two
// sides that have used up all others can still tell each other (proof: whoever waits has used all
// but one of a window, so its peer, who hands packets back as they come, owes at least half of it
// and sends it with the credit it kept; that message costs less than it brings).
//
// Value. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/assert.hpp"

namespace espalier::rdma {

class CreditAccount {
 public:
  static constexpr std::uint32_t kWindowMin = 4;

  CreditAccount() = default;
  // Windows: what the peer granted to this side, and what this side granted.
  CreditAccount(std::uint32_t to_send, std::uint32_t to_receive) noexcept
      : window_(to_send), granted_(to_receive), available_(to_send) {
    ESP_ASSERT(to_send >= kWindowMin && to_receive >= kWindowMin);
  }

  // Any message, or one that brings credits.
  bool may_send() const noexcept { return available_ > 1; }
  bool may_return() const noexcept { return available_ > 0; }
  void spend() noexcept {
    ESP_ASSERT(available_ > 0);
    --available_;
  }
  // Credits came back. False: more than were spent, which no honest peer says.
  [[nodiscard]] bool earn(std::uint32_t credits) noexcept {
    if (credits > window_ - available_) return false;
    available_ += credits;
    return true;
  }

  // A packet that the peer used has been posted again. False: the peer used more than it has.
  [[nodiscard]] bool consumed() noexcept { return ++owed_ <= granted_; }
  // It is time for a message of its own.
  bool must_return() const noexcept { return 2 * owed_ >= granted_; }
  // For the message that is being made, which has room for so many.
  std::uint16_t take_owed(std::uint16_t most = 0xffff) noexcept {
    const auto brought = static_cast<std::uint16_t>(std::min<std::uint32_t>(owed_, most));
    owed_ -= brought;
    return brought;
  }

  std::uint32_t available() const noexcept { return available_; }
  std::uint32_t owed() const noexcept { return owed_; }

 private:
  std::uint32_t window_ = 0, granted_ = 0;
  std::uint32_t available_ = 0;
  std::uint32_t owed_ = 0;
};

}  // namespace espalier::rdma
