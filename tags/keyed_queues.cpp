#include "tags/keyed_queues.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

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
      chains_(std::make_unique<Queue*[]>(kFirstChains)),
      chain_count_(kFirstChains) {}

KeyedQueues::~KeyedQueues() {
  ESP_ASSERT(empty());
}

KeyedQueues::Queue*& KeyedQueues::chain(const TagKey& key) const noexcept {
  return chains_[hash_of(key) & (chain_count_ - 1)];
}

KeyedQueues::Queue* KeyedQueues::find(const TagKey& key) const noexcept {
  Queue* queue = chain(key);
  while (queue != nullptr && queue->key != key) queue = queue->next;
  return queue;
}

// Without memory the chains grow longer instead.
void KeyedQueues::grow() noexcept {
  std::unique_ptr<Queue*[]> more(new (std::nothrow) Queue* [2 * chain_count_] {});
  if (more == nullptr) return;
  const std::unique_ptr<Queue*[]> old = std::exchange(chains_, std::move(more));
  const std::size_t old_count = std::exchange(chain_count_, 2 * chain_count_);
  for (std::size_t i = 0; i < old_count; ++i) {
    for (Queue* queue = old[i]; queue != nullptr;) {
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
    if (pool_.in_use() >= chain_count_) grow();
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
  for (std::size_t i = 0; i < chain_count_; ++i) {
    if (chains_[i] != nullptr) return chains_[i]->entries.front();
  }
  return nullptr;
}

std::size_t KeyedQueues::longest_chain() const noexcept {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < chain_count_; ++i) {
    const Queue* queue = chains_[i];
    std::size_t length = 0;
    for (; queue != nullptr; queue = queue->next) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace espalier
