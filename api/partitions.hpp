// Partitions: the parts of a request's input that become ready one by one, by threads that say so
// or by what another operation delivers.
//
// Ownership: of a request. Threads: owner, but ready(): any. path: data
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/block_map.hpp"

namespace espalier::api {

class Arrivals;

class Partitions {
 public:
  // `input`: where the run of the map begins, of an input without gaps; nullptr: it has some.
  Partitions(BlockMap blocks, BlockMap parts, const std::byte* input);
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;
  ~Partitions() { unfollow(); }

  int count() const noexcept { return parts_.blocks(); }
  // False: it was ready before.
  bool ready(int partition) noexcept;
  void open_all() noexcept;
  bool all_open() const noexcept { return first_closed() == count(); }
  int first_closed() const noexcept;
  bool is_open(const Portion& portion) const noexcept;
  // For the next round, before anybody is told that this one has ended.
  void close_all() noexcept;

  // Bytes of another operation's output have landed there.
  void landed(const void* address, std::uint64_t bytes) noexcept;
  // Of this round.
  void follow(Arrivals& leader);
  void unfollow() noexcept;
  bool has_gaps() const noexcept { return input_ == nullptr; }

  // What the owner does when more has become ready. Set once.
  void (*notice)(void* context) noexcept = nullptr;
  void* context = nullptr;

 private:
  bool is_set(std::size_t partition) const noexcept {
    const std::uint64_t word = words_[partition / 64].load(std::memory_order_acquire);
    return (word >> partition % 64 & 1) != 0;
  }
  bool set(std::size_t partition) noexcept;

  BlockMap blocks_, parts_;
  const std::byte* input_;
  // A bit of each partition. Writers: who makes it ready (release: publishes what it holds); the
  // owner, between rounds. Reader: the owner.
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::size_t word_count_;
  std::vector<std::uint64_t> left_;  // bytes of each that are still to land
  Arrivals* leader_ = nullptr;
};

}  // namespace espalier::api
