// C API: types whose elements lie apart. Contracts in layouts.h. path: setup
#include <fmt/format.h>

#include <algorithm>

#include "api/under_way.hpp"
#include "core/pattern.hpp"

using espalier::Call;
using espalier::Pattern;
using espalier::Result;
namespace api = espalier::api;

namespace {

esp_status add_type(esp_job& job, const char* caller, Result<Pattern> pattern, esp_type* made) {
  if (made == nullptr) return api::bad_argument(job, caller, "the place for the type is NULL");
  if (!pattern) {
    return api::fail(job, pattern.error().status.code(),
                     fmt::format("{}: {}", caller, pattern.error().text));
  }
  api::on_owner(job, [&] { *made = job.types.add(std::move(*pattern)); });
  return ESP_OK;
}

// Among the types of a side's blocks?
bool names(const esp_type* types, const espalier::Layout& layout, esp_type type) noexcept {
  return types != nullptr && layout.kind == espalier::Layout::Kind::kCounts &&
         std::find(types, types + layout.blocks, type) != types + layout.blocks;
}

bool uses(const espalier::Instance& instance, const Pattern* pattern, esp_type type) noexcept {
  const Call& call = instance.call;
  return call.pattern == pattern ||
         names(call.in_types, instance.plan->layout(espalier::Place::kInput), type) ||
         names(call.out_types, instance.plan->layout(espalier::Place::kOutput), type);
}

bool is_used(const esp_job& job, esp_type type) {
  const Pattern* pattern = job.types.find(type);
  if (job.tags->uses(pattern)) return true;
  for (const auto& handle : job.teams) {
    const espalier::ShortOperation* s = handle->team.short_operations;
    for (; s != nullptr; s = s->next) {
      if (s->packing != nullptr && s->packing->pattern() == pattern) return true;
    }
  }
  return api::any_instance(job,
                           [&](const espalier::Instance& i) { return uses(i, pattern, type); });
}

}  // namespace

extern "C" {

esp_status esp_type_strided(esp_job* job, esp_type type, size_t blocks, size_t length,
                            size_t stride, size_t extent, esp_type* made) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  return add_type(*job, __func__, Pattern::strided(type, blocks, length, stride, extent), made);
}

esp_status esp_type_blocks(esp_job* job, esp_type type, size_t blocks, const size_t* lengths,
                           const size_t* displs, size_t extent, esp_type* made) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (blocks > 0 && (lengths == nullptr || displs == nullptr)) {
    return api::bad_argument(*job, __func__, "lengths or displs are NULL");
  }
  if (blocks > Pattern::kBytesMax / sizeof(size_t)) {
    return api::bad_argument(*job, __func__, fmt::format("{} blocks (was it negative?)", blocks));
  }
  return add_type(*job, __func__,
                  Pattern::listed(type, {lengths, blocks}, {displs, blocks}, extent), made);
}

esp_status esp_type_free(esp_job* job, esp_type type) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  esp_status status = ESP_OK;
  const char* caller = __func__;
  api::on_owner(*job, [&] {
    if (type < ESP_TYPE_COUNT || job->types.find(type) == nullptr) {
      status = api::bad_argument(*job, caller, "not a type that this job has made");
    } else if (is_used(*job, type)) {
      status = api::fail(*job, ESP_ERR_STATE,
                         "esp_type_free: operations under way or persistent requests use it");
    } else {
      (void)job->types.remove(type);
    }
  });
  return status;
}

}  // extern "C"
