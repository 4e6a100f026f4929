// TwoPlaces: memory of a device for tests of wires, which is the host's.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/away_memory.hpp"

namespace espalier::test {

// Memory that is reached by way of a copy, "there", of what its owner has. Fetches end when asked.
class TwoPlaces final : public AwayMemory {
 public:
  AwayName name_of(const void* at) noexcept override {
    AwayName name;
    if (gives_names) std::memcpy(name.bytes.data(), &at, sizeof at);
    return name;
  }
  const void* open(Rank owner, const AwayName& name) noexcept override {
    EXPECT_EQ(owner, 0);
    const void* at = nullptr;
    std::memcpy(&at, name.bytes.data(), sizeof at);
    if (at != nullptr && opens) ++open_now;
    return opens ? at : nullptr;
  }
  void close(Rank, const void*) noexcept override { --open_now; }
  Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
               Completion& op) noexcept override {
    if (retries > 0) return --retries, Posted::kRetry;
    ++fetched;
    fetches.push_back({dst, src, bytes, &op});
    return Posted::kPending;
  }
  Posted store(void* dst, const std::byte* src, std::uint64_t bytes,
               Completion& op) noexcept override {
    if (retries > 0) return --retries, Posted::kRetry;
    stored += bytes;
    fetches.push_back({static_cast<std::byte*>(dst), src, bytes, &op});
    return Posted::kPending;
  }
  void cancel(Completion& op) noexcept override {
    std::erase_if(fetches, [&](const Fetch& fetch) { return fetch.op == &op; });
  }
  std::byte* allocate(std::uint64_t bytes) noexcept override {
    ++allocated;
    return new std::byte[bytes];
  }
  void release(std::byte* memory, std::uint64_t) noexcept override {
    --allocated;
    delete[] memory;
  }
  AwayAllocation allocation_of(const void* at) noexcept override {
    for (const AwayAllocation& one : allocations) {
      const auto* const byte = static_cast<const std::byte*>(at);
      if (byte >= one.begin && byte < one.begin + one.bytes) return one;
    }
    return {};
  }
  Result<Descriptor> file_of(const AwayAllocation&) override {
    ++files;
    if (file_error != ESP_OK) return error(file_error, "no file of this memory");
    return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  // This memory is a device's from now on, for adapters.
  void add(std::vector<std::byte>& memory) {
    allocations.push_back({allocations.size() + 1, memory.data(), memory.size()});
  }
  void end_fetches(Status status = {}) {
    for (const Fetch& fetch : std::exchange(fetches, {})) {
      if (status.ok()) std::memcpy(fetch.dst, fetch.src, fetch.bytes);
      fetch.op->complete(status);
    }
  }

  struct Fetch {
    std::byte* dst;
    const void* src;
    std::uint64_t bytes;
    Completion* op;
  };
  bool gives_names = true, opens = true;
  int open_now = 0, allocated = 0, retries = 0;
  std::vector<Fetch> fetches;
  std::vector<AwayAllocation> allocations;
  int files = 0, fetched = 0;
  std::uint64_t stored = 0;  // bytes
  esp_status file_error = ESP_OK;
};

}  // namespace espalier::test
