// What is under way in a World: messages, their bytes, and sends that have not completed.
//
// Ownership: Message and PendingSend come from pools of the world. A Payload is counted: by the
// messages that carry it and by the view that reads it. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/wire.hpp"
#include "net/sim/machine.hpp"

namespace espalier::sim {

class SimWire;

// The bytes of a segment between sender and receiver.
class Payload {
 public:
  static Payload* copy_of(const void* data, std::uint64_t bytes) {
    void* memory = std::malloc(sizeof(Payload) + bytes);
    ESP_ASSERT(memory != nullptr);
    auto* payload = new (memory) Payload;
    if (bytes > 0) std::memcpy(payload->data(), data, bytes);
    return payload;
  }

  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  void hold() noexcept { ++holders_; }
  void drop() noexcept {
    if (--holders_ == 0) std::free(this);
  }

 private:
  Payload() = default;
  alignas(16) std::uint64_t holders_ = 1;  // data() is aligned as malloc's memory is
};

// A send whose completion is still to fire: after `readers` more of its messages have left, or have
// been acknowledged. Its `chain` is the user's operation, nullptr once that was taken back; the
// user's `chain` is this.
struct PendingSend : SendOp {
  Rank sender = kNoRank;
  bool lost = false;  // a message was dropped: it never completes, and is kept until taken back
};

// A data segment, from the post until the receiver has handled it. As a MatchNode it is a segment
// that came before its receive.
struct Message : MatchNode {
  Message* next = nullptr;  // in the inbox
  const void* source =
      nullptr;                 // the sender's buffer: read by pulls, and where no data are carried
  Payload* payload = nullptr;  // else
  PendingSend* acknowledge = nullptr;  // completes when the receiver has taken the segment
  std::uint64_t bytes = 0;
  std::uint32_t signature = 0;
  Rank to = kNoRank;
  std::uint8_t level = 0;
  Carrier carrier = Carrier::kDevice;
  bool to_group = false;   // a copy of what has left once for several
  bool away = false;       // a name travels: the segment stays on the sender's device
  std::size_t record = 0;  // index + 1 in the world's records
};

// A segment that lies on the sender's device and whose receiver wants its bytes: they are fetched
// into memory of the host.
struct AwayFetch : Completion {
  SimWire* wire = nullptr;
  Message* message = nullptr;
  std::byte* memory = nullptr;
};

// Objects that are reused, in slabs that live as long as this. Unlike core/pool.hpp it may end
// while objects are out: a world ends with messages under way.
template <typename T>
class Recycler {
 public:
  T& take() {
    if (free_.empty()) grow();
    T& object = *free_.back();
    free_.pop_back();
    ++in_use_;
    return object;
  }
  void give_back(T& object) {
    object.~T();
    new (&object) T;
    free_.push_back(&object);
    --in_use_;
  }
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t kSlab = 1024;

  void grow() {
    slabs_.push_back(std::make_unique<T[]>(kSlab));
    for (std::size_t i = kSlab; i-- > 0;) free_.push_back(&slabs_.back()[i]);
  }

  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<T*> free_;
  std::size_t in_use_ = 0;
};

}  // namespace espalier::sim
