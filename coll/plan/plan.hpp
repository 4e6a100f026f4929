// Plan: what one rank does for one collective, as a dataflow graph; independent of buffers, pure,
// O(degree) in size.
//
// A vertex is an action over an index space [0, count). For index i it acts on one *segment* of the
// message and (receives and sends) on one peer; both are functions of i, so a ring or a direct
// exchange over p ranks is one vertex, and a 1 GiB broadcast has as many vertices as one of 8
// bytes. An edge (Dependency) says that index i of a vertex needs index i - shift of another.
// Nothing else orders anything: the engine starts every index whose dependencies are complete,
// within the vertex's window.
//
//   broadcast, interior rank of a tree                 reduction, interior rank
//   recv(parent) --same index--> send(child 0)         view(child 0) --\                        .
//                \-------------> send(child 1)         view(child 1) ---> combine ---> send(parent)
//                                                      (own input)   --/      ^------ shift W --/
//                                                      (scratch slot reuse)
//
// When an index may start: its dependencies are complete, fewer than `window` indices of its vertex
// are in flight, and it lies within 64 of the vertex's completed prefix (so a prefix and one 64-bit
// word say which indices are complete). The lowest such index is tried first. Every plan completes
// under any engine that keeps these rules, with no buffering at all, in whatever order posted
// indices complete: tests/unit/plan_*_test.cpp check that.
//
// Views are bounded by the plan: a kRecvView needs its kCombine at shift `window`, so at most
// `window` indices are in flight or held. A kScratch slot is bounded likewise, by the send of it.
//
// Partition: the message of `elements` elements is cut into `blocks` nearly equal blocks, each cut
// into `pieces` pieces of at most `piece_elements`; segment number g = block * pieces + piece.
// Trees use one block, exchanges one per rank. Pieces may be empty.
//
// Wire addressing: a segment travels on the flow (team, sequence, channel) between two ranks under
// its *ordinal* i % inner, which sender and receiver compute alike.
//
// Values only; thread-safe to read. path: setup (construction), data (the accessors)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithms/tree_levels.hpp"
#include "coll/plan/collective.hpp"
#include "coll/team/team_nodes.hpp"
#include "core/status.hpp"

namespace espalier {

enum class Action : std::uint8_t {
  kRecv,      // receive the segment from peer(i) into `dst`
  kRecvView,  // receive the segment from peer(i) in place, for a kCombine to read; released when
              // that combine is done
  kSend,      // send the segment at `src` to peer(i)
  kPublish,   // make the segment at `src` readable by all of the vertex's `peers` at once (one copy
              // for all of them)
  kCombine,   // dst = operand 0 op operand 1 op ...; with one operand a copy. Empty segments are
              // combined too (a barrier's are) and touch no memory
};

// Where a segment lies. kAccumulator reads kInput for i < inner and kOutput afterwards (the first
// of a chain of combines). kScratch is a ring of `scratch_slots` segments: index i uses slot i %
// scratch_slots.
enum class Place : std::uint8_t { kNone, kInput, kOutput, kScratch, kAccumulator, kView };

struct Operand {
  Place place = Place::kNone;
  std::uint16_t vertex =
      0;  // place == kView: the kRecvView vertex whose segment, at the same index, is read
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Dependency {
  std::uint16_t vertex = 0;
  std::int32_t shift =
      0;  // index i needs index i - shift; indices outside [0, count of vertex) need nothing
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct Vertex {
  Action action = Action::kRecv;
  Place src = Place::kNone;
  Place dst = Place::kNone;
  std::uint8_t channel =
      0;  // part of the flow: phases and trees of one operation use different channels
  bool synchronous = false;    // kSend: complete only when the receiver has taken the segment
                               // (controls of experiments)
  std::uint16_t window = 1;    // indices in flight at most (N of sends, M of receives), 1..64
  std::int32_t peer = -1;      // team rank
  std::int32_t peer_step = 0;  // peer(i) = (peer + peer_step * (i / inner)) mod team size
  std::uint32_t count = 0;     // indices
  std::uint32_t inner = 1;     // indices per peer; = count when the peer is fixed. >= 1
  std::uint32_t block = 0;     // block(i) = (block + block_step * (i / inner)) mod blocks
  std::int32_t block_step = 0;
  std::uint32_t piece = 0;  // piece(i) = piece + piece_stride * (i % inner)
  std::uint32_t piece_stride = 1;
  std::vector<std::int32_t> peers;  // kPublish
  std::vector<Operand> operands;    // kCombine, in the order of combination
  std::vector<Dependency> needs;
  std::vector<std::uint16_t>
      feeds;  // vertices that name this one in `needs`; filled by Plan::finish()
  friend bool operator==(const Vertex&, const Vertex&) = default;
};

struct Partition {
  std::uint64_t elements = 0;
  std::uint32_t element_bytes = 1;
  std::uint32_t blocks = 1;
  std::uint32_t pieces = 1;  // per block, >= 1
  std::uint64_t piece_elements = 0;

  std::uint64_t block_begin(std::uint64_t block)
      const noexcept {  // balanced: the first (elements % blocks) blocks have one more
    const std::uint64_t small = elements / blocks;
    const std::uint64_t extra = elements % blocks;
    return small * block + (block < extra ? block : extra);
  }
  // First element and number of elements of a piece.
  std::uint64_t begin(std::uint64_t block, std::uint64_t piece) const noexcept {
    const std::uint64_t at = block_begin(block) + piece * piece_elements;
    const std::uint64_t end = block_begin(block + 1);
    return at < end ? at : end;
  }
  std::uint64_t length(std::uint64_t block, std::uint64_t piece) const noexcept {
    return begin(block, piece + 1) - begin(block, piece);
  }
  friend bool operator==(const Partition&, const Partition&) = default;
};

struct Plan {
  Collective collective = Collective::kBarrier;
  std::string algorithm;  // for people: "tree(binomial) event, 16 segments of 64 KiB"
  std::int32_t rank = 0;  // team rank this plan is for
  std::int32_t size = 1;
  Partition partition;
  std::uint32_t scratch_slots = 0;  // each of partition.piece_elements * element_bytes bytes
  std::vector<Vertex> vertices;     // at most 65535

  // Fills `feeds` and asserts the structural rules; every maker ends with it.
  //  - 1 <= window <= 64; count >= 1 and a multiple of inner; peers inside the team, never oneself
  //  - an edge with shift <= 0 points to an earlier vertex, so equal indices form no cycle
  //  - a view is read by one combine, of equal count, which needs it at shift 0 and which it needs
  //    at shift 1..64
  //  - one vertex writes kScratch, and needs each reader of it at a shift of 1..scratch_slots
  //  - the places fit the action (a send reads kInput, kOutput or kScratch, ...)
  void finish();

  std::int32_t peer(const Vertex& v, std::uint32_t i) const noexcept {
    if (v.peer_step == 0) return v.peer;
    const std::int64_t p = v.peer + static_cast<std::int64_t>(v.peer_step) * (i / v.inner);
    return static_cast<std::int32_t>(((p % size) + size) % size);
  }
  std::uint32_t block(const Vertex& v, std::uint32_t i) const noexcept {
    if (v.block_step == 0) return v.block;
    const std::int64_t b = v.block + static_cast<std::int64_t>(v.block_step) * (i / v.inner);
    const std::int64_t n = partition.blocks;
    return static_cast<std::uint32_t>(((b % n) + n) % n);
  }
  std::uint32_t piece(const Vertex& v, std::uint32_t i) const noexcept {
    return v.piece + v.piece_stride * (i % v.inner);
  }
  std::uint32_t ordinal(const Vertex& v, std::uint32_t i) const noexcept { return i % v.inner; }
  std::uint64_t offset_bytes(const Vertex& v, std::uint32_t i) const noexcept {
    return partition.begin(block(v, i), piece(v, i)) * partition.element_bytes;
  }
  std::uint64_t length_elements(const Vertex& v, std::uint32_t i) const noexcept {
    return partition.length(block(v, i), piece(v, i));
  }

  std::string to_text() const;  // one line per vertex
  std::string to_graphviz() const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Nodes over whose heads an allreduce may be spread (NodePlan::spread).
inline constexpr std::int32_t kSpreadNodesMax = 16;

// Everything a plan depends on. No field is "auto" here: coll/plan/choose.hpp resolves options
// first. Equal requests give equal plans.
struct PlanRequest {
  Collective collective = Collective::kBarrier;
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::int32_t root = 0;
  std::uint64_t elements = 0;
  std::uint32_t element_bytes = 1;
  bool commutative = true;  // false: combine in rank order
  esp_algorithm algorithm = ESP_ALGORITHM_TREE;
  esp_shape shape = ESP_SHAPE_BINOMIAL;
  std::int32_t radix = 2;
  TreeLevels levels = {};  // of a tree, inside of `shape`
  NodePlan nodes = {};     // of a team on several nodes
  std::uint64_t segment_bytes = 65536;
  std::int32_t window_send = 8;
  std::int32_t window_recv = 16;
  esp_variant variant = ESP_VARIANT_EVENT;
  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

// ESP_ERR_ARGUMENT for nonsense (root outside, windows outside 1..64, radix), ESP_ERR_UNSUPPORTED
// for combinations that do not exist (SPREAD with a non-commutative operator, SHORT, which has no
// plan). size == 1 gives a plan without peers.
Result<Plan> make_plan(const PlanRequest& request);

}  // namespace espalier
