// Addresses of queue pairs, as they travel in cards and handshakes: what a peer must know to send
// to one. They come from elsewhere, so every field is checked before anything is made of it.
//
//   0 version   1 kind: 'D' datagrams, 'C' a connection   2 link layer   3 log2 of the MTU
//   4 queue pair number   8 Q_Key ('D') or first PSN ('C')   12 LID   14 reads   15 zero
//   16 partition   18 flags: 1 needs a GRH, 2 limited   19 zero   24 GID
//
// Numbers are little-endian. Knows no libibverbs. Values. path: setup
#pragma once

#include <array>
#include <cstdint>

#include "core/status.hpp"
#include "net/rdma/connection_port.hpp"
#include "net/rdma/datagram_port.hpp"

namespace espalier::verbs {

enum class LinkLayer : std::uint8_t { kUnknown = 0, kInfiniband = 1, kEthernet = 2 };
const char* link_layer_name(LinkLayer link) noexcept;

using GidBytes = std::array<std::uint8_t, 16>;

// Of a RoCE port: the network that it is on has IPv4 addresses.
bool stands_for_ipv4(const GidBytes& gid) noexcept;
// Of InfiniBand: ports with other first halves of their GIDs are beyond a router.
bool same_subnet(const GidBytes& a, const GidBytes& b) noexcept;

struct Endpoint {
  LinkLayer link = LinkLayer::kEthernet;
  std::uint32_t mtu_bytes = 0;  // largest packet that it takes: 256, 512, ... 4096
  std::uint32_t queue_pair = 0;
  // Datagrams: the Q_Key, without which packets are dropped. Connections: PSN of the first packet.
  std::uint32_t key = 0;
  std::uint16_t lid = 0;        // InfiniBand: of the port; RoCE: 0
  std::uint8_t reads = 0;       // connections: RDMA reads and atomics that it serves at once
  std::uint16_t partition = 0;  // P_Key without its highest bit: who has another hears nothing
  bool limited = false;         // that bit is not set: other limited members are not heard
  bool needs_grh = false;       // InfiniBand: it takes packets with a global routing header alone
  GidBytes gid = {};

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

inline constexpr std::uint32_t kQueuePairMax = 0xFFFFFF;
inline constexpr std::uint32_t kMtuMax = 4096;
inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;
inline constexpr std::uint32_t kQKeyMask = 0x7FFFFFFF;  // above: for privileged senders
inline constexpr std::uint16_t kPartitionMask = 0x7FFF;

rdma::PortAddress datagram_address(const Endpoint& endpoint) noexcept;
rdma::ConnectionAddress connection_address(const Endpoint& endpoint) noexcept;
// An error that names the field that is wrong.
Result<Endpoint> parse_address(const rdma::PortAddress& address);
Result<Endpoint> parse_address(const rdma::ConnectionAddress& address);

}  // namespace espalier::verbs
