// The suite of core/wire.hpp (tests/wire) over real RDMA ports, on a good network and on bad ones.
#include "tests/harness/world_kind.hpp"
#include "tests/vm/verbs_world.hpp"

namespace espalier::test {
namespace {

constexpr const char* kSomeFaults = "loss 1% duplicate 1% delay 200us 100us reorder 10%";
constexpr const char* kManyFaults = "loss 5% duplicate 2% delay 300us 200us reorder 20%";

// Nothing is placed: that takes one look.
const rdma::DirectMemoryOptions kCopies = {.register_from_bytes = std::uint64_t{1} << 40};

std::string why_no_faults() {
  return verbs::in_guest() ? "" : "needs a network that may be made bad";
}

WorldKind on_bad_network(const char* name, Over over, const char* netem) {
  WorldKind kind{name, worlds_of<VerbsWorld>(over, netem), 1, 500};
  kind.large_bytes = 4 << 20;
  kind.slow = kind.faulty = true;
  kind.why_not = why_no_faults;
  return kind;
}
WorldKind on_good_network(const char* name, Over over) {
  WorldKind kind{name, worlds_of<VerbsWorld>(over, ""), 2, 5000};
  kind.slow = true;
  return kind;
}

}  // namespace

std::vector<WorldKind> all_worlds() {
  // The guest's processors are slow, and time-outs take real time.
  return {on_good_network("Ud", Over::kDatagrams), on_good_network("Rc", Over::kConnections),
          on_bad_network("UdBadNetwork", Over::kDatagrams, kSomeFaults),
          on_bad_network("RcBadNetwork", Over::kConnections, kSomeFaults)};
}

std::vector<WorldKind> random_worlds() {
  return {on_good_network("Ud", Over::kDatagrams), on_good_network("Rc", Over::kConnections),
          on_bad_network("UdWorseNetwork", Over::kDatagrams, kManyFaults),
          on_bad_network("RcWorseNetwork", Over::kConnections, kManyFaults)};
}

std::vector<WorldKind> plain_links() {
  WorldKind copies = on_good_network("RcCopies", Over::kConnections);
  copies.make = worlds_of<VerbsWorld>(Over::kConnections, "", kCopies);
  return {on_good_network("Ud", Over::kDatagrams), copies};
}

std::vector<WorldKind> connected_links() {
  return {on_good_network("Rc", Over::kConnections)};
}

}  // namespace espalier::test
