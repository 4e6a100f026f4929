#include "net/verbs/group_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "net/verbs/choice.hpp"

namespace espalier::verbs {
namespace {

constexpr std::size_t kIpv4At = 12;

// What speaks against it; empty: nothing.
std::string flaw_of(const multicast::GroupAddress& group) {
  const GidBytes gid = gid_of(group);
  if (!stands_for_ipv4(gid)) return "it stands for no IPv4 address";
  if ((gid[kIpv4At] & 0xF0) != 0xE0) return "it is not in 224.0.0.0/4";
  if (gid[kIpv4At] == 224 && gid[kIpv4At + 1] == 0 && gid[kIpv4At + 2] == 0) {
    return "224.0.0.0/24 is for the network's own protocols";
  }
  if (group.key > kQKeyMask) return fmt::format("the key {:#x} is one of the kernel", group.key);
  return "";
}

}  // namespace

multicast::GroupAddress group_address(const Ipv4& address, std::uint32_t key) noexcept {
  multicast::GroupAddress group{.gid = {}, .key = key};
  group.gid[kIpv4At - 2] = group.gid[kIpv4At - 1] = std::byte{0xFF};
  std::memcpy(group.gid.data() + kIpv4At, address.data(), address.size());
  return group;
}

GidBytes gid_of(const multicast::GroupAddress& group) noexcept {
  GidBytes gid;
  std::memcpy(gid.data(), group.gid.data(), gid.size());
  return gid;
}

std::string group_text(const multicast::GroupAddress& group) {
  return gid_text(gid_of(group));
}

Outcome check_group(const multicast::GroupAddress& group) {
  const std::string flaw = flaw_of(group);
  if (flaw.empty()) return Unit{};
  return error(ESP_ERR_ARGUMENT,
               fmt::format("{} is no multicast group: {}", group_text(group), flaw));
}

}  // namespace espalier::verbs
