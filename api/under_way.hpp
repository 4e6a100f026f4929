// What a handle must not be freed under: instances that run, and those of persistent requests.
// Threads: owner. path: setup
#pragma once

#include "api/api.hpp"
#include "coll/engine/instance.hpp"

namespace espalier::api {

// Is there one that `uses(instance)`?
template <typename Uses>
bool any_instance(const esp_job& job, Uses&& uses) {
  for (const auto& handle : job.teams) {
    for (const Instance* i = handle->team.active; i != nullptr; i = i->active_next) {
      if (uses(*i)) return true;
    }
  }
  for (const esp_request* r = job.open_requests; r != nullptr; r = r->open_next) {
    const Instance* bound = r->bound.load(std::memory_order_relaxed);
    if (bound != nullptr && uses(*bound)) return true;
  }
  return false;
}

}  // namespace espalier::api
