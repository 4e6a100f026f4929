#include "tags/keyed_queues.hpp"

#include <algorithm>
#include <limits>

namespace espalier {
namespace {

constexpr std::size_t kFirstChains = 64;

// Every bit of a key counts in the lowest of the hash: tags, and teams, may differ in their upper
// bits alone.
std::uint64_t hash_of(const TagKey& key) noexcept {
  std::uint64_t h = key.tag * 0x9e3779b97f4a7c15ULL;
  h ^= h >> 32;
  h += key.team * 0x165667b19e3779f9ULL + static_cast<std::uint32_t>(key.source);
  h *= 0xc2b2ae3d27d4eb4fULL;
  return h ^ h >> 32;
}

}  // namespace

KeyedQueues::KeyedQueues()
    : pool_({.objects_per_slab = 64, .objects_max = std::numeric_limits<std::size_t>::max()}),
      chains_(kFirstChains) {}

KeyedQueues::~KeyedQueues() {
  ESP_ASSERT(empty());
}

KeyedQueues::Queue*& KeyedQueues::chain(const TagKey& key) const noexcept {
  return chains_[hash_of(key) & (chains_.size() - 1)];
}

KeyedQueues::Queue* KeyedQueues::find(const TagKey& key) const noexcept {
  Queue* queue = chain(key);
  while (queue != nullptr && queue->key != key) queue = queue->next;
  return queue;
}

void KeyedQueues::grow() noexcept {
  const std::vector<Queue*> old = std::move(chains_);
  chains_ = std::vector<Queue*>(2 * old.size());
  for (Queue* queue : old) {
    while (queue != nullptr) {
      Queue* next = queue->next;
      Queue*& first = chain(queue->key);
      queue->next = first;
      first = queue;
      queue = next;
    }
  }
}

bool KeyedQueues::push_back(const TagKey& key, Node& node) noexcept {
  Queue* queue = find(key);
  if (queue == nullptr) {
    if (pool_.in_use() == chains_.size()) grow();
    queue = pool_.allocate(key);
    if (queue == nullptr) return false;
    Queue*& first = chain(key);
    queue->next = first;
    first = queue;
  }
  queue->entries.push_back(node);
  node.queue = queue;
  return true;
}

void KeyedQueues::remove(Node& node) noexcept {
  Queue* queue = node.queue;
  node.unlink();
  node.queue = nullptr;
  if (!queue->entries.empty()) return;
  Queue** link = &chain(queue->key);
  while (*link != queue) link = &(*link)->next;
  *link = queue->next;
  pool_.release(queue);
}

KeyedQueues::Node* KeyedQueues::front(const TagKey& key) const noexcept {
  Queue* queue = find(key);
  return queue != nullptr ? queue->entries.front() : nullptr;
}

KeyedQueues::Node* KeyedQueues::after(Node& node) const noexcept {
  return node.queue->entries.after(node);
}

KeyedQueues::Node* KeyedQueues::any() const noexcept {
  for (Queue* queue : chains_) {
    if (queue != nullptr) return queue->entries.front();
  }
  return nullptr;
}

std::size_t KeyedQueues::longest_chain() const noexcept {
  std::size_t longest = 0;
  for (const Queue* queue : chains_) {
    std::size_t length = 0;
    for (; queue != nullptr; queue = queue->next) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace espalier
