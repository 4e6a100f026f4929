// Choice of a device's port and of its GID. Pure functions of what verbs.hpp lists, so that they
// are tested without a device; the reasons are for people. Knows no libibverbs. Values. path: setup
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "core/topology.hpp"
#include "net/verbs/address.hpp"
#include "net/verbs/options.hpp"

namespace espalier::verbs {

enum class GidType : std::uint8_t { kInfiniband, kRoceV1, kRoceV2 };

struct Gid {
  int index = 0;
  GidType type = GidType::kInfiniband;
  GidBytes bytes = {};
  friend bool operator==(const Gid&, const Gid&) = default;
};

// "10.77.0.1" where it stands for an IPv4 address, else as an IPv6 address.
std::string gid_text(const GidBytes& gid);

// `wanted` >= 0: that index, whatever its type. Else, for RoCE, of version 2 only (version 1 is
// not routed): the first that stands for an IPv4 address, else a global, else a link-local IPv6
// one. InfiniBand: the first.
Result<Gid> choose_gid(std::span<const Gid> table, LinkLayer link, int wanted);

// What a device says it speaks.
enum class Transport : std::uint8_t { kInfiniband, kIwarp, kOther };
// Why a port of this kind cannot be used; empty: it can. Queue pairs of other kinds than those of
// InfiniBand and RoCE are other things (EFA, usNIC), or lack datagrams (iWARP).
std::string why_not_kind(Transport transport, LinkLayer link);

// Of a table of P_Keys: the index of the first that makes a full member, else of the first that is
// one at all: limited members do not hear each other. An error when there is none.
Result<std::uint16_t> choose_partition(std::span<const std::uint16_t> table);

// How much multicast a device takes.
struct GroupLimits {
  std::uint32_t groups = 0;       // 0: it has no multicast
  std::uint32_t of_one = 0;       // queue pairs in one group
  std::uint32_t memberships = 0;  // in all groups together
};

// One port of one device, as far as choosing needs it.
struct PortInfo {
  std::string device;
  int port = 1;
  LinkLayer link = LinkLayer::kEthernet;
  std::string state;            // "active", "down", ...
  std::uint32_t mtu_bytes = 0;  // in use on the link
  double gbits = 0;             // per second, of the link; 0: unknown
  std::uint16_t lid = 0;
  bool needs_grh = false;  // InfiniBand: packets without a global routing header do not arrive
  // Of the partition that queue pairs join: its P_Key, and where that stands in the port's table.
  std::uint16_t partition_key = 0xFFFF, partition_index = 0;
  Gid gid;
  std::vector<int> cpus;  // near the device; empty: unknown
  bool atomics = false;
  GroupLimits group_limits;
  std::string why_not;  // empty: usable

  std::string name() const { return device + ":" + std::to_string(port); }
};

// One line: "rxe0:1 RoCE, active, MTU 4096, GID 1 (10.77.0.1)" or the reason against it.
std::string describe(const PortInfo& info);

// Why no multicast group can be joined there; empty: one can.
std::string why_no_groups(const PortInfo& info);
// One line: "multicast: 8192 groups, 56 queue pairs in one, 458752 in all" or the reason against
// it.
std::string describe_groups(const PortInfo& info);

// Who asks: where it runs, and its number among the ranks there (spreads them over ports that are
// equally good).
struct Asker {
  Locality place;
  int node_rank = 0;
};

// The usable ports, best first: those that options.device names, in its order, else all. Then
// ports that reach each other stand together (InfiniBand before RoCE, by kind of address, and by
// subnet), so that all ranks of a job come to the same ones: among those the faster, then the
// nearer first, and those that are equally good are dealt out to the ranks. Empty when there is
// none; an error when one is named that cannot be used, or a text is not of the form.
Result<std::vector<PortInfo>> choose_ports(std::span<const PortInfo> all, const Options& options,
                                           const Machine& machine, const Asker& asker);

}  // namespace espalier::verbs
