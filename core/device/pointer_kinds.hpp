// PointerKinds: where pointers point, asked of the driver once per allocation.
//
// Without a driver in the process all memory is the host's, and nobody is asked. With one, each
// look-up asks it for the number of the allocation that holds the pointer, one call that takes no
// lock of the device's. Numbers are never used twice, and what is remembered is remembered by
// number: memory that was freed, and given again at the same address, cannot be taken for what it
// was. Nor can memory of the host: nothing is remembered of it.
//
// Ownership: the driver is its owner's. Threads: owner. path: data; nothing is allocated unless the
// driver fails
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/device/device.hpp"
#include "core/device/drivers.hpp"

namespace espalier::device {

class PointerKinds {
 public:
  // `drivers` outlives this.
  explicit PointerKinds(Drivers& drivers) noexcept : drivers_(&drivers) {}

  Result<Place> of(const void* at) {
    Driver* const driver = drivers_->loaded();
    if (driver == nullptr) return Place{};
    return ask(*driver, at);
  }

 private:
  static constexpr std::size_t kPlaces = 64;  // those of the latest allocations, by their numbers

  Result<Place> ask(Driver& driver, const void* at);

  Drivers* drivers_;
  std::array<Place, kPlaces> places_;
};

}  // namespace espalier::device
