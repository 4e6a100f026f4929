#include "esp-bench/op_kind.hpp"

#include <cstddef>
#include <iterator>

namespace espalier::bench {
namespace {

struct Name {
  const char* text;
  bool by_default = false;
};

// Positions are the values of OpKind.
constexpr Name kNames[] = {{"barrier", true},
                           {"bcast", true},
                           {"reduce", true},
                           {"allreduce", true},
                           {"scan"},
                           {"exscan"},
                           {"allgather"},
                           {"allgatherv"},
                           {"allgatherv-skewed"},
                           {"gather"},
                           {"gatherv"},
                           {"gatherv-skewed"},
                           {"alltoall"},
                           {"alltoallv"},
                           {"alltoallv-skewed"},
                           {"alltoallw"},
                           {"scatter"},
                           {"scatterv"},
                           {"reduce_scatter_block"},
                           {"reduce_scatter"},
                           {"reduce_scatter-skewed"},
                           {"neighbor_allgather"},
                           {"neighbor_alltoall"},
                           {"p2p-latency", true},
                           {"p2p-bandwidth", true},
                           {"put-latency"},
                           {"put-bandwidth"},
                           {"get-latency"},
                           {"get-bandwidth"},
                           {"fetch-add-latency"},
                           {"fetch-add-rate"},
                           {"am-latency"},
                           {"am-rate"}};
static_assert(std::size(kNames) == static_cast<std::size_t>(OpKind::kMessageRate) + 1);

}  // namespace

const char* op_name(OpKind kind) {
  return kNames[static_cast<std::size_t>(kind)].text;
}

const std::map<std::string, OpKind>& all_ops() {
  static const std::map<std::string, OpKind> all = [] {
    std::map<std::string, OpKind> ops;
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      ops.emplace(kNames[i].text, static_cast<OpKind>(i));
    }
    return ops;
  }();
  return all;
}

std::vector<OpKind> default_ops() {
  std::vector<OpKind> ops;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i].by_default) ops.push_back(static_cast<OpKind>(i));
  }
  return ops;
}

}  // namespace espalier::bench
