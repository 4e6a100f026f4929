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

// Nothing is placed: that takes one look.
std::unique_ptr<World> copying_connections(int ranks) {
  const rdma::DirectMemoryOptions memory = {.register_from_bytes = std::uint64_t{1} << 40};
  return std::make_unique<VerbsWorld>(ranks, Over::kConnections, "", memory);
}

std::string why_no_faults() {
  return verbs::in_guest() ? "" : "needs a network that may be made bad";
}

WorldKind on_bad_network(const char* name, std::unique_ptr<World> (*make)(int)) {
  WorldKind kind{name, make, 1, 500};
  kind.large_bytes = 4 << 20;
  kind.slow = kind.faulty = true;
  kind.why_not = why_no_faults;
  return kind;
}
WorldKind on_good_network(const char* name, std::unique_ptr<World> (*make)(int)) {
  WorldKind kind{name, make, 2, 5000};
  kind.slow = true;
  return kind;
}

}  // namespace

std::vector<WorldKind> all_worlds() {
  // The guest's processors are slow, and time-outs take real time.
  return {on_good_network("Ud", good<Over::kDatagrams>),
          on_good_network("Rc", good<Over::kConnections>),
          on_bad_network("UdBadNetwork", bad<Over::kDatagrams>),
          on_bad_network("RcBadNetwork", bad<Over::kConnections>)};
}

std::vector<WorldKind> random_worlds() {
  return {on_good_network("Ud", good<Over::kDatagrams>),
          on_good_network("Rc", good<Over::kConnections>),
          on_bad_network("UdWorseNetwork", worse<Over::kDatagrams>),
          on_bad_network("RcWorseNetwork", worse<Over::kConnections>)};
}

std::vector<WorldKind> plain_links() {
  return {on_good_network("Ud", good<Over::kDatagrams>),
          on_good_network("RcCopies", copying_connections)};
}

}  // namespace espalier::test
