// Reduction to one rank, in rotated rank order (root, root + 1, ...) or, if the operator does not
// commute, in rank order.
#include "coll/algorithms/builder.hpp"

namespace espalier {

Result<Plan> make_reduce(const PlanRequest& request) {
  Builder builder(request);
  for_each_tree(builder, request.root, [&](const Lane& lane) { add_reduction(builder, lane); });
  return builder.finish();
}

}  // namespace espalier
