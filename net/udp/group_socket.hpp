// GroupSocket: a UDP socket that is a member of an IPv4 multicast group, bound to its address and
// port, so that groups that share a port do not mix.
//
// Its depth is what its buffer holds for certain. The kernel charges a datagram for all the memory
// that it lies in, a small one for many times its bytes; up to a quarter of the buffer may be
// charged to datagrams that were read already; and net.core.rmem_max caps the buffer.
//
// Threads: owner. path: setup
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.hpp"
#include "core/log.hpp"
#include "core/status.hpp"
#include "net/multicast/group_port.hpp"
#include "net/tcp/interfaces.hpp"

namespace espalier::net {

inline constexpr std::uint32_t kUdpBytesMax = 65535 - 28;  // without IP's header and its own

struct UdpGroupOptions {
  Interface interface;          // its address is IPv4
  std::uint32_t mtu_bytes = 0;  // of the interface; 0: the kernel is asked
  multicast::GroupAddress group;
  std::uint16_t port = 0;          // UDP's: members agree on it
  std::uint32_t packet_bytes = 0;  // 0: what the MTU carries without fragments
  std::uint32_t receive_packets = 512;
  std::uint32_t send_packets = 256;
  std::uint32_t send_depth = 128;  // sends that the kernel has not taken
};

// The largest packets that are worth it: one frame; on loopback the largest that the kernel keeps
// in 8 KiB together with its own.
std::uint32_t udp_packet_bytes(std::uint32_t mtu_bytes, bool loopback) noexcept;

// Datagrams of at most so many bytes that a buffer (as getsockopt gives it) has room for, whatever
// the driver; at least 1.
std::uint32_t datagrams_held(std::uint64_t buffer_bytes, std::uint32_t packet_bytes,
                             bool loopback) noexcept;

// "239.1.2.3:20000 on 10.0.0.1"
std::string group_text(const UdpGroupOptions& options);

struct GroupSocket {
  Descriptor descriptor;
  std::uint32_t packet_bytes = 0;
  std::uint32_t depth = 0;  // at most receive_packets
};

// One that is in no group yet, nor bound: what a member there would have.
Result<GroupSocket> prepare_group_socket(const UdpGroupOptions& options, const Log& log);
// An error says what the kernel refused, and why it may have.
Result<GroupSocket> open_group_socket(const UdpGroupOptions& options, const Log& log);

}  // namespace espalier::net
