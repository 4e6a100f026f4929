// Handles: objects of libibverbs as owning pointers, destroyed in the reverse order of their
// declaration, which is the order that libibverbs asks for. Destroying a queue pair or a completion
// queue waits for events that were taken and not acknowledged: events are acknowledged at once.
//
// Threads: owner. path: setup
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "core/status.hpp"

namespace espalier::verbs {

template <auto Destroy>
struct Destroyer {
  void operator()(auto* object) const noexcept { Destroy(object); }
};

using DeviceList = std::unique_ptr<ibv_device*[], Destroyer<&ibv_free_device_list>>;
using Context = std::unique_ptr<ibv_context, Destroyer<&ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<&ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroyer<&ibv_destroy_comp_channel>>;
using Completions = std::unique_ptr<ibv_cq, Destroyer<&ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroyer<&ibv_destroy_qp>>;
using SharedReceives = std::unique_ptr<ibv_srq, Destroyer<&ibv_destroy_srq>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroyer<&ibv_destroy_ah>>;
inline int deregister(ibv_mr* region) noexcept {
  return ibv_dereg_mr(region);
}
using Registration = std::unique_ptr<ibv_mr, Destroyer<&deregister>>;

// ESP_ERR_NO_MEMORY for limits of the system, else ESP_ERR_NETWORK: "rxe0: ibv_create_qp: reason".
Error verbs_error(const std::string& device, const char* call, int error_number);

}  // namespace espalier::verbs
