// KeyedQueues: FIFO queues found by key, in O(1) whatever their number and lengths.
//
// A queue exists while something is in it. Queues are pooled, and the table of chains doubles when
// there are more queues than chains, so nothing is allocated once a size has been seen.
// Ownership: entries are the caller's, which carry their own links and leave before they die.
// Threads: owner. path: data (all), slow (growing)
#pragma once

#include <cstdint>
#include <memory>

#include "core/intrusive_list.hpp"
#include "core/pool.hpp"
#include "core/status.hpp"

namespace espalier {

// Of a message, or of a receive without wildcards.
struct TagKey {
  std::uint32_t team = 0;
  Rank source = kNoRank;  // in the job
  std::uint64_t tag = 0;
  friend bool operator==(const TagKey&, const TagKey&) noexcept = default;
};

class KeyedQueues {
  struct Queue;

 public:
  struct Node : ListNode {
    Queue* queue = nullptr;
  };

  KeyedQueues();
  ~KeyedQueues();

  // False: no memory.
  [[nodiscard]] bool push_back(const TagKey& key, Node& node) noexcept;
  void remove(Node& node) noexcept;
  // nullptr: there is none.
  Node* front(const TagKey& key) const noexcept;
  Node* after(Node& node) const noexcept;
  // Of any queue. path: slow
  Node* any() const noexcept;
  bool empty() const noexcept { return pool_.in_use() == 0; }
  std::size_t queues() const noexcept { return pool_.in_use(); }
  // Queues that a search may walk along. path: slow
  std::size_t longest_chain() const noexcept;

 private:
  struct Queue {
    explicit Queue(const TagKey& of) noexcept : key(of) {}
    const TagKey key;
    IntrusiveList<Node> entries;
    Queue* next = nullptr;  // of the chain
  };

  Queue*& chain(const TagKey& key) const noexcept;
  Queue* find(const TagKey& key) const noexcept;
  void grow() noexcept;

  Pool<Queue> pool_;
  std::unique_ptr<Queue*[]> chains_;
  std::size_t chain_count_ = 0;  // a power of two
};

}  // namespace espalier
