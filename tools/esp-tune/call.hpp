// One collective of one size on a team, with buffers of its own: what is timed.
//
// Buffers form a ring of slots, one for each call of a batch, which are written anew before each
// batch as a program would; long batches go around the ring. Reductions are sums of floats; what
// has a root has rank 0. path: data
#pragma once

#include <cstddef>
#include <memory>

#include "coll/plan/collective.hpp"

namespace esp_tune {

class Call {
 public:
  static constexpr std::size_t kBufferBytesMax = 64 << 20;
  static constexpr std::size_t kSlotsMax = 16;

  // Of each of the two buffers of a call.
  static std::size_t buffer_bytes(espalier::Collective collective, int ranks, std::size_t bytes);

  // `bytes`, a multiple of 4: of the message, or of one block.
  Call(esp_team* team, espalier::Collective collective, std::size_t bytes);

  std::size_t slots() const { return slots_; }
  void rewrite(std::size_t calls, unsigned round);
  // Blocks. Without options as a program calls that has none. What starting answers is ESP_ERR_
  // ARGUMENT or ESP_ERR_UNSUPPORTED, on all members, where the library cannot do it that way.
  esp_status run(std::size_t slot, const esp_coll_options* options);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  static Memory make(std::size_t bytes);

  esp_team* team_;
  espalier::Collective collective_;
  std::size_t bytes_, stride_, slots_;
  Memory input_, output_;
};

}  // namespace esp_tune
