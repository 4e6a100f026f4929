// Engine: the plan of a call, known or made. path: data (known), setup
#include <algorithm>
#include <utility>

#include "coll/engine/engine.hpp"

namespace espalier {

PlanRequest Engine::request_of(const Team& team, const Call& call) {
  const PlanKey key = PlanKey::of(call);
  PlanRequest base;
  base.collective = call.collective;
  base.rank = team.rank;
  base.size = team.size();
  base.root = call.root;
  base.elements = call.count;
  base.element_bytes = call.element_bytes;
  base.commutative = call.combiner.commutative();
  base.in_place = key.in_place;
  base.replaces = key.replaces;
  base.packs_input = key.packs_input;
  base.packs_output = key.packs_output;
  base.moves = key.moves;
  base.shares = key.shares;
  base.direct = key.direct;
  base.combines = key.combines;
  base.awaits = key.awaits;
  base.delivers = key.delivers;
  base.places = key.places;
  base.neighbors = call.neighbors;
  base.nodes.nodes = team.layout();
  return base;
}

Result<Plan> Engine::make(const Team& team, const Call& call, const PlanRequest& base,
                          const Tuning& tuning) const {
  auto request = resolve(call.options, base, tuning);
  if (!request) return request.error();
  request->segment_bytes = std::min(request->segment_bytes, team.segment_limit);
  auto plan = make_plan(*request);
  const bool ruled = request->reason.line == 0 && !tuning.costs && !request->nodes.multicast;
  if (plan.ok() || ruled) return plan;
  // A profile's row that is no plan for this call is no row for it, and nor is what costs say.
  Tuning rules = tuning;
  rules.profile = nullptr;
  rules.costs.reset();
  rules.multicast = Multicast::kOff;
  return make(team, call, base, rules);
}

// Before the first post of a plan that goes through the network's group.
void Engine::join_group(Team& team, const Plan& plan) {
  const bool asks = std::ranges::any_of(
      plan.vertices, [](const Vertex& v) { return v.transfer.path == Path::kMulticast; });
  if (!asks || team.in_group || team.network == nullptr) return;
  Wire* const wire = team.network->wire_of_groups();
  if (wire == nullptr) return;
  wire->join_group(team.id, team.group());
  team.in_group = true;
}

Result<PlanEntry*> Engine::plan_for(Team& team, const Call& call, bool among_heads) {
  PlanKey key = PlanKey::of(call);
  key.among_heads = among_heads;
  if (PlanEntry* known = team.plans.find(key)) {
    ++counters_.plans_reused;
    return known;
  }
  PlanRequest base = request_of(team, call);
  Tuning tuning = tuning_;
  if (among_heads) {
    // Who stands for a node there need not be its member of the network's group: the root may.
    tuning.multicast = Multicast::kOff;
    base.nodes.nodes = team.heads();
    base.size = team.heads()->count();
    base.rank = team.node();
    base.root = team.nodes()->node_of(call.root);
  }
  auto plan = make(team, call, base, tuning);
  if (!plan) return plan.error();
  join_group(team, *plan);
  ++counters_.plans_built;
  if (log_ != nullptr && team.rank == 0) {
    log_->debug("{} of {} bytes on team {}: {}", collective_name(call.collective),
                call.count * call.element_bytes, team.id, plan->algorithm);
  }
  return &team.plans.add(key, std::move(*plan));
}

// Does the other reach what lies on a device of this rank, and is it long enough?
Sharing Engine::sharing_of(const Team& team, const Flow& flow) const noexcept {
  if (flow.mover == nullptr || (flow.pattern != nullptr && !flow.pattern->is_plain())) return {};
  const auto peer = static_cast<std::size_t>(flow.peer);
  Wire& wire = team.wire_to(peer);
  const bool near = &wire == team.wire;
  const std::uint64_t least = near ? tuning_.device_share_bytes : tuning_.device_direct_bytes;
  const bool reaches = least > 0 && flow.bytes >= least && wire.caps(team.members[peer]).away;
  return {.near = reaches && near, .far = reaches && !near};
}

Result<PlanEntry*> Engine::plan_for_flow(Team& team, const Flow& flow) {
  PlanKey key;
  key.collective = Collective::kPointToPoint;
  key.root = flow.peer * 2 + (flow.direction == Direction::kReceive ? 1 : 0);
  key.count = flow.bytes;
  key.awaits = flow.gate.function != nullptr;
  key.delivers = flow.consumer.function != nullptr;
  key.moves = flow.mover != nullptr;
  const Sharing with = key.awaits || key.delivers ? Sharing() : sharing_of(team, flow);
  key.shares = with.near;
  key.direct = with.far;
  if (PlanEntry* known = team.plans.find(key)) return known;
  Plan plan;
  plan.collective = Collective::kPointToPoint;
  plan.algorithm = "flow";
  plan.rank = team.rank;
  plan.size = team.size();
  const Partition parts = partition(team, flow.peer, flow.bytes);
  plan.piece_elements = parts.piece_elements;
  plan.layouts[buffer_of(Place::kOutput)].elements = flow.bytes;
  Vertex vertex;
  const bool receive = flow.direction == Direction::kReceive;
  vertex.action = receive ? Action::kRecv : Action::kSend;
  (receive ? vertex.dst : vertex.src) = Place::kOutput;
  vertex.window = static_cast<std::uint16_t>(receive ? tuning_.window_recv : tuning_.window_send);
  vertex.peer = Steps::constant(flow.peer);
  plan.vertices.push_back(vertex);
  if (key.moves) add_flow_packing(plan, receive);
  if (with.near || with.far) add_sharing(plan, nullptr, with);
  add_flow_partial(plan, key.delivers, key.awaits);
  plan.finish();
  ESP_ASSERT(plan.vertices.back().indices.count == parts.pieces);
  ++counters_.plans_built;
  return &team.plans.add(key, std::move(plan));
}

}  // namespace espalier
