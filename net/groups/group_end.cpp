#include "net/groups/group_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace espalier::net {
namespace {

constexpr std::uint32_t kErrnoMax = 4095;

}  // namespace

GroupEnd::Bytes GroupEnd::bytes() const noexcept {
  Bytes made;
  const auto number = static_cast<std::uint32_t>(why);
  std::memcpy(made.data(), &number, sizeof number);
  std::memcpy(made.data() + 4, &rank, sizeof rank);
  std::memcpy(made.data() + 8, &detail, sizeof detail);
  return made;
}

std::optional<GroupEnd> GroupEnd::parse(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != kBytes) return std::nullopt;
  GroupEnd end;
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  std::memcpy(&end.rank, bytes.data() + 4, sizeof end.rank);
  std::memcpy(&end.detail, bytes.data() + 8, sizeof end.detail);
  if (number == 0 || number > static_cast<std::uint32_t>(Why::kFault)) return std::nullopt;
  end.why = static_cast<Why>(number);
  return end;
}

std::string GroupEnd::text() const {
  switch (why) {
    case Why::kNone:
      return "it is used";
    case Why::kNoGroups:
      return "the network has no groups";
    case Why::kRefused:
      if (detail == 0) return fmt::format("rank {} could not join", rank);
      return fmt::format("rank {} could not join: {}", rank,
                         std::strerror(static_cast<int>(std::min(detail, kErrnoMax))));
    case Why::kLoss:
      return fmt::format("{} of 1000 packets were lost on the way to rank {}", detail, rank);
    case Why::kGivesWay:
      return fmt::format("it gave way to another team's, rank {} had no room", rank);
    case Why::kLost:
      return fmt::format("rank {} is lost", rank);
    case Why::kFault:
      return fmt::format("the port of rank {} has failed", rank);
  }
  return "unknown";
}

}  // namespace espalier::net
