// DeviceShares: memory of devices, between the processes of a node: named by the driver's handles,
// which are made once and opened once (Chu et al., section 3.2).
//
// A name is the handle of the allocation, its number, and where in it the place is. Numbers are
// never used twice, so what is remembered cannot be of other memory. What was opened stays open:
// opening takes the driver a millisecond. Of kOpenMost, what is read by nobody and was used longest
// ago is closed; its owner may free it before that, the driver keeps it until then.
//
// What cannot be opened is remembered, too; who asks for it is told so, and wires copy it.
//
// Ownership: borrows all of Context. Threads: the owner of the worker. path: data (what is known),
// slow
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "coll/device/device_mover.hpp"
#include "core/away_memory.hpp"
#include "core/device/pointer_kinds.hpp"
#include "core/log.hpp"

namespace espalier {

class DeviceShares final : public AwayMemory {
 public:
  struct Context {
    device::Drivers& drivers;
    device::Driver& driver;
    DeviceMover& mover;
    const Log& log;
  };
  explicit DeviceShares(const Context& context) noexcept
      : context_(context), kinds_(context.drivers) {}

  AwayName name_of(const void* at) noexcept override;
  const void* open(Rank owner, const AwayName& name) noexcept override;
  void close(Rank owner, const void* opened) noexcept override;
  Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
               Completion& op) noexcept override;
  Posted store(void* dst, const std::byte* src, std::uint64_t bytes,
               Completion& op) noexcept override;
  void cancel(Completion& op) noexcept override { context_.mover.cancel(op); }
  std::byte* allocate(std::uint64_t bytes) noexcept override {
    return context_.mover.allocate(bytes);
  }
  void release(std::byte* memory, std::uint64_t bytes) noexcept override {
    context_.mover.release(memory, bytes);
  }
  AwayAllocation allocation_of(const void* at) noexcept override;
  Result<Descriptor> file_of(const AwayAllocation& allocation) override;

 private:
  static constexpr std::size_t kNamedMost = 64, kOpenMost = 64, kRefusedMost = 64;
  struct Name {
    device::MemoryHandle handle;
    std::uint64_t allocation = 0;  // 0: it has no handle
    std::uint64_t offset = 0;
  };
  static_assert(sizeof(Name) == sizeof(AwayName));
  struct Allocation {
    Rank owner = kNoRank;
    std::uint64_t number = 0;
    friend bool operator==(const Allocation&, const Allocation&) = default;
  };
  struct Opened {
    Allocation of;
    device::OpenedMemory memory;
    std::uint32_t readers = 0;
    std::uint64_t used = 0;

    std::uintptr_t base() const noexcept {
      return reinterpret_cast<std::uintptr_t>(memory.handle());
    }
  };

  Opened* find_or_open(Allocation of, const device::MemoryHandle& handle) noexcept;
  // Of what nobody reads, the one used longest ago. False: there is none.
  bool close_oldest() noexcept;
  void refuse(Allocation of, const Error& why) noexcept;

  const Context context_;
  device::PointerKinds kinds_;
  const Pattern bytes_ = Pattern::plain(ESP_BYTE);
  std::array<Name, kNamedMost> named_;  // by number; offsets are 0
  std::vector<Opened> opened_;
  std::array<Allocation, kRefusedMost> refused_;
  std::size_t refused_next_ = 0;
  std::uint64_t uses_ = 0;
  bool warned_ = false;
};

}  // namespace espalier
