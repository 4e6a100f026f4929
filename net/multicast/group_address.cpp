#include "net/multicast/group_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace espalier::multicast {
namespace {

constexpr std::size_t kIpv4At = 12;

bool is_mapped_ipv4(const GroupAddress& group) noexcept {
  const GroupAddress zero = group_address({}, 0);
  return std::equal(group.gid.begin(), group.gid.begin() + kIpv4At, zero.gid.begin());
}

// What speaks against it; empty: nothing.
std::string flaw_of(const GroupAddress& group) {
  if (!is_mapped_ipv4(group)) return "it stands for no IPv4 address";
  const Ipv4 address = ipv4_of(group);
  if ((address[0] & 0xF0) != 0xE0) return "it is not in 224.0.0.0/4";
  if (address[0] == 224 && address[1] == 0 && address[2] == 0) {
    return "224.0.0.0/24 is for the network's own protocols";
  }
  if (group.key > kGroupKeyMax) return fmt::format("the key {:#x} is one of the kernel", group.key);
  return "";
}

}  // namespace

GroupAddress group_address(const Ipv4& address, std::uint32_t key) noexcept {
  GroupAddress group{.gid = {}, .key = key};
  group.gid[kIpv4At - 2] = group.gid[kIpv4At - 1] = std::byte{0xFF};
  std::memcpy(group.gid.data() + kIpv4At, address.data(), address.size());
  return group;
}

Ipv4 ipv4_of(const GroupAddress& group) noexcept {
  Ipv4 address;
  std::memcpy(address.data(), group.gid.data() + kIpv4At, address.size());
  return address;
}

std::string group_text(const GroupAddress& group) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool ipv4 = is_mapped_ipv4(group);
  inet_ntop(ipv4 ? AF_INET : AF_INET6, group.gid.data() + (ipv4 ? kIpv4At : 0), text, sizeof text);
  return text;
}

Outcome check_group(const GroupAddress& group) {
  const std::string flaw = flaw_of(group);
  if (flaw.empty()) return Unit{};
  return error(ESP_ERR_ARGUMENT,
               fmt::format("{} is no multicast group: {}", group_text(group), flaw));
}

}  // namespace espalier::multicast
