// News: what members of a team on different nodes tell each other, in one message of fixed layout.
//
// Who has called what lately (the calls rings that members on one node read on the board), whom the
// sender waits for, and whether the team is broken. Bytes from elsewhere are not trusted:
// parse_news() answers nothing for what no sender of this version writes. Values. path: slow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "coll/team/board.hpp"
#include "core/messenger.hpp"

namespace espalier {

// The last calls of one member: operations last - count + 1 .. last.
struct CallRing {
  Rank rank = kNoRank;  // in the job
  std::uint32_t count = 0;
  std::uint64_t last = 0;
  std::array<CallSignature, Board::kCalls> calls = {};  // operation s at s % kCalls

  // False: not in the ring.
  bool read(std::uint64_t sequence, CallSignature& signature) const noexcept {
    if (sequence > last || sequence + count <= last) return false;
    signature = calls[sequence % calls.size()];
    return true;
  }
};

struct News {
  static constexpr std::uint8_t kQuestion = 1;  // please answer with yours
  static constexpr std::uint8_t kLeaving = 2;   // the sender calls nothing more
  static constexpr std::uint8_t kFreed = 4;     // ... on this team, which it has freed
  static constexpr std::size_t kRings = 2;

  MessageKind kind = MessageKind::kNews;
  std::uint8_t flags = 0;
  std::uint16_t fault_code = 0;  // esp_status; 0: the team is sound
  Rank fault_rank = kNoRank;
  Rank fault_by = kNoRank;  // who has found it
  std::uint32_t team = 0;
  Rank waits_for = kNoRank;            // the sender, in its last operation: its blame ...
  std::uint64_t blame_age_ns = 0;      // ... and how long ago that was found
  std::array<CallRing, kRings> rings;  // the sender's, and one that differs from it; or nobody's

  Report fault() const noexcept {
    return {Status(static_cast<esp_status>(fault_code), fault_rank), fault_by};
  }
  void set_fault(const Report& fault) noexcept {
    fault_code = static_cast<std::uint16_t>(fault.status.code());
    fault_rank = fault.status.rank();
    fault_by = fault.by;
  }
};
static_assert(sizeof(CallRing) == 272 && sizeof(News) == 576);

std::span<const std::byte> news_bytes(const News& news) noexcept;
std::optional<News> parse_news(std::span<const std::byte> bytes, int job_size) noexcept;

}  // namespace espalier
