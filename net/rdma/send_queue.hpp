// SendQueue: the operations of one connection that have not been reported complete, oldest first.
//
// Selective signalling: only every (depth / 4)-th operation asks for a completion, which stands for
// those before it as well, so a full queue always has one to wait for; operations whose end
// somebody waits for are forced to. What follows the last signaled one is the *tail*: nobody will
// report it until something is posted behind it (ConnectionLink posts an empty write after a
// while).
//
// Value. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/assert.hpp"

namespace espalier::rdma {

template <typename Record>
class SendQueue {
 public:
  // The ring is a power of two: no position costs a division.
  explicit SendQueue(std::uint32_t depth)
      : ring_(std::bit_ceil(depth)), depth_(depth), every_(std::max(1U, depth / 4)) {
    ESP_ASSERT(depth >= 2);
  }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  bool full() const noexcept { return size_ == depth_; }
  std::uint64_t count() const noexcept { return next_; }  // of operations so far
  // Unsignaled operations behind the last signaled one.
  bool has_tail() const noexcept { return tail_ > 0; }

  struct Ticket {
    std::uint64_t cookie;
    bool signaled;
  };
  Ticket add(Record record, bool force) noexcept {
    ESP_ASSERT(!full());
    const bool signaled = force || tail_ + 1 >= every_;
    tail_ = signaled ? 0 : tail_ + 1;
    at(next_++) = std::move(record);
    ++size_;
    return {next_, signaled};
  }
  // Hands out, oldest first, what a completion with this cookie stands for. False: a cookie that
  // was not given out, or is complete already.
  template <typename Done>
  [[nodiscard]] bool complete(std::uint64_t cookie, Done&& done) noexcept {
    if (cookie > next_ || cookie <= next_ - size_) return false;
    while (next_ - size_ < cookie) done(pop());
    return true;
  }
  // The connection is no more: hands out everything, oldest first.
  template <typename Visit>
  void clear(Visit&& visit) noexcept {
    while (size_ > 0) visit(pop());
    tail_ = 0;
  }
  template <typename Visit>
  void for_each(Visit&& visit) noexcept {
    for (std::uint64_t i = next_ - size_; i < next_; ++i) visit(at(i));
  }

 private:
  Record& at(std::uint64_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
  Record pop() noexcept {
    Record record = std::move(at(next_ - size_));
    --size_;
    return record;
  }

  std::vector<Record> ring_;
  std::uint32_t depth_, every_;
  std::uint32_t tail_ = 0;
  std::uint64_t next_ = 0;  // operations so far; the cookie of an operation is its number from 1
  std::size_t size_ = 0;
};

}  // namespace espalier::rdma
