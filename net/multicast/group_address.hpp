// Addresses of multicast groups: an IPv4 address of 224.0.0.0/4, as a GID of RoCE version 2
// (::ffff:239.1.2.3), and the key of the group's packets (on RDMA their Q_Key; UDP has none).
// Members agree on both.
//
// Values. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "net/multicast/group_port.hpp"

namespace espalier::multicast {

using Ipv4 = std::array<std::uint8_t, 4>;

inline constexpr std::uint32_t kGroupKeyMax = 0x7FFFFFFF;  // above: for privileged senders

GroupAddress group_address(const Ipv4& address, std::uint32_t key) noexcept;
// Of an address that has been checked.
Ipv4 ipv4_of(const GroupAddress& group) noexcept;
// "239.1.2.3"
std::string group_text(const GroupAddress& group);

// They come from elsewhere: an error says what is wrong with one.
Outcome check_group(const GroupAddress& group);

}  // namespace espalier::multicast
