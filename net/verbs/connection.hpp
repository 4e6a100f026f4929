// Connection: one RC queue pair, what is posted on it, and how it ends.
//
// A life: made, connected, halted (it broke, or was stopped), destroyed. Halting takes the queue
// pair to ERR, where nothing is taken in any more, and then destroys it, after which the device is
// done with all memory of ours; what it had completed before has been fetched, the rest of what was
// posted fails. Nothing depends on the device flushing its queues; for the sake of the shared
// receive queue it is given a moment to tell that it has (spare_packets.hpp). (RESET would do as
// well, but in Linux 6.1 Soft-RoCE follows a null pointer if packets arrive meanwhile.)
//
// Threads: owner. path: data (queue), slow (state)
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "net/rdma/connection_port.hpp"
#include "net/verbs/adapter.hpp"
#include "net/verbs/handles.hpp"

namespace espalier::verbs {

rdma::Fault fault_of(ibv_wc_status status) noexcept;

// What is posted: positions [head, tail).
class PostedQueue {
 public:
  struct Entry {
    std::uint64_t cookie = 0;
    bool report = false;   // The caller asked for its completion.
    bool inlined = false;  // The device was handed its bytes, not their address.
  };

  // `depth`: a power of two.
  explicit PostedQueue(std::uint32_t depth) : entries_(depth), mask_(depth - 1) {
    ESP_ASSERT(std::has_single_bit(depth));
  }

  bool full() const noexcept { return tail_ - head_ == entries_.size(); }
  bool empty() const noexcept { return tail_ == head_; }
  std::uint32_t tail() const noexcept { return tail_; }
  std::uint32_t push(const Entry& entry) noexcept {
    ESP_ASSERT(!full());
    entries_[tail_ & mask_] = entry;
    return tail_++;
  }
  Entry pop() noexcept {
    ESP_ASSERT(!empty());
    return entries_[head_++ & mask_];
  }
  // Whether a completion may speak of this position.
  bool holds(std::uint32_t position) const noexcept { return position - head_ < tail_ - head_; }
  Entry& at(std::uint32_t position) noexcept {
    ESP_ASSERT(holds(position));
    return entries_[position & mask_];
  }
  std::uint32_t head() const noexcept { return head_; }

 private:
  std::vector<Entry> entries_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0, tail_ = 0;
};

struct Connection {
  enum class State : std::uint8_t { kFree, kMade, kConnected, kHalted };

  explicit Connection(std::uint32_t depth) : posted(depth) {}

  State state = State::kFree;
  QueuePair queue_pair;
  Endpoint own;
  PostedQueue posted;
  std::uint32_t unsignaled = 0;  // posted since the last that asked the device for a completion
  std::uint32_t generation = 0;  // of this slot: completions of its former users are told apart
  bool stopped = false;          // by the caller: broken() is not told
  bool told = false;             // broken() has been called
  bool receives_back = false;    // the device has told so
  rdma::Fault why = rdma::Fault::kFlushed;
};

// From RESET to RTS, towards `to`.
Outcome connect_queue_pair(const VerbsAdapter& adapter, const Connection& connection,
                           const Endpoint& to);

}  // namespace espalier::verbs
