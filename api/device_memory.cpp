// C API: memory of devices. Contracts in devices.h. path: slow
#include <fmt/format.h>

#include <cstring>

#include "api/api.hpp"
#include "espalier/devices.h"

namespace api = espalier::api;

extern "C" {

int esp_memory_is_device(esp_job* job, const void* at) {
  return job != nullptr && job->devices->may_be() && job->devices->is_out_of_reach(at) ? 1 : 0;
}

esp_status esp_memory_copy(esp_job* job, void* to, const void* from, size_t bytes) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (bytes == 0) return ESP_OK;
  if (to == nullptr || from == nullptr) {
    return api::bad_argument(*job, __func__, fmt::format("{} bytes, from or to NULL", bytes));
  }
  const bool packs = esp_memory_is_device(job, from) != 0;
  if (!packs && esp_memory_is_device(job, to) == 0) {
    std::memcpy(to, from, bytes);
    return ESP_OK;
  }
  if (!api::may_block(*job)) return api::refuse_blocking(*job, __func__);
  auto* source = static_cast<std::byte*>(const_cast<void*>(from));
  auto* target = static_cast<std::byte*>(to);
  const espalier::Outcome copied =
      job->devices->copy({.pattern = &job->short_tables.plain_patterns[ESP_BYTE],
                          .elements = packs ? source : target,
                          .run = packs ? target : source,
                          .bytes = bytes,
                          .packs = packs});
  if (copied.ok()) return ESP_OK;
  const espalier::Error& why = copied.error();
  return api::fail(*job, why.status.code(),
                   fmt::format("{}, rank {}: {}", __func__, job->rank, why.text));
}

}  // extern "C"
