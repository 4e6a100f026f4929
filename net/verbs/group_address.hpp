// Addresses of multicast groups: an IPv4 address of 224.0.0.0/4, as a GID of RoCE version 2
// (::ffff:239.1.2.3), and the Q_Key of the group's packets. Members agree on both.
//
// Knows no libibverbs. Values. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "net/multicast/group_port.hpp"
#include "net/verbs/address.hpp"

namespace espalier::verbs {

using Ipv4 = std::array<std::uint8_t, 4>;

multicast::GroupAddress group_address(const Ipv4& address, std::uint32_t key) noexcept;
GidBytes gid_of(const multicast::GroupAddress& group) noexcept;
// "239.1.2.3"
std::string group_text(const multicast::GroupAddress& group);

// They come from elsewhere: an error says what is wrong with one.
Outcome check_group(const multicast::GroupAddress& group);

}  // namespace espalier::verbs
