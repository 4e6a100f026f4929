// GroupEnd: why a group of the network is not used any more, or never was; for people, and as it
// travels from member to member. Values. path: slow
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/status.hpp"

namespace espalier::net {

struct GroupEnd {
  enum class Why : std::uint32_t {
    kNone,      // it is used
    kNoGroups,  // the network has none
    kRefused,   // `rank` could not join; `detail`: errno, 0: it has no room
    kLoss,      // `detail` of 1,000 packets were lost on the way to `rank`
    kGivesWay,  // `rank` has no room for another group
    kLost,      // `rank` is lost
    kFault,     // the port of `rank` has failed
  };
  static constexpr std::size_t kBytes = 12;
  using Bytes = std::array<std::byte, kBytes>;

  Why why = Why::kNone;
  Rank rank = kNoRank;
  std::uint32_t detail = 0;

  Bytes bytes() const noexcept;
  static std::optional<GroupEnd> parse(std::span<const std::byte> bytes) noexcept;
  std::string text() const;  // "rank 3 could not join: No buffer space available"
  friend bool operator==(const GroupEnd&, const GroupEnd&) = default;
};

}  // namespace espalier::net
