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
// Buffers and layouts: a plan names buffers (input, output, scratch), and each has a Layout
// (plan/layout.hpp). An index acts on one segment: of the step's block (or run of blocks) of the
// vertex's layout, the piece of the index, of at most `piece_elements` elements. Lengths come from
// that layout, and so do places, but in a ring, where the index has a slot, and for operands that
// lie `elsewhere`.
//
// Steps: index i belongs to step i / inner, where inner is the number of pieces of a step. Peer and
// block are functions of the step (plan/steps.hpp). Pieces are counted by the longest block, so
// those of shorter ones may be empty. `skips_empty`: these move nothing, on either side.
//
// Wire addressing: a segment travels on the flow (team, sequence, channel) between two ranks under
// its *ordinal*, which sender and receiver compute alike: of the index, if the peer is always the
// same, else of the piece.
//
// Grants: what is not eager is granted half a window of receives at a time (core/wire.hpp). So the
// receives of a window may not wait, by their dependencies, for what needs a grant of the first.
//
// Values only; thread-safe to read. path: setup (construction), data (the accessors)
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/plan/collective.hpp"
#include "coll/plan/layout.hpp"
#include "coll/plan/neighbors.hpp"
#include "coll/plan/steps.hpp"
#include "coll/team/team_nodes.hpp"
#include "core/status.hpp"
#include "core/transfer.hpp"

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
  kAwait,     // the segment at `src` is there when the call's gate says so (engine/gate.hpp)
  kDeliver,   // hand the segment at `src` to the consumer of the call
};

// No other rank has a part in it.
constexpr bool is_local(Action action) noexcept {
  return action >= Action::kCombine;
}

// Where a segment lies. kAccumulator is no buffer: it reads kInput in the first step and kOutput
// afterwards (the first of a chain of combines).
enum class Place : std::uint8_t {
  kNone,
  kInput,
  kOutput,
  kScratch,
  kAccumulator,
  kView,
  kScratch2,
  kScratch3,
  // The caller's own, where its elements lie apart: kInput and kOutput are packed then, and belong
  // to the instance (algorithms/packing.cpp).
  kUserInput,
  kUserOutput,
};
inline constexpr std::size_t kMaxBuffers = 7;
inline constexpr std::int32_t kMaxWindow = 64;  // completions beyond the prefix fit one word
inline constexpr std::uint32_t kMaxIndices = 0x7fffffff;  // of a vertex: shifts reach all
// Position in Plan::layouts.
constexpr std::size_t buffer_of(Place place) noexcept {
  const auto at = static_cast<std::size_t>(place);
  return place < Place::kAccumulator ? at - 1 : at - 3;
}

struct Operand {
  Place place = Place::kNone;
  std::uint16_t vertex =
      0;               // kView: the kRecvView vertex whose segment, at the same index, is read
  bool keeps = false;  // kView: another combine reads it after this one, and releases it
  // kOutput: what `vertex` received and left where it lies (Vertex::stays) is read there, and
  // released.
  bool stays = false;
  friend bool operator==(const Operand&, const Operand&) = default;
};

// Index i needs index i - shift - steps * inner, inner being that of the one that needs; what is
// outside of [0, count of vertex) needs nothing. `whole`: it needs all of them. With `batch`, too:
// steps come in batches of so many, and it needs those of the batches before its own.
struct Dependency {
  std::uint16_t vertex = 0;
  std::int32_t shift = 0;
  std::int32_t steps = 0;
  bool whole = false;
  std::uint32_t batch = 0;

  std::int64_t distance(std::uint32_t inner) const noexcept {
    return shift + static_cast<std::int64_t>(steps) * inner;
  }
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// The index space of a vertex: `inner` indices for each step.
struct Indices {
  std::uint32_t count = 0;
  std::uint32_t inner = 1;

  std::uint32_t step(std::uint32_t i) const noexcept { return inner == count ? 0 : i / inner; }
  std::uint32_t piece(std::uint32_t i) const noexcept { return inner == count ? i : i % inner; }
  // Of steps in batches: so many indices of `other` are in the batches before that of index i.
  std::uint32_t before_batch(Indices other, std::uint32_t i, std::uint32_t batch) const noexcept {
    return std::min(other.count, step(i) / batch * batch * other.inner);
  }
  // The other way round: so many may start when the first `done` of `other` are complete.
  std::uint64_t opened(Indices other, std::uint32_t done, std::uint32_t batch) const noexcept {
    if (done == other.count) return count;
    return (done / other.inner / batch + std::uint64_t{1}) * batch * inner;
  }
  friend bool operator==(const Indices&, const Indices&) = default;
};

struct Vertex {
  Action action = Action::kRecv;
  Place src = Place::kNone;
  Place dst = Place::kNone;
  Place shape = Place::kOutput;  // the buffer whose layout the segments follow
  std::uint8_t channel =
      0;  // part of the flow: phases and trees of one operation use different channels
  // kSend: what its receiver combines waits for it, so it must not wait for that: it is never read
  // where it lies.
  bool leaves = false;
  bool synchronous = false;  // kSend: complete only when the receiver has taken the segment
                             // (controls of experiments)
  // What lies on a device may stay there: for one unpacking (kRecv), for a mover's combination.
  bool stays = false;
  // kRecv that stays: an adapter may bring it to the caller's output, where it is unpacked.
  bool lands = false;
  bool skips_empty = false;  // no segment of no elements, and none to oneself
  bool elsewhere = false;    // what is read lies in block `from` of its buffer
  bool places = false;       // kCombine: blocks of the output lie where the first that comes finds
                             // room (Plan::places)
  Transfer transfer = {};    // of sends, publications and receives: alike on both sides
  std::uint16_t window = 1;  // indices in flight at most (N of sends, M of receives), 1..64
  std::uint32_t steps = 1;
  std::uint32_t run = 1;  // blocks of a step, which lie one after the other; 0: `runs` says it
  std::uint32_t lane = 0, lanes = 1;  // pieces lane, lane + lanes, ... of each step
  std::uint32_t since = 0;  // steps before this one do nothing: what they would read is not final
  Steps peer = Steps::constant(-1);  // team rank
  Steps block;
  Steps runs;  // run == 0: a table, as `block` is: entry for entry
  Steps from;
  Indices indices;                  // where the plan is regular; by finish()
  std::vector<std::int32_t> peers;  // kPublish
  std::vector<Operand> operands;    // kCombine, in the order of combination
  std::vector<Dependency> needs;
  std::vector<std::uint16_t>
      feeds;  // vertices that name this one in `needs`; filled by Plan::finish()

  std::uint32_t run_at(std::uint32_t step) const noexcept {
    return run != 0 ? run : static_cast<std::uint32_t>(runs.at(step));
  }
  friend bool operator==(const Vertex&, const Vertex&) = default;
};

// A table that steps refer to, shared by copies of a plan.
struct Table {
  std::shared_ptr<const std::vector<std::int32_t>> entries;
  friend bool operator==(const Table& a, const Table& b) { return *a.entries == *b.entries; }
};

// A segment's number among those of its flow, and how many these are.
struct FlowPosition {
  std::uint32_t ordinal = 0;
  std::uint32_t total = 1;
};

struct Plan {
  Collective collective = Collective::kBarrier;
  std::string algorithm;  // for people: "tree(binomial) event, 16 segments of 64 KiB"
  std::int32_t rank = 0;  // team rank this plan is for
  std::int32_t size = 1;
  std::uint32_t element_bytes = 1;
  std::uint64_t piece_elements = 1;
  bool irregular = false;  // layouts of kind kCounts are bound by each call (plan/binding.hpp)
  bool reduces = false;
  bool packs_input = false, packs_output = false;  // kInput, kOutput are packed forms of the user's
  bool combines = false;  // a mover does: all memory of the plan's is the mover's
  // And all buffers are memory of its device: sends are read there (algorithms/on_device.cpp).
  bool on_device = false;
  // Blocks of the output lie in the order in which they come: each instance's layout says where.
  bool places = false;
  // Or in this order: the caller's block that lies at each position. constant(-1): as they are.
  Steps order = Steps::constant(-1);
  std::vector<Layout> layouts = std::vector<Layout>(2);  // by buffer_of()
  std::vector<Vertex> vertices;                          // at most 65535
  std::vector<Table> tables;

  // Fills `feeds` and `indices` and asserts the structural rules; every maker ends with it.
  //  - 1 <= window <= 64; at least one step; peers inside the team; oneself only where skipped
  //  - an edge that reaches no earlier index points to an earlier vertex, so equal indices form no
  //    cycle
  //  - a view is released by one combine, of as many indices, which needs it at shift 0 and which
  //    it needs at shift 1..64
  //  - a slot of a ring is written by one vertex, which needs each reader of it at a shift of
  //    1..slots, or wholly
  //  - the places fit the action (a send reads a buffer, ...)
  void finish();

  // Steps through these numbers.
  Steps add_table(std::vector<std::int32_t> entries);

  const Layout& layout(Place place) const noexcept { return layouts[buffer_of(place)]; }

  // ---- with layouts and indices of one call ----

  // Most pieces of a step. Regular blocks are counted alike on all members.
  std::uint64_t pieces(const Layout* bound, const Vertex& v) const noexcept;
  Indices indices(const Layout* bound, const Vertex& v) const noexcept {
    const std::uint64_t inner = (pieces(bound, v) - v.lane + v.lanes - 1) / v.lanes;
    return {static_cast<std::uint32_t>(inner) * v.steps, static_cast<std::uint32_t>(inner)};
  }
  std::uint64_t length_elements(const Layout* bound, const Vertex& v, Indices n,
                                std::uint32_t i) const noexcept {
    const Layout& of = bound[buffer_of(v.shape)];
    const auto block = static_cast<std::uint64_t>(v.block.at(n.step(i)));
    const std::uint64_t at = piece(v, n, i) * piece_elements;
    const std::uint64_t all = of.length(block, v.run_at(n.step(i)));
    return at < all ? std::min(piece_elements, all - at) : 0;
  }
  // In bytes from the beginning of the buffer `place`, which holds the segment in `block`.
  std::uint64_t offset_bytes(const Layout* bound, const Vertex& v, Indices n, std::uint32_t i,
                             Place place, const Steps& block) const noexcept {
    const Layout& of = bound[buffer_of(place)];
    if (of.kind == Layout::Kind::kRing) return i % of.blocks * ring_slot_bytes(of);
    const auto number = static_cast<std::uint64_t>(block.at(n.step(i)));
    const std::uint64_t at = piece(v, n, i) * piece_elements;
    const std::uint64_t all = of.length(number, v.run_at(n.step(i)));
    return (of.begin(number) + std::min(at, all)) * element_bytes;
  }
  FlowPosition position(const Layout* bound, const Vertex& v, Indices n,
                        std::uint32_t i) const noexcept {
    if (v.peer.is_constant()) {
      const Layout& of = bound[buffer_of(v.shape)];
      if (of.pieces_before == nullptr || (v.steps == 1 && v.run != 0)) return {i, n.count};
      return dense_position(of, v, n, i);
    }
    if (!irregular && v.run != 0) return {n.piece(i), n.inner};
    const Layout& of = bound[buffer_of(v.shape)];
    const std::uint32_t step = n.step(i);
    const auto block = static_cast<std::uint64_t>(v.block.at(step));
    return {n.piece(i), std::max(1U, pieces_of(of.length(block, v.run_at(step))))};
  }
  // Does the flow of index i go on after indices that are skipped? Then, with a window full of
  // those, nothing else of it is posted until this one is complete.
  bool ends_run(const Layout* bound, const Vertex& v, Indices n, std::uint32_t i) const noexcept {
    const Layout& of = bound[buffer_of(v.shape)];
    if (of.pieces_before == nullptr || v.steps == 1 || !v.peer.is_constant()) return false;
    const auto block = static_cast<std::uint64_t>(v.block.at(n.step(i)));
    return n.piece(i) + 1 == pieces_of(of.length(block, v.run_at(n.step(i))));
  }
  // Elements of the flow that index i belongs to.
  std::uint64_t flow_elements(const Layout* bound, const Vertex& v, Indices n,
                              std::uint32_t i) const noexcept;
  std::uint64_t ring_slot_bytes(const Layout& ring) const noexcept {
    return (ring.elements * element_bytes + 63) & ~std::uint64_t{63};
  }
  // Of the longest segment; each begins at a multiple of 64.
  std::uint64_t segment_slot_bytes() const noexcept {
    return (piece_elements * element_bytes + 63) & ~std::uint64_t{63};
  }
  std::uint32_t pieces_of(std::uint64_t elements) const noexcept {
    return static_cast<std::uint32_t>((elements + piece_elements - 1) / piece_elements);
  }
  // Does the buffer belong to the instance? Each begins at a multiple of 64.
  bool is_own(std::size_t buffer) const noexcept {
    if (buffer == buffer_of(Place::kInput)) return packs_input;
    if (buffer == buffer_of(Place::kOutput)) return packs_output;
    return buffer < buffer_of(Place::kUserInput);
  }
  // Of all that belong to it.
  std::uint64_t scratch_bytes(const Layout* bound) const noexcept;
  std::uint64_t buffer_bytes(const Layout& layout) const noexcept {
    if (layout.kind == Layout::Kind::kRing) return layout.blocks * ring_slot_bytes(layout);
    return (layout.extent() * element_bytes + 63) & ~std::uint64_t{63};
  }

  // ---- of a regular plan, or one that is bound (plan/binding.hpp) ----

  std::int32_t peer(const Vertex& v, std::uint32_t i) const noexcept {
    return v.peer.at(v.indices.step(i));
  }
  std::uint32_t block(const Vertex& v, std::uint32_t i) const noexcept {
    return static_cast<std::uint32_t>(v.block.at(v.indices.step(i)));
  }
  // Of what is written, and of what is read.
  std::uint64_t offset_bytes(const Vertex& v, std::uint32_t i, Place place) const noexcept {
    return offset_bytes(layouts.data(), v, v.indices, i, place, v.block);
  }
  std::uint64_t source_bytes(const Vertex& v, std::uint32_t i, Place place) const noexcept {
    return offset_bytes(layouts.data(), v, v.indices, i, place, v.elsewhere ? v.from : v.block);
  }
  std::uint64_t length_elements(const Vertex& v, std::uint32_t i) const noexcept {
    return length_elements(layouts.data(), v, v.indices, i);
  }
  FlowPosition position(const Vertex& v, std::uint32_t i) const noexcept {
    return position(layouts.data(), v, v.indices, i);
  }

  std::string to_text() const;  // one line per vertex
  std::string to_graphviz() const;
  friend bool operator==(const Plan&, const Plan&) = default;

  // Of its step, in all lanes.
  static std::uint64_t piece(const Vertex& v, Indices n, std::uint32_t i) noexcept {
    return v.lane + std::uint64_t{v.lanes} * n.piece(i);
  }

 private:
  FlowPosition dense_position(const Layout& of, const Vertex& v, Indices n,
                              std::uint32_t i) const noexcept;
};

// Nodes over whose heads an allreduce may be spread (NodePlan::spread).
inline constexpr std::int32_t kSpreadNodesMax = 16;
// Between fewer a message to one is a message to all others.
inline constexpr std::int32_t kMulticastNodesMin = 3;

// Why a request is as it is, for people: a rule of choose.cpp, or a line of a profile.
struct Reason {
  const char* rule = "";
  int line = 0;                                                          // 0: no profile
  friend bool operator==(const Reason&, const Reason&) { return true; }  // makes no other plan
};

// Everything a plan depends on. No field is "auto" here: coll/choice/choose.hpp resolves options
// first. Equal requests give equal plans.
struct PlanRequest {
  Collective collective = Collective::kBarrier;
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::int32_t root = 0;
  std::uint64_t elements = 0;  // as Call::count
  std::uint32_t element_bytes = 1;
  bool commutative = true;                         // false: combine in rank order
  bool in_place = false;                           // input and output are the same
  bool packs_input = false, packs_output = false;  // this rank's elements lie apart
  bool replaces = false;  // and what is unpacked is in the place of what is packed
  bool moves = false;     // and a mover packs them, beside all the rest
  bool shares = false;    // and the others of the node reach what lies on its device, and it theirs
  bool direct = false;    // and its adapter reaches it, for the others
  bool combines = false;  // which also combines, and then reads and writes where they lie
  // Of this rank alone: its input becomes ready by and by; what lands is handed to a consumer;
  // blocks may lie in order of arrival.
  bool awaits = false, delivers = false, places = false;
  const Neighbors* neighbors = nullptr;  // of this rank, for those that have some
  esp_algorithm algorithm = ESP_ALGORITHM_TREE;
  esp_shape shape = ESP_SHAPE_BINOMIAL;
  std::int32_t radix = 2;
  NodePlan nodes = {};  // of a team on several nodes
  std::uint64_t segment_bytes = 65536;
  std::int32_t window_send = 8;
  std::int32_t window_recv = 16;
  esp_variant variant = ESP_VARIANT_EVENT;
  Transfer transfer = {};  // of all segments
  Reason reason = {};
  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

// Of a message between two members, which is one vertex: what lands is delivered, or what is sent
// is awaited (algorithms/partial.cpp). Before Plan::finish().
void add_flow_partial(Plan& plan, bool delivers, bool awaits);
// Likewise, where a mover packs what is sent, or unpacks what lands (algorithms/packing.cpp).
void add_flow_packing(Plan& plan, bool receives);

// Likewise, where the other reaches what lies on a device, of a team on these nodes
// (algorithms/sharing.cpp).
struct Sharing {
  bool near = false, far = false;  // members of the own node, of others
};
void add_sharing(Plan& plan, const TeamNodes* nodes, Sharing with);

// Why a request has no plan with NodePlan::multicast, for people; nullptr: it has one.
const char* why_no_multicast(const PlanRequest& request);

// ESP_ERR_ARGUMENT for nonsense (root outside, windows outside 1..64, radix), ESP_ERR_UNSUPPORTED
// for combinations that do not exist (SPREAD with a non-commutative operator, SHORT, which has no
// plan). size == 1 gives a plan without peers.
Result<Plan> make_plan(const PlanRequest& request);

}  // namespace espalier
