// A team of one: what is not there already is copied.
#include "coll/algorithms/builder.hpp"

namespace espalier {

Result<Plan> make_alone(const PlanRequest& request) {
  Builder builder(request);
  const CollectiveTraits& traits = traits_of(request.collective);
  const bool stays = request.in_place && traits.root_sends;  // a scatter's, in its input
  const bool copies = traits.input != Extent::kNone && !stays;
  if (copies && request.collective != Collective::kExscan) {
    Vertex copy;
    copy.action = Action::kCombine;
    copy.dst = Place::kOutput;
    copy.window = builder.window_recv();
    copy.operands.push_back({Place::kInput, 0});
    copy.skips_empty = true;  // It may be displaced to nowhere.
    builder.add(std::move(copy));
  }
  return builder.finish();
}

}  // namespace espalier
