// Choice: from the options of a call (most of them "choose for me") to a complete PlanRequest.
//
// A pure function of its arguments, which are equal on all members of a team, so all members choose
// alike without talking. What the caller fixed is kept: a combination that does not exist is an
// error, never silently replaced. Values only; any thread. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "coll/choice/costs.hpp"
#include "coll/choice/profile.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

// kAlways: trees whose shape or variant the call names follow nodes and levels, too. The shape is
// then that over the nodes. For simulations of published trees.
enum class FollowLevels : std::uint8_t { kAuto, kOn, kOff, kAlways };

// Whether publications between nodes go through the network's group. kOn: wherever there is a plan
// with one.
enum class Multicast : std::uint8_t { kOff, kAuto, kOn };

// AUTO: chosen.
struct LevelShapes {
  LevelShape switches = {ESP_SHAPE_AUTO, 2};  // as nodes, but for a chain: see NodePlan
  LevelShape nodes = {ESP_SHAPE_AUTO, 2};
  std::array<LevelShape, kLocalityLevels> between = {{{ESP_SHAPE_AUTO, 2},
                                                      {ESP_SHAPE_AUTO, 2},
                                                      {ESP_SHAPE_AUTO, 2},
                                                      {ESP_SHAPE_AUTO, 2}}};  // by LocalityLevel
  LevelShape inside = {ESP_SHAPE_AUTO, 2};
  std::int32_t stripes = 1;  // members of each node that talk to other nodes, where trees can
};

// Thresholds, with the reason for each default. Sizes are of the whole message in bytes.
struct Tuning {
  // Of calls that name none, where it exists for them; ESP_ALGORITHM_AUTO, _SHORT: none.
  esp_algorithm preferred_algorithm = ESP_ALGORITHM_AUTO;
  // What was measured goes before all rules below. nullptr: nothing was.
  std::shared_ptr<const Profile> profile;
  // Over networks a choice that these estimate to be clearly faster than that of the rules below
  // takes its place (cheapest.hpp). Nothing: nobody knows them, or where ranks share cores, for
  // which the rules were measured.
  std::optional<Costs> costs;
  // Settings of the job say it; rows do not.
  bool segments_are_set = false, windows_are_set = false;
  // Where the ranks are, as rows of it say.
  NetworkClass network = NetworkClass::kAny;
  CoreClass cores = CoreClass::kAny;
  // Up to so many ranks a reduction has one level: its root reads all contributions in place with
  // one pass over its own memory, where each level of a deeper tree writes and reads a partial
  // result more. Beyond, the root's work grows with the team, and wide k-nomial levels keep both
  // the depth and the passes small.
  std::int32_t flat_ranks = 8;
  std::int32_t knomial_radix = 4;
  // Up to here an allreduce is latency: the fewest dependent steps win, and one rank may do all the
  // work. Above, every rank reduces its share (spread) and the reduction runs on all cores.
  std::uint64_t allreduce_gather_bytes = 16384;
  // By lines of the board every rank reads what all others bring. Up to so many bytes of all of
  // them; with a core each, 16 KiB of 8 ranks took 1.19 and of 16 ranks 2.05 of the best MPI's time
  // that way. No limit: 0.
  std::uint64_t short_allreduce_bytes = 65536;
  // Up to so many ranks that one rank reads all contributions, beyond it is a tree. Where ranks
  // take turns on few cores a tree has nothing to run at once: bring-up raises it to 8 per core.
  std::int32_t gather_ranks = 8;
  // Segments: an eighth of the message fills a pipeline to 7/8; below 16 KiB the cost per segment
  // exceeds that of the copy it hides, above 64 KiB a segment and its neighbours leave a private
  // cache before they are read again. Where ranks take turns on a core little is hidden, and each
  // segment may cost a switch: then bring-up makes the least 32 KiB.
  std::uint64_t segment_bytes_min = 16384;
  // Spread has two exchanges in which every rank sends, reduces and receives at the same time.
  std::uint64_t spread_bytes_min = 32768;
  std::uint64_t segment_bytes_max = 65536;
  std::uint64_t segments = 8;
  // Segments of a point-to-point message: it has one reader, which looks for nothing else, so
  // smaller ones pay than in a collective.
  std::uint64_t flow_segment_bytes_min = 4096;
  // Receives exceed sends, so that a segment always finds a posted receive (Luo et al., section 2).
  std::int32_t window_send = 16;
  std::int32_t window_recv = 32;
  // How segments travel. The wire knows what is faster here: it has measured it.
  Transfer transfer = {};
  // But blocks of a gather from so many bytes on are written by their senders, where each has a
  // core: one reader would copy them one after the other (Ma's thesis, sections 3.3.3 and 3.7.3:
  // 3.1 and 3.2 times faster on 16 and 48 cores). Not measured here: that takes more cores.
  std::uint64_t push_gather_bytes = 65536;
  // A root's result from this size on is stored past the caches (core/datatype.hpp); never: 0. Two
  // ranks of a node reduced 16 MiB in 0.65 to 0.83 of the time in four of five pairs of launches;
  // 4 MiB, four ranks, and nodes over TCP took as long as before.
  std::uint64_t past_cache_bytes = 8 << 20;
  std::uint64_t device_share_bytes = 64 << 10;   // of messages; 0: never
  std::uint64_t device_direct_bytes = 64 << 10;  // likewise, between nodes
  // The next eight are from models and papers: not measured here yet.
  // Allgather on one node: up to so many ranks each block is published, one copy for all readers.
  std::int32_t gather_publish_ranks = 64;
  // Else up to so much in all it is latency: log2(ranks) rounds, then a ring.
  std::uint64_t gather_rounds_bytes = 65536;
  // But by leaders where some node has several members, on up to so many nodes: their ring has
  // about as many steps as rounds would be, and each block enters a node once, not once for each of
  // its members.
  std::int32_t gather_leader_nodes = 8;
  // Alltoall: Bruck's rounds pay for blocks up to so many bytes from so many ranks on (Kowalewski,
  // table 7.3).
  std::int32_t bruck_ranks = 64;
  std::uint64_t bruck_bytes = 256;
  // Gather and scatter: from so many ranks on, of blocks up to so many bytes, the root's messages
  // are what takes time, and a tree has fewer. Longer blocks would be copied at each level.
  std::int32_t linear_ranks = 8;
  std::uint64_t rooted_tree_bytes = 2048;
  // Scans up to here are latency: log2(ranks) rounds; longer ones a pipeline from rank to rank.
  std::uint64_t scan_rounds_bytes = 16384;
  // Between nodes. An allreduce of little data is an exchange between all heads: in steps whose
  // number grows with the logarithm of nodes, where a tree has twice as many. What a head receives
  // bounds it. Measured over TCP at 2 and 4 emulated nodes: from 64 to 256 KiB 1.1 to 1.7 times
  // faster than a tree, and for two members no slower than spreading. Radix: an RDMA message costs
  // a fraction of the way's length, so up to 8 nodes are one step; one over a socket costs as much
  // as the way, and bring-up makes it 2, where some ranks have nothing else.
  std::int32_t exchange_radix = 8;
  std::int32_t exchange_messages = 7;
  std::uint64_t exchange_bytes = 512 << 10;
  // With one member per node, an allreduce from so many bytes per member on is spread: every member
  // sends and receives 2 (p - 1) / p of the message and all combine, where the root of a tree does
  // both for everybody. With up to flat_ranks members per node the heads do that, from a segment
  // for each head on: at 4 emulated nodes of 2 ranks 1 MiB took 0.9 of Open MPI's time, where a
  // tree of heads took 1.6.
  std::uint64_t spread_node_bytes = 32768;
  // Segments: a frame costs two system calls, and the kernel overlaps the copies of a large one by
  // itself, so they are larger than in shared memory, and fewer. `hop`: of what crosses the network
  // once, between two nodes and of messages. Over TCP bring-up makes it 256 KiB: 256 KiB as one
  // segment took 0.7 to 0.95 of the time as four, with 1 and 2 ranks on each of two nodes.
  std::uint64_t network_bytes_min = 65536;
  std::uint64_t network_hop_bytes_min = 65536;
  std::uint64_t network_spread_bytes_min = 131072;
  std::uint64_t network_bytes_max = 262144;
  std::uint64_t network_segments = 4;
  // From so many segments on, a chain of nodes: every node sends and receives each segment once,
  // and the way's length is hidden by the pipeline. Below, a binomial tree.
  std::uint64_t chain_segments_per_node = 2;
  // Payload bytes of a packet to a group; 0: not all ranks have groups, none is chosen. kAuto:
  // where the costs say so; never over UDP, where a socket holds so few packets that windows are
  // small: 1 MiB to three others took 30 times as long as by a tree over TCP, on one machine.
  Multicast multicast = Multicast::kAuto;
  std::uint32_t multicast_packet_bytes = 0;
  // Of allgatherv there is no estimate: from so many nodes on, with blocks up to so many bytes on
  // average, which around a ring are mostly its latency. From models.
  std::int32_t multicast_nodes = 4;
  std::uint64_t multicast_gather_bytes = 65536;
  // Inside nodes: whether trees follow boards, sockets, NUMA nodes and outer caches. kAuto: where a
  // node has more than flat_ranks members. Up to there one publication serves all, and one pass
  // combines all; a level more is a copy more at each of its heads and a hop more for their
  // members. Beyond, many readers of one publication would draw every segment across the link
  // between sockets once each.
  FollowLevels inner_levels = FollowLevels::kAuto;
  // kAuto: messages above this do not follow levels whose groups share a memory controller. Each
  // level more writes and reads the message once more through it, which is what saturates first:
  // with four sockets around one controller the flat tree was faster for large messages (Ma's
  // thesis, section 4.5.2). Not measured here.
  std::uint64_t one_memory_bytes = 16384;
  // Shapes of the levels of trees that follow nodes, where they are not to be chosen.
  LevelShapes level_shapes = {};
};

// ESP_ERR_ARGUMENT for options that make no sense in any call.
Outcome check_options(const esp_coll_options& options);
// Does this algorithm exist for the call?
bool exists(esp_algorithm algorithm, const PlanRequest& request);
// What a profile's row is found by.
Situation situation_of(const PlanRequest& request, const Tuning& tuning);
// Of a team whose board has lines of `most` bytes: from so many bytes on a call does not take the
// short path; 0: none does. `base` says where the members are.
std::uint64_t short_end(const PlanRequest& base, std::uint64_t most, const Tuning& tuning);
// Fills what `base` leaves to choice: algorithm, shape, radix, segment_bytes, windows and variant;
// the other fields of `base` describe the call and where the team's members are. ESP_ERR_ARGUMENT
// for options that make no sense in any call. Combinations that do not exist are left to make_plan,
// which refuses them. `options` with algorithm SHORT come back with algorithm SHORT.
Result<PlanRequest> resolve(const esp_coll_options& options, const PlanRequest& base,
                            const Tuning& tuning = {});

// What keeps a call that resolve() gave another plan from multicast, for people. nullptr: it was
// chosen, or not asked for.
const char* without_multicast(const esp_coll_options& options, const PlanRequest& base,
                              const Tuning& tuning);

// How a point-to-point message is cut.
struct Partition {
  std::uint64_t elements = 0;  // bytes
  std::uint64_t piece_elements = 1;
  std::uint32_t pieces = 1;
};
// The segments of a point-to-point message of `bytes`: known to both sides, from its size and from
// whether they are on different nodes.
Partition flow_partition(std::uint64_t bytes, std::uint64_t segment_limit, const Tuning& tuning,
                         bool between_nodes = false) noexcept;

}  // namespace espalier
