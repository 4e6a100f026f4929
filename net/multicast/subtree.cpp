#include "net/multicast/subtree.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {

Merged Subtree::merged(Merged own) const noexcept {
  for (const Child& child : children_) {
    if (ESP_PLANT(100, child.acked.before(own.acked), false)) {
      own.acked = child.acked;
      own.state.slowest = child.state.slowest;
    }
    if (child.state.missed > own.state.missed) {
      own.state.missed = child.state.missed;
      own.state.worst = child.state.worst;
    }
  }
  return own;
}

}  // namespace espalier::multicast
