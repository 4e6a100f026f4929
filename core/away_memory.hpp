// AwayMemory: memory that the processor cannot reach, and that other processes of the machine can
// have in their own address space all the same: of devices. For wires, which pass on its names.
//
// The owner names a place, the name travels, and who has it opens the place: an address that
// devices of the opener reach, and the processor does not. An opened place is closed when it is not
// read any more; its name may then be opened again. Adapters of a network know such memory as a
// file. Threads: owner of the worker. path: data (known memory), slow (the first time)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/completion.hpp"
#include "core/descriptor.hpp"
#include "core/status.hpp"

namespace espalier {

// What the bytes say only AwayMemory knows. All zero: a place that cannot be opened.
struct AwayName {
  std::array<std::byte, 80> bytes = {};
};

// An allocation that a place is in. Its number is never given to another one; 0: it has none.
struct AwayAllocation {
  std::uint64_t number = 0;
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
};

class AwayMemory {
 public:
  virtual ~AwayMemory() = default;
  virtual AwayName name_of(const void* at) noexcept = 0;
  // nullptr: it cannot be reached from here.
  virtual const void* open(Rank owner, const AwayName& name) noexcept = 0;
  virtual void close(Rank owner, const void* opened) noexcept = 0;
  // Copies into memory of the host, for who cannot open it. As a wire's post: kDone, kPending, then
  // op completes from progress() of whatever drives this; kRetry: nothing happened.
  virtual Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
                       Completion& op) noexcept = 0;
  // Of fetch() and store(): when it returns nothing is read or written any more, and op does not
  // complete.
  virtual void cancel(Completion& op) noexcept = 0;
  // Memory to fetch into; nullptr: there is none.
  virtual std::byte* allocate(std::uint64_t bytes) noexcept = 0;
  virtual void release(std::byte* memory, std::uint64_t bytes) noexcept = 0;

  // For adapters that read and write such memory themselves.
  virtual AwayAllocation allocation_of(const void* at) noexcept {
    (void)at;
    return {};
  }
  // All of the allocation, from its begin on, as a file that adapters register.
  // ESP_ERR_UNSUPPORTED: this driver, or device, has no such files.
  virtual Result<Descriptor> file_of(const AwayAllocation& allocation) {
    (void)allocation;
    return error(ESP_ERR_UNSUPPORTED, "there are no files of such memory");
  }
  // As fetch(), the other way: beside what adapters have written. Who gives files has it.
  virtual Posted store(void* dst, const std::byte* src, std::uint64_t bytes,
                       Completion& op) noexcept {
    (void)dst;
    (void)src;
    (void)bytes;
    (void)op;
    return Posted::kRetry;
  }
};

}  // namespace espalier
