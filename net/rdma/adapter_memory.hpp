// AdapterMemory: pages for an adapter to read and write while this process goes on.
//
// A child that is forked does not get them: on kernels before 5.12 the adapter might stay with the
// page of one of the two processes, and send or fill what the other never sees.
//
// Ownership: the memory, which never moves. Threads: any. path: setup
#pragma once

#include <cstddef>
#include <memory>

#include "core/status.hpp"

namespace espalier::rdma {

class AdapterMemory {
 public:
  // Zeros, from the begin of a page on.
  static Result<std::unique_ptr<AdapterMemory>> create(std::size_t bytes);
  ~AdapterMemory();
  AdapterMemory(const AdapterMemory&) = delete;
  AdapterMemory& operator=(const AdapterMemory&) = delete;

  std::byte* begin() const noexcept { return begin_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  AdapterMemory(std::byte* begin, std::size_t bytes) noexcept : begin_(begin), bytes_(bytes) {}

  std::byte* const begin_;
  const std::size_t bytes_;
};

}  // namespace espalier::rdma
