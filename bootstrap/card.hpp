// Card: what every rank tells every other through the bootstrap, once.
//
//   CardFields | address: kind, bytes | its bytes | address ... (one per network that is open)
//
// Bytes from other processes are not trusted: parse_card() checks everything that is used before
// anything is used. Values. path: setup
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bootstrap/group_terms.hpp"
#include "coll/team/team_nodes.hpp"
#include "core/config.hpp"
#include "core/status.hpp"
#include "shm/handover.hpp"

namespace espalier {

// How two ranks are connected: shared memory, TCP, RDMA by datagrams and by connections. Numbers
// travel in cards; with kRc there is no address: the datagrams' makes connections.
enum class WireKind : std::uint16_t { kShm = 1, kTcp = 2, kUd = 3, kRc = 4 };

// Travels as it is.
struct CardFields {
  static constexpr std::uint32_t kMagic = 0x45535031;  // "ESP1"
  static constexpr std::uint16_t kVersion = 12;

  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t bytes = 0;    // of these fields
  char host[64] = {};         // host name, for people
  char node[64] = {};         // name of the node (a long one: its begin and a hash of it); part of
                              // what makes ranks share memory
  std::uint64_t machine = 0;  // hash of the kernel's boot id: equal on one machine only
  std::int64_t pid = 0;       // in its PID namespace: elsewhere it means another process
  std::uint64_t pid_start = 0;  // start time of the process, so that a reused pid is noticed; 0:
                                // its /proc does not tell
  std::uint64_t pid_namespace = 0;  // 0: unknown
  std::uint64_t net_namespace = 0;  // ranks of different ones cannot meet; 0: nobody can meet it
  shm::MeetingAddress meeting;      // where it is met
  std::uint8_t progress_thread = 0;
  std::uint8_t asymmetric_fence = 0;
  std::uint8_t to_adapter = 0;  // process distance from the network adapter; 0: not known
  std::uint8_t unused = 0;
  std::uint32_t port_mbits = 0;     // per second, of the network port; 0: not known
  GroupTerms groups;                // of multicast
  std::uint64_t adapter = 0;        // hash of what carries groups here; 0: nothing does
  std::uint64_t nonce_address = 0;  // for probing CMA
  std::uint64_t nonce = 0;
  std::uint64_t profile = 0;      // digest of the one that was read; 0: none
  std::uint64_t arena_bytes = 0;  // from here to `wires`: settings that must be equal on all ranks
  std::uint64_t heap_bytes = 0;
  std::uint64_t short_bytes = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t algorithm = 0;
  std::uint64_t shape = 0;
  std::uint64_t variant = 0;
  std::uint64_t radix = 0;
  std::uint64_t reproducible = 0;
  std::uint64_t node_rule = 0;
  std::uint64_t topology = 0;      // hash of what it describes
  std::uint64_t levels = 0;        //
  std::uint64_t level_shapes = 0;  // hash of the text
  std::uint64_t switches = 0;      // digest of the map; 0: none
  std::uint64_t adapter_numa = 0;  //
  std::uint64_t multicast = 0;     //
  std::uint64_t multicast_groups = 0;
  std::uint64_t multicast_leaders = 0;
  std::uint64_t multicast_place_bytes = 0;
  std::uint64_t wires = 0;  // hash of the list
  MemberLocality locality = kBoundNowhere;
  cpu_set_t cpus = {};  // that this rank may run on
};

// Where a rank is reached on a network, and what proves that one belongs to the job; opaque here.
struct CardAddress {
  WireKind kind = WireKind::kTcp;
  std::vector<std::byte> bytes;
};

struct Card : CardFields {
  static constexpr std::size_t kAddressesMax = 16;
  static constexpr std::size_t kAddressBytesMax = 4096;
  std::vector<CardAddress> addresses;
};

// Describes the calling process; `nonce` stays where it is until the job ends. `meeting`: nullptr:
// it cannot be met. `node_name`: the launcher's.
Card make_card(const Config& config, const std::uint64_t& nonce, const shm::MeetingAddress* meeting,
               std::string_view node_name);
std::vector<std::byte> card_bytes(const Card& card);
std::vector<std::byte> address_bytes(const Card& card);  // the last part of these
// In that part: the bytes of the first address of this kind; nothing: there is none.
std::optional<std::span<const std::byte>> find_address(std::span<const std::byte> addresses,
                                                       WireKind kind) noexcept;
// `rank` is for the error text.
Result<Card> parse_card(std::span<const std::byte> bytes, Rank rank);
// Settings that differ between rank `me` and another, as an error; Unit when all agree.
Outcome check_agreement(const Card& mine, Rank me, const Card& theirs, Rank rank);

}  // namespace espalier
