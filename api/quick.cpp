#include "api/quick.hpp"

#include "api/start.hpp"

namespace espalier::api {
namespace {

// Do they share a byte? Then they are wrong, or in place.
bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

bool buffers_are_in_order(const Team& team, const Call& call, const CollectiveTraits& traits,
                          std::uint64_t bytes) noexcept {
  const bool is_root = team.rank == call.root;
  const bool gives = !traits.root_sends || is_root, gets = !traits.root_gets || is_root;
  const auto is_memory = [](const void* at) { return at != nullptr && at != ESP_IN_PLACE; };
  if ((gives && !is_memory(call.input)) || (gets && !is_memory(call.output))) return false;
  const std::uint64_t all = bytes * static_cast<std::uint64_t>(team.size());
  return !gives || !gets ||
         !overlap(call.input, traits.input == Extent::kPerMember ? all : bytes, call.output,
                  traits.output == Extent::kPerMember ? all : bytes);
}

}  // namespace

bool goes_quick(const esp_team& handle, Call& call) noexcept {
  const Team& team = handle.team;
  esp_job& job = *handle.job;
  // Irregular ones have no count before their lengths are looked at.
  if (!team.quick || call.collective < Collective::kAllgather || call.count == 0) return false;
  if (static_cast<unsigned>(call.type) >= ESP_TYPE_COUNT || job.worker->in_progress()) return false;
  if (job.devices->may_be()) return false;
  const CollectiveTraits& traits = traits_of(call.collective);
  std::uint64_t bytes = 0;
  call.element_bytes = static_cast<std::uint32_t>(job.short_tables.type_bytes[call.type]);
  if (__builtin_mul_overflow(call.count, call.element_bytes, &bytes)) return false;
  if (bytes >= team.short_end[static_cast<std::size_t>(call.collective)]) return false;
  if (static_cast<unsigned>(call.root) >= static_cast<unsigned>(team.size())) return false;
  if (!buffers_are_in_order(team, call, traits, bytes)) return false;
  if (!traits.reduces) return true;
  if (static_cast<unsigned>(call.op) >= ESP_OP_BUILTIN_COUNT) return false;
  const CombineKernel kernel =
      job.short_tables
          .kernels[static_cast<std::size_t>(call.op)][static_cast<std::size_t>(call.type)];
  if (kernel == nullptr) return false;
  call.combiner = Combiner(kernel, call.type);
  return true;
}

esp_status run_quick(esp_team& handle, const Call& call) noexcept {
  handle.team.enter(call.signature());
  ++handle.job->counters.short_operations;
  const bool completed = handle.job->short_path->exchange(handle.team, call);
  if (completed && handle.team.shown_unread == 0) [[likely]]
    return ESP_OK;
  return conclude_slowly(handle, completed);
}

}  // namespace espalier::api
