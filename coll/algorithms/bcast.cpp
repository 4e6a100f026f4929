// Broadcast. The root's data lie in its kOutput, as everybody's do afterwards.
#include "coll/algorithms/builder.hpp"

namespace espalier {

Result<Plan> make_bcast(const PlanRequest& request) {
  Builder builder(request);
  if (request.algorithm == ESP_ALGORITHM_PUBLISH) {
    add_publication(builder, request.root, 0);
  } else if (request.nodes.multicast) {
    add_multicast(builder, request.root, 0);
  } else {
    for_each_tree(builder, request.root, [&](const Lane& lane) { add_broadcast(builder, lane); });
  }
  return builder.finish();
}

}  // namespace espalier
