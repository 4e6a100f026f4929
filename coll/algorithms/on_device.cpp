// Combinations that stay on devices, results on their way, too: of a call whose mover combines, in
// a team on one node whose members reach each other's devices, all buffers are memory of the
// device, and so is what the plan has of its own. Nothing is packed: the plan is that of memory of
// the host.
//
//   recv --> kOutput      becomes     view (stays) --> copy --> kOutput
//
// Sends are read where they lie, by kernels and copies of the others. What comes from a member
// without a device lands in memory of the host, which kernels and copies read, too. So either side
// does it by itself.
#include <utility>

#include "coll/algorithms/builder.hpp"
#include "core/assert.hpp"

namespace espalier {
namespace {

// A receive, at this number, as a view that the next vertex copies. Edges to it are to the copy.
void split_receive(Plan& plan, VertexId id) {
  const auto copied = static_cast<VertexId>(id + 1);
  const auto moved = [&](VertexId number) {
    return number >= id ? static_cast<VertexId>(number + 1) : number;
  };
  for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
    Vertex& v = plan.vertices[at];
    for (Dependency& need : v.needs) {
      // What orders the receive among its own segments does so where they come.
      if (at != id || need.vertex != id) need.vertex = moved(need.vertex);
    }
    for (Operand& operand : v.operands) {
      if (operand.place == Place::kView && operand.vertex > id) ++operand.vertex;
    }
  }
  Vertex& view = plan.vertices[id];
  Vertex copy = view;
  copy.action = Action::kCombine;
  copy.operands = {{.place = Place::kView, .vertex = id}};
  copy.needs = {{.vertex = id}};
  view.action = Action::kRecvView;
  view.dst = Place::kNone;
  view.needs.push_back({.vertex = copied, .shift = view.window});
  plan.vertices.insert(plan.vertices.begin() + copied, std::move(copy));
}

}  // namespace

bool stays_on_device(const PlanRequest& request) {
  if (!request.combines || !request.shares || request.size == 1) return false;
  if (request.awaits || request.delivers || request.places) return false;
  const NodePlan& nodes = request.nodes;
  const bool one_node = nodes.nodes == nullptr || nodes.nodes->count() == 1;
  // Its first sum would replace what the partner still reads.
  const bool doubles = request.collective == Collective::kAllreduce &&
                       request.algorithm == ESP_ALGORITHM_DOUBLING && request.replaces;
  return one_node && nodes.exchange_radix == 0 && !doubles;
}

void keep_on_device(Plan& plan) {
  plan.combines = plan.on_device = true;
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    ESP_ASSERT(!plan.vertices[id].leaves);
    const bool receives = plan.vertices[id].action == Action::kRecv;
    if (receives) split_receive(plan, static_cast<VertexId>(id));
    Vertex& v = plan.vertices[id];
    v.stays = v.action == Action::kRecvView;
  }
}

}  // namespace espalier
