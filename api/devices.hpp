// Devices: calls whose buffers are memory of devices (GPUs), of any rank by itself: nobody else
// need know.
//
// A program without such memory pays for one look at the list of loaded libraries: only who has
// loaded the driver can have any. With it the quick ways are closed, and each call asks where its
// buffers are; those on a device are packed by the mover (coll/device/device_mover.hpp).
//
// Ownership: a job's. Threads: any (look_at), the owner of the worker (the mover). path: data
#pragma once

#include <memory>
#include <mutex>

#include "coll/device/device_mover.hpp"
#include "core/device/drivers.hpp"
#include "core/device/pointer_kinds.hpp"

struct esp_job;
struct esp_team;

namespace espalier {

struct Call;

class Devices {
 public:
  explicit Devices(esp_job& job);
  ~Devices();

  // May any memory be a device's?
  bool may_be() noexcept { return drivers_.loaded() != nullptr; }
  // Of a call that is checked: who reaches its buffers.
  esp_status look_at(esp_team& team, Call& call);
  // Of a message: `mover` is set where it is a device's. `caller` is for the text.
  esp_status look_at(const char* caller, const void* buffer, Mover*& mover);
  // For functions that take memory of the host alone.
  esp_status refuse(const char* caller, const void* buffer);

 private:
  Result<bool> is_away(const void* buffer);
  Result<Mover*> mover();

  esp_job& job_;
  std::mutex mutex_;  // of all below
  device::Drivers drivers_;
  device::PointerKinds kinds_;
  std::unique_ptr<DeviceMover> mover_;
};

}  // namespace espalier
