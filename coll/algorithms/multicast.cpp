// What the root of a message has reaches all other nodes at once, through the network's group.
//
//   the root's node      root --tree inside--> member of the group --multicast, all others-->
//   every other node     --> member of the group --tree inside--> the rest
//
// Where nodes have several leaders, parts of nodes stand for nodes on the way down
// (TeamNodes::of_group()), while sums go up by nodes.
//
// Each arrow carries segment by segment. Nobody else sends between nodes, so a port sends what it
// publishes once, however many nodes there are.
#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

// Of the way down: that up uses channel 0.
constexpr std::uint8_t kChannelDown = 2;

}  // namespace

std::vector<std::int32_t> others_of_group(const PlanRequest& request) {
  const TeamNodes& nodes = request.nodes.nodes->of_group();
  const std::int32_t own = nodes.node_of(request.rank);
  std::vector<std::int32_t> others;
  others.reserve(static_cast<std::size_t>(nodes.count()));
  for (std::int32_t k = 1; k < nodes.count(); ++k) {
    others.push_back(nodes.group_member((own + k) % nodes.count()));
  }
  return others;
}

void add_multicast(Builder& builder, std::int32_t root, std::uint8_t channel,
                   const Reduced& before) {
  const PlanRequest& request = builder.request();
  const TeamNodes& nodes = request.nodes.nodes->of_group();
  const TreeNode node = tree_node_of_multicast(
      {.size = request.size, .root = root, .nodes = request.nodes}, request.rank);
  const Lane lane{.node = node,
                  .channel = channel,
                  .count = builder.pieces(),
                  .multicasts = request.rank == nodes.group_member(nodes.node_of(root))};
  add_broadcast(builder, lane, before);
}

// The sum goes to the first node's member of the group, which has nothing to pass on before. Safe
// in place as all allreduces (allreduce.cpp).
Result<Plan> make_allreduce_by_multicast(const PlanRequest& request) {
  Builder builder(request);
  const std::int32_t root = request.nodes.nodes->of_group().group_member(0);
  for_each_tree(builder, root, [&](const Lane& up) {
    add_multicast(builder, root, kChannelDown, add_reduction(builder, up));
  });
  return builder.finish();
}

}  // namespace espalier
