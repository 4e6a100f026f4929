// Where the buffers of operations lie, and how the processor gets at what is in
// them: in place, or by copies to and from a device. Only what is not timed
// comes here.
//
// Ownership: what is allocated must be released before this goes. Threads:
// main. path: setup
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "esp-bench/backend.hpp"
#include "esp-bench/options.hpp"

namespace espalier::bench {

class BufferMemory {
 public:
  // Throws where there is no such memory.
  static std::unique_ptr<BufferMemory> open(Backend& backend, Alloc alloc);
  virtual ~BufferMemory() = default;
  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;

  // Whole pages. Throws where there is none.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* at) noexcept = 0;

  // Where the processor writes what shall be at `at`; all of it is there after
  // written(). One at a time, and so are reads.
  virtual std::byte* to_write(std::byte* at, std::size_t /*bytes*/) { return at; }
  virtual void written(std::byte* /*at*/, std::size_t /*bytes*/) {}
  // Where it reads what is at `at`, until the next call.
  virtual const std::byte* to_read(const std::byte* at, std::size_t /*bytes*/) { return at; }

  // Of a device: which. Empty: of the host.
  const std::string& device() const { return device_; }
  bool is_played() const { return is_played_; }

 protected:
  BufferMemory() = default;
  std::string device_;
  bool is_played_ = false;
};

}  // namespace espalier::bench
