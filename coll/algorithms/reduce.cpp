// Reduction to one rank, in rotated rank order (root, root + 1, ...) or, if the operator does not
// commute, in rank order.
#include "coll/algorithms/builder.hpp"

namespace espalier {

Result<Plan> make_reduce(const PlanRequest& request) {
  Builder builder(request, 1);
  for_each_tree(builder, request.root, [&](const Lane& lane) { add_reduction(builder, lane); });
  return builder.finish(describe_algorithm(request, builder.plan().partition));
}

Result<Plan> make_alone(const PlanRequest& request) {
  Builder builder(request, 1);
  if (request.collective == Collective::kReduce || request.collective == Collective::kAllreduce) {
    Vertex copy;
    copy.action = Action::kCombine;
    copy.dst = Place::kOutput;
    copy.window = builder.window_recv();
    copy.count = builder.pieces();
    copy.inner = copy.count;
    copy.operands.push_back({Place::kInput, 0});
    builder.add(std::move(copy));
  }
  return builder.finish(describe_algorithm(request, builder.plan().partition));
}

}  // namespace espalier
