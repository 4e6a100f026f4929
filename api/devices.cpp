#include "api/devices.hpp"

#include <fmt/format.h>

#include "api/api.hpp"
#include "api/check.hpp"
#include "api/extents.hpp"

namespace espalier {

Devices::Devices(esp_job& job) : job_(job), drivers_(job.config, &job.log), kinds_(drivers_) {}
Devices::~Devices() = default;

// Memory that the processor may not touch. The lock is held.
Result<bool> Devices::is_away(const void* buffer) {
  if (buffer == nullptr) return false;
  auto place = kinds_.of(buffer);
  if (!place.ok()) return error(ESP_ERR_DEVICE, place.error().text);
  return !device::host_may_touch(place->kind);
}

// Made at the first call that needs it. The lock is held.
Result<Mover*> Devices::mover() {
  if (mover_ != nullptr) return static_cast<Mover*>(mover_.get());
  mover_ = std::make_unique<DeviceMover>(DeviceMover::Context{
      drivers_, *drivers_.loaded(), job_.worker->timers(), job_.clock, job_.counters, job_.rank});
  api::on_owner(job_, [&] { job_.worker->attach(*mover_); });
  return static_cast<Mover*>(mover_.get());
}

esp_status Devices::look_at(esp_team& team, Call& call) {
  const std::lock_guard lock(mutex_);
  if (!may_be()) return ESP_OK;
  const CollectiveTraits& traits = traits_of(call.collective);
  const api::Sides sides = api::sides_of(team.team, call);
  auto input = is_away(sides.gives ? call.input : nullptr);
  auto output = is_away(sides.gets ? call.output : nullptr);
  if (!input || !output) {
    const std::string& why = (input.ok() ? output.error() : input.error()).text;
    return api::fail(job_, ESP_ERR_DEVICE, fmt::format("{}: {}", api::caller_of(call), why));
  }
  if (!*input && !*output) return ESP_OK;
  if (call.options.partial != nullptr) {
    return api::fail(
        job_, ESP_ERR_UNSUPPORTED,
        fmt::format("{}: partial completion of memory of a device", api::caller_of(call)));
  }
  auto made = mover();
  if (!made) return api::fail(job_, made.error());
  call.mover = *made;
  if (call.pattern == nullptr && !traits.types) {
    call.pattern = &job_.short_tables.plain_patterns[static_cast<std::size_t>(call.type)];
  }
  call.packs_input = call.packs_input || *input;
  call.packs_output = call.packs_output || *output;
  return ESP_OK;
}

esp_status Devices::look_at(const char* caller, const void* buffer, Mover*& reaches) {
  const std::lock_guard lock(mutex_);
  if (!may_be()) return ESP_OK;
  auto away = is_away(buffer);
  if (!away)
    return api::fail(job_, ESP_ERR_DEVICE, fmt::format("{}: {}", caller, away.error().text));
  if (!*away) return ESP_OK;
  auto made = mover();
  if (!made) return api::fail(job_, made.error());
  reaches = *made;
  return ESP_OK;
}

esp_status Devices::refuse(const char* caller, const void* buffer) {
  const std::lock_guard lock(mutex_);
  if (!may_be()) return ESP_OK;
  auto away = is_away(buffer);
  if (away.ok() && !*away) return ESP_OK;
  return api::fail(job_, away.ok() ? ESP_ERR_UNSUPPORTED : ESP_ERR_DEVICE,
                   fmt::format("{}: {}", caller,
                               away.ok() ? "the buffer is memory of a device, which collectives "
                                           "and esp_send and esp_recv take"
                                         : away.error().text));
}

}  // namespace espalier
