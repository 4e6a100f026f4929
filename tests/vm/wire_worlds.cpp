// The suite of core/wire.hpp (tests/wire) over real RDMA ports, on a good network and on bad ones.
#include "tests/vm/verbs_world.hpp"
#include "tests/wire/world_kind.hpp"

namespace espalier::test {
namespace {

constexpr const char* kSomeFaults = "loss 1% duplicate 1% delay 200us 100us reorder 10%";
constexpr const char* kManyFaults = "loss 5% duplicate 2% delay 300us 200us reorder 20%";

template <Over kOver>
std::unique_ptr<World> good(int ranks) {
  return std::make_unique<VerbsWorld>(ranks, kOver, "");
}
template <Over kOver>
std::unique_ptr<World> bad(int ranks) {
  return std::make_unique<VerbsWorld>(ranks, kOver, kSomeFaults);
}
template <Over kOver>
std::unique_ptr<World> worse(int ranks) {
  return std::make_unique<VerbsWorld>(ranks, kOver, kManyFaults);
}

}  // namespace

std::vector<WorldKind> all_worlds() {
  // The guest's processors are slow, and time-outs take real time.
  return {{"Ud", good<Over::kDatagrams>, 0, 5000},
          {"Rc", good<Over::kConnections>, 0, 5000},
          {"UdBadNetwork", bad<Over::kDatagrams>, 0, 500},
          {"RcBadNetwork", bad<Over::kConnections>, 0, 500}};
}

std::vector<WorldKind> random_worlds() {
  return {{"Ud", good<Over::kDatagrams>, 2},
          {"Rc", good<Over::kConnections>, 2},
          {"UdWorseNetwork", worse<Over::kDatagrams>, 1},
          {"RcWorseNetwork", worse<Over::kConnections>, 1}};
}

}  // namespace espalier::test
