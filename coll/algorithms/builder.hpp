// Helpers of the plan makers: a plan under construction, and the phases that several collectives
// are made of. Private to coll/algorithms and coll/plan/plan.cpp.
//
// Values only; any thread. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coll/algorithms/trees.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

using VertexId = std::uint16_t;

// A plan under construction for one request. The control variants of trees post one segment at a
// time, whatever the request's windows say.
class Builder {
 public:
  // Buffers are as the collective's row says; what is one message there may be cut into several
  // nearly equal blocks. `run`: blocks that are sent as one.
  explicit Builder(const PlanRequest& request, std::uint32_t blocks = 1, std::uint32_t run = 1);

  const PlanRequest& request() const { return request_; }
  Plan& plan() { return plan_; }
  const Vertex& vertex(VertexId id) const { return plan_.vertices[id]; }
  // Of each of the message's blocks.
  std::uint32_t pieces() const { return pieces_; }
  bool blocking() const { return request_.variant == ESP_VARIANT_BLOCKING; }
  bool waitall() const { return request_.variant == ESP_VARIANT_WAITALL; }
  bool controlled() const { return request_.variant != ESP_VARIANT_EVENT; }
  bool one_at_a_time() const { return controlled() && request_.algorithm == ESP_ALGORITHM_TREE; }
  std::uint16_t window_send() const;
  std::uint16_t window_recv() const;

  VertexId add(Vertex vertex);
  // A scratch buffer; of a ring: `slots` segments.
  Place add_scratch(const Layout& layout);
  Place add_ring(std::uint32_t slots);
  // Index i of `vertex` needs index i - shift of `other`, the same piece `steps` steps earlier, or
  // all of them.
  void need(VertexId vertex, VertexId other, std::int32_t shift = 0);
  void need_step(VertexId vertex, VertexId other, std::int32_t steps);
  // Index 0 of `vertex` needs the last index of `other`, which has one step.
  void need_last(VertexId vertex, VertexId other);
  void need_all(VertexId vertex, VertexId other);
  // Steps of `vertex` need those of `other` in the batches of `steps` before their own.
  void need_batches(VertexId vertex, VertexId other, std::uint32_t steps);
  // A send or publication of what `source` brings. The edge to itself keeps segments that overtake
  // others from filling the window: were all of it taken by segments that the receivers cannot
  // accept before an earlier one, that one could never be sent.
  void need_source(VertexId vertex, VertexId source, std::int32_t steps = 0);
  Result<Plan> finish();

 private:
  const PlanRequest& request_;
  std::uint32_t pieces_ = 1;
  Plan plan_;
};

// The segments that take one tree, and this rank's place in it.
struct Lane {
  const TreeNode& node;
  std::uint8_t channel = 0;
  std::uint32_t piece = 0;  // first, and every `stride`-th after it
  std::uint32_t stride = 1;
  std::uint32_t count = 0;
  // On the way down this rank publishes all to the others of the network's group.
  bool multicasts = false;
};

inline constexpr VertexId kNoVertex = 0xffff;

// What a reduction leaves behind: its combine (kNoVertex on a leaf) and its send to the parent
// (kNoVertex on the root). The root's result is in kOutput.
struct Reduced {
  VertexId combine = kNoVertex;
  VertexId send = kNoVertex;
};

// A vertex for all segments of a lane.
Vertex transfer(const Lane& lane, Action action, std::int32_t peer, std::uint16_t window);
// Reduces every rank's kInput up a tree.
Reduced add_reduction(Builder& builder, const Lane& lane);
// Brings the root's kOutput down a tree into every rank's kOutput. `before` is what the same lane's
// reduction left behind, if any: the root broadcasts what it combines.
void add_broadcast(Builder& builder, const Lane& lane, const Reduced& before = {});
// Adds `publish` (all but its peers is set) for these readers, wherever they are; it needs
// `source`.
void add_publish(Builder& builder, Vertex publish, std::vector<std::int32_t> readers,
                 VertexId source, std::int32_t steps = 0);
// One publication by `root` of its kOutput for all others to read into theirs.
void add_publication(Builder& builder, std::int32_t root, std::uint8_t channel,
                     VertexId source = kNoVertex);

// By multicast (multicast.cpp): the other members of the team's group of the network, from the next
// node on, or the next part of one.
std::vector<std::int32_t> others_of_group(const PlanRequest& request);
// Brings the root's kOutput into every rank's; `before` as for add_broadcast().
void add_multicast(Builder& builder, std::int32_t root, std::uint8_t channel,
                   const Reduced& before = {});

// Calls `add(lane)` for each tree of the request's shape, or each stripe, that has segments to
// carry.
template <typename Add>
void for_each_tree(Builder& builder, std::int32_t root, Add&& add) {
  const PlanRequest& request = builder.request();
  const bool striped = request.nodes.follow && request.nodes.stripes > 1;
  const std::uint32_t trees = striped ? static_cast<std::uint32_t>(request.nodes.stripes)
                              : request.shape == ESP_SHAPE_TWO_TREE ? 2
                                                                    : 1;
  for (std::uint32_t tree = 0; tree < trees && tree < builder.pieces(); ++tree) {
    // A broadcast's root has enough to do for its own node. Of an allreduce each stripe has a root
    // of its own.
    const auto stripe = static_cast<std::int32_t>(tree);
    const bool moves = striped && !traits_of(request.collective).rooted;
    const TreeNode node =
        tree_node({.shape = request.shape,
                   .radix = request.radix,
                   .size = request.size,
                   .root = moves ? stripe_leader(*request.nodes.nodes, stripe, 0) : root,
                   .rank_order = !request.commutative,
                   .half = striped ? 0 : static_cast<int>(tree),
                   .nodes = request.nodes,
                   .stripe = striped ? stripe : 0,
                   .relays = request.collective == Collective::kBcast},
                  request.rank);
    add(Lane{.node = node,
             .channel = static_cast<std::uint8_t>(tree),
             .piece = tree,
             .stride = trees,
             .count = (builder.pieces() - tree + trees - 1) / trees});
  }
}

// By leaders of nodes; a team without nodes is on one. `make(nodes)` gives the plan.
template <typename Make>
Result<Plan> make_on_nodes(const PlanRequest& request, Make&& make) {
  if (request.nodes.nodes != nullptr) return make(*request.nodes.nodes);
  const std::vector<std::int32_t> one_node(static_cast<std::size_t>(request.size), 0);
  return make(TeamNodes::of(one_node));
}
// A table of a plan with an entry for each node.
template <typename Entry>
Steps table_by_node(Plan& plan, const TeamNodes& nodes, Entry&& entry) {
  std::vector<std::int32_t> entries;
  for (std::int32_t node = 0; node < nodes.count(); ++node) entries.push_back(entry(node));
  return plan.add_table(std::move(entries));
}

// The makers. Requests are valid and size >= 2.
Result<Plan> make_bcast(const PlanRequest& request);
Result<Plan> make_reduce(const PlanRequest& request);
Result<Plan> make_allreduce(const PlanRequest& request);  // and barriers: no elements
Result<Plan> make_allgather(const PlanRequest& request);  // and of irregular blocks
Result<Plan> make_allgather_by_leaders(const PlanRequest& request);
Result<Plan> make_alltoall(const PlanRequest& request);  // likewise
Result<Plan> make_alltoall_by_leaders(const PlanRequest& request);
Result<Plan> make_scan(const PlanRequest& request);     // and exscan
Result<Plan> make_gather(const PlanRequest& request);   // likewise
Result<Plan> make_scatter(const PlanRequest& request);  // likewise
Result<Plan> make_reduce_scatter(const PlanRequest& request);
Result<Plan> make_reduce_scatter_by_leaders(const PlanRequest& request);
Result<Plan> make_neighbors(const PlanRequest& request);            // also of teams of one
Result<Plan> make_allreduce_in_rounds(const PlanRequest& request);  // and around a ring
// Of trees that follow several nodes (allreduce_nodes.cpp).
Result<Plan> make_exchange_of_heads(const PlanRequest& request);
Result<Plan> make_spread_over_heads(const PlanRequest& request);
Result<Plan> make_allreduce_by_multicast(const PlanRequest& request);
// size == 1: a copy, or nothing.
Result<Plan> make_alone(const PlanRequest& request);

// Is anything of the buffer sent, or an operand? A chain reads its input in the first step.
bool reads_from(const Vertex& v, Place place);

// Puts copies between the caller's elements, which lie apart, and kInput and kOutput, before and
// after all else (packing.cpp).
void add_packing(Plan& plan, const PlanRequest& request);

// Whether all buffers of the plan are memory of the member's device (on_device.cpp); and the plan
// as it is there, of one whose sends may all be read where they lie.
bool stays_on_device(const PlanRequest& request);
void keep_on_device(Plan& plan);

// Partial completion (partial.cpp). Blocks of the output come to lie one after the other as they
// arrive, if the plan reads nothing of it and writes it block by block.
void place_on_arrival(Plan& plan);
// What is final in kOutput goes to kUserOutput at once, not at the end.
void add_unpacking(Plan& plan);
// The request's deliveries and awaits, after all else.
void add_partial(Plan& plan, const PlanRequest& request);

// The plan's `algorithm`, for people.
std::string describe_algorithm(const PlanRequest& request, const Plan& plan, std::uint32_t pieces);

}  // namespace espalier
