// Scenario: everything a seed decides: a machine, a job, what its ranks call when, and what goes
// wrong. A value; drawing it is all that the seed is used for, so a scenario can be printed and
// changed without drawing anew.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/team/team.hpp"
#include "core/datatype.hpp"
#include "core/pattern.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/sim/connection_net.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/sim_datagram_port.hpp"
#include "net/sim/world.hpp"

namespace espalier::swarm {

// Under what the engine runs.
enum class StageKind : std::uint8_t {
  kSim,          // SimWire: virtual time, faults
  kShm,          // ShmWire, all ranks in one thread in an order drawn at random
  kDatagrams,    // FrameWire over DatagramLink over simulated ports: virtual time, faults
  kConnections,  // the same over ConnectionLink
  kRdma,         // over RdmaLink: both
};

// Where the blocks of a call that brings counts lie in its buffers.
enum class Gaps : std::uint8_t {
  kNone,       // one after the other: the call names no displacements
  kBetween,    // in order, some apart
  kScattered,  // in any order
};

// Seeds from here on draw allgathers, alltoalls and scans, too ("exchanges"); those below mean what
// they meant before there were any.
inline constexpr std::uint64_t kFirstExchangeSeed = 1'000'000'000;
// From here on also blocks of a root, of owners and of neighbours, and elements that lie apart
// ("parts").
inline constexpr std::uint64_t kFirstPartSeed = 2'000'000'000;
// From here on the same, and some members await their input or are delivered what lands
// ("partial"; tests/swarm/partial.hpp).
inline constexpr std::uint64_t kFirstPartialSeed = 3'000'000'000;
// From here on what parts draw, in shared memory and without trouble, and elements that lie on
// devices, where others read them ("devices"; tests/swarm/late_away.hpp).
inline constexpr std::uint64_t kFirstDeviceSeed = 4'000'000'000;

// One call, equal on all members; or one message from member `root` to member `peer`.
struct OpSpec {
  std::size_t team = 0;
  std::int32_t members = 0;  // of the team
  Collective collective = Collective::kBarrier;
  esp_type type = ESP_UINT8;
  esp_op op = ESP_SUM;
  bool ordered = false;  // an operator of the user that does not commute
  std::uint64_t count = 0;
  // Elements: of each member's own block; of alltoallv and alltoallw: from * members + to; along
  // edges: from * kEdgesMax + place among its destinations.
  std::vector<std::size_t> counts;
  static constexpr std::size_t kEdgesMax = 16;
  std::vector<Neighbors> graph;            // by member; where there are neighbours
  std::shared_ptr<const Pattern> pattern;  // of the elements of those that pack; else none
  Gaps gaps = Gaps::kNone;
  std::int32_t root = 0;
  std::int32_t peer = 0;
  unsigned channel = 0;
  bool in_place = false;
  bool out_of_place_too = false;  // some members are not in place
  bool shares = false;            // what packs lies on a device, and others read it there
  bool combines = false;          // the device combines, where it has all of a member's
  bool blocking = false;          // what the signature says; the swarm never blocks
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  std::uint64_t values = 0;  // seed of the contributions

  bool flow() const noexcept { return collective == Collective::kPointToPoint; }
  const CollectiveTraits& traits() const noexcept { return traits_of(collective); }
  bool reduces() const noexcept { return traits().reduces; }
  bool is_exchange() const noexcept {
    return Collective::kAllgather <= collective && collective <= Collective::kExscan;
  }
  bool moves_parts() const noexcept {
    return Collective::kGather <= collective && collective <= Collective::kNeighborAlltoallw;
  }
  // Blocks stand at a root alone.
  bool has_root_blocks() const noexcept { return moves_parts() && traits().rooted; }
  // Each gets a block of what all have combined.
  bool shares_sum() const noexcept { return moves_parts() && reduces(); }
  // A scatter's root in place has no output.
  bool keeps_block_at(std::int32_t member) const noexcept {
    return has_root_blocks() && traits().root_sends && in_place_at(member);
  }
  // Some members have elements apart, others one after the other.
  bool packs_at(std::int32_t member) const noexcept {
    return pattern != nullptr && (values >> (member + 7) % 64 & 1) != 0;
  }
  bool packs_input_at(std::int32_t member) const noexcept {
    const bool gives = !traits().root_sends || member == root;
    const int buffer = in_place_at(member) ? kOutputBuffer : kInputBuffer;
    return packs_at(member) && gives && traits().input != Extent::kNone && is_there(member, buffer);
  }
  bool packs_output_at(std::int32_t member) const noexcept {
    const bool gets = !traits().root_gets || member == root;
    return packs_at(member) && gets && !keeps_block_at(member) && is_there(member, kOutputBuffer);
  }
  // As api/devices.cpp decides.
  bool shares_at(std::int32_t member) const noexcept {
    return shares && !in_place_at(member) && (packs_input_at(member) || packs_output_at(member));
  }
  bool combines_at(std::int32_t member) const noexcept {
    const bool gets = !traits().root_gets || member == root;
    return combines && packs_input_at(member) && (packs_output_at(member) || !gets);
  }
  // One of a member's buffers, of those that share: most are on its device.
  static constexpr int kInputBuffer = 19, kOutputBuffer = 31;
  bool is_there(std::int32_t member, int buffer) const noexcept {
    return !shares || (values >> (member + buffer) % 64 & 3) != 0;
  }
  // Built-in elements in what `count` and `counts` count.
  std::size_t scale() const noexcept { return pattern != nullptr ? pattern->elements() : 1; }
  // In a member's memory: from one element to the next, and what of it moves.
  std::size_t step_bytes(std::int32_t member) const noexcept {
    return packs_at(member) ? pattern->extent_bytes() : type_size(type);
  }
  std::size_t packed_bytes(std::int32_t member) const noexcept {
    return packs_at(member) ? pattern->packed_bytes() : type_size(type);
  }
  bool moves_blocks() const noexcept {  // of members, not one message
    return traits().output == Extent::kPerMember || traits().output == Extent::kCounts;
  }
  // Does the message of a broadcast or flow come from this member?
  bool brings(std::int32_t member) const noexcept {
    return (collective == Collective::kBcast || flow()) && member == root;
  }
  bool in_place_at(std::int32_t member) const noexcept {
    if (has_root_blocks() && member != root) return false;
    return in_place && (!out_of_place_too || (values >> member % 64 & 1) != 0);
  }
  bool has_input(std::int32_t member) const noexcept {  // apart from the output
    if (has_root_blocks() && traits().root_sends) return member == root;
    return (reduces() || moves_blocks()) && !in_place_at(member);
  }
  std::string describe() const;
};

// When a rank enters a call: not before this time, and perhaps only after all it has entered.
struct Entry {
  std::uint64_t not_before_ns = 0;
  bool after_all = false;
};

// One member calls something else.
struct Deviation {
  std::size_t op = 0;
  std::int32_t member = 0;
  OpSpec call;
};

// A rank that gives up and finalizes, whatever is under way.
struct Departure {
  Rank rank = 0;
  std::uint64_t at_ns = 0;
};

struct Look {
  Rank rank = 0;
  std::uint64_t at_ns = 0;
};

// Copies and combinations take time, and have any order (tests/swarm/late_mover.hpp).
struct LateMoves {
  double refused = 0, at_once = 0;  // shares
  std::uint64_t latest_ns = 1;
  Rank breaks_at = kNoRank;  // this rank's fails once, after so many; kNoRank: none does
  std::uint64_t breaks_after = 0;
};

// Memory of devices that others read where it lies (tests/swarm/late_away.hpp).
struct SharedDevices {
  double nameless = 0, refused = 0;  // shares of the places
  std::vector<bool> opens;           // by rank: some open no place at all
};

struct Scenario {
  std::uint64_t seed = 0;
  StageKind stage = StageKind::kSim;
  sim::Machine machine;
  std::uint32_t ranks = 2;
  sim::Placement placement = sim::Placement::kByCore;
  sim::WorldOptions world;
  Tuning tuning;
  bool board = true;               // the members have common memory
  bool start_in_callbacks = true;  // else in the rank's next turn
  std::vector<std::vector<Rank>> teams;
  std::vector<TeamNodes> layouts;  // by team: the nodes and levels that its plans follow
  std::vector<OpSpec> ops;
  std::vector<std::vector<Entry>> entries;  // by op and rank
  std::optional<Deviation> deviation;
  std::optional<Departure> departure;
  std::optional<LateMoves> moves;
  std::optional<SharedDevices> devices;  // kShm, and with moves
  std::vector<Look> looks;  // a watchdog that looks while there is nothing to complain about
  // kShm.
  std::uint64_t arena_bytes = 0, ring_bytes = 0;
  bool pulls = false;
  std::vector<std::uint64_t> pulls_allowed;  // by rank, before its kernel refuses; empty: all
  // kDatagrams, kRdma.
  sim::PortOptions port;
  std::uint32_t first_sequence = 0;
  std::uint32_t ghosts = 0;  // packets of an earlier job that are still under way

  // kConnections, kRdma.
  sim::ConnectionLimits adapter;
  rdma::ConnectionOptions connections;
  bool odd_ranks_copy = false;  // they register nothing for one operation
  // kConnections: puts and gets of each rank to each other, and the share that is taken back.
  std::uint32_t accesses = 0;
  double whims = 0;
  // kRdma.
  std::uint32_t connections_max = 0;         // of a rank, in one direction
  std::vector<std::pair<Rank, Rank>> apart;  // who must not have one

  bool has_datagrams() const noexcept {
    return stage == StageKind::kDatagrams || stage == StageKind::kRdma;
  }
  bool has_connections() const noexcept {
    return stage == StageKind::kConnections || stage == StageKind::kRdma;
  }

  // nullptr: the team's plans follow nothing.
  const TeamNodes* layout(std::size_t team) const noexcept {
    return team < layouts.size() && !layouts[team].inner.empty() ? &layouts[team] : nullptr;
  }
  // Is any operation allowed to fail?
  bool troubled() const noexcept {
    return deviation.has_value() || departure.has_value() || world.faults.crashes > 0 ||
           world.faults.overruns > 0 || (moves && moves->breaks_at != kNoRank);
  }
  // The call of a member (its team rank).
  const OpSpec& call(std::size_t op, std::int32_t member) const noexcept {
    const bool deviates = deviation && deviation->op == op && deviation->member == member;
    return deviates ? deviation->call : ops[op];
  }
  bool partial() const noexcept { return seed >= kFirstPartialSeed && seed < kFirstDeviceSeed; }
  const char* stage_name() const noexcept;
  std::string describe() const;
};

Scenario draw_scenario(std::uint64_t seed);

// As the engine resolves it for this member.
Result<PlanRequest> plan_request(const Scenario& scenario, const OpSpec& op, std::int32_t member);

}  // namespace espalier::swarm
