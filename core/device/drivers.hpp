// Drivers: which driver of devices this process has, found when it is first needed.
//
// A pointer can only be a device's in a process that has loaded the driver, by itself or by way of
// a runtime. So loaded() never loads it: it looks whether somebody has, and looks again when the
// process has loaded anything more (LoadedObjects). A program without devices pays one read.
// Now there is one kind of driver, CUDA's; others are to be looked for in the same places.
//
// Ownership: the driver, which must outlive what it makes. Threads: owner. path: data (loaded),
// slow (open)
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/config.hpp"
#include "core/device/device.hpp"
#include "core/device/loaded_objects.hpp"
#include "core/log.hpp"

namespace espalier::device {

class Drivers {
 public:
  // `log` is told of a driver that the program has loaded and that cannot be used, and of a setting
  // CUDA_DRIVER that names another library, or none.
  explicit Drivers(const Config& config, const Log* log = nullptr);

  // nullptr: no memory of this process is a device's, or why_not() says otherwise.
  Driver* loaded() {
    if (driver_ != nullptr || !looking_ || !objects_.changed()) return driver_.get();
    return look();
  }
  // False: loaded() is nullptr. Any thread; for who asks at every call.
  bool may_be() const noexcept {
    const link_map* const* sign = sign_.load(std::memory_order_relaxed);
    return __atomic_load_n(sign, __ATOMIC_RELAXED) != nullptr;
  }
  // Loads it if need be, for those who show it. The error says what is wrong: off, absent, too old.
  Result<Driver*> open();
  // Why a driver that the program has loaded cannot be used; empty: there is no such driver.
  const std::string& why_not() const noexcept { return why_not_; }

 private:
  Driver* look();
  void set_sign() noexcept;
  Result<Driver*> take(void* library);
  void doubt_setting();

  const Log* log_;
  std::string library_;  // its name or path
  bool looking_;         // a driver may yet come
  bool doubts_;          // the setting may be wrong, and nobody has been told
  LoadedObjects objects_;
  std::unique_ptr<Driver> driver_;
  std::string why_not_;
  // Not null where nothing more is looked for and there is a driver, or where always is to be
  // looked.
  link_map* word_;
  // Writer: the owner; readers: any thread. Publishes nothing: who uses what a library has given
  // has loaded it before.
  std::atomic<link_map* const*> sign_;
};

}  // namespace espalier::device
