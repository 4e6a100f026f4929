#include "coll/engine/plan_cache.hpp"

#include "coll/engine/instance.hpp"
#include "core/plant.hpp"

namespace espalier {

PlanKey PlanKey::of(const Call& call) noexcept {
  PlanKey key;
  key.collective = call.collective;
  key.commutative = ESP_PLANT(14, call.combiner.commutative(), true);
  key.combines = call.reduction != nullptr;
  // What is packed is read and written in two places.
  const bool is_one_place = !call.packs_output || key.combines;
  key.in_place = call.in_place && is_one_place && replaces_blocks(call.collective);
  key.replaces = call.in_place && call.packs_input && call.packs_output;
  key.packs_input = call.packs_input;
  key.packs_output = call.packs_output;
  key.moves = call.mover != nullptr;
  key.shares = call.shares;
  key.direct = call.direct;
  key.awaits = call.gate.function != nullptr;
  key.delivers = call.consumer.function != nullptr;
  key.places = call.places;
  if (call.neighbors != nullptr) key.graph = call.neighbors->id;
  key.root = call.root;
  key.count = call.count;
  key.element_bytes = call.element_bytes;
  key.algorithm = call.options.algorithm;
  key.shape = call.options.shape;
  key.variant = call.options.variant;
  key.radix = call.options.radix;
  key.window_send = call.options.window_send;
  key.window_recv = call.options.window_recv;
  key.segment_bytes = call.options.segment_bytes;
  return key;
}

std::size_t PlanCache::Hash::operator()(const PlanKey& key) const noexcept {
  const auto pair = [](auto high, auto low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  std::uint64_t hash = 0;
  for (const std::uint64_t word :
       {pair(key.collective, key.commutative + 2 * key.in_place + 4 * key.among_heads +
                                 8 * key.packs_input + 16 * key.packs_output + 32 * key.awaits +
                                 64 * key.delivers + 128 * key.places + 256 * key.moves +
                                 512 * key.shares + 1024 * key.replaces + 2048 * key.combines +
                                 4096 * key.direct),
        std::uint64_t{key.graph}, pair(key.root, key.element_bytes), key.count,
        pair(key.algorithm, key.shape), pair(key.variant, key.radix),
        pair(key.window_send, key.window_recv), key.segment_bytes}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

PlanCache::PlanCache() = default;

PlanCache::~PlanCache() {
  while (idle_.pop_front() != nullptr) {
  }
}

PlanEntry* PlanCache::find(const PlanKey& key) noexcept {
  const auto found = entries_.find(key);
  return found != entries_.end() ? found->second.get() : nullptr;
}

PlanEntry& PlanCache::add(const PlanKey& key, Plan plan) {
  auto made = std::make_unique<PlanEntry>(key, std::move(plan));
  PlanEntry& entry = *made;
  entries_.emplace(key, std::move(made));
  lay_aside(entry);
  return entry;
}

Instance* PlanCache::take(PlanEntry& entry) {
  if (entry.linked()) {
    entry.unlink();
    --idle_plans_;
    idle_bytes_ -= entry.bytes();
  }
  Instance* instance = entry.take();
  if (instance == nullptr && entry.in_use == 0) lay_aside(entry);
  return instance;
}

void PlanCache::give_back(Instance& instance) noexcept {
  PlanEntry& entry = *instance.entry;
  entry.give_back(&instance, keeps_all_);
  if (ESP_PLANT(21, entry.in_use > 0, entry.linked())) return;
  lay_aside(entry);
}

void PlanCache::lay_aside(PlanEntry& entry) noexcept {
  idle_.push_back(entry);
  ++idle_plans_;
  idle_bytes_ += entry.bytes();
  trim();
}

void PlanCache::trim() noexcept {
  if (keeps_all_) return;
  while (idle_plans_ > limits_.plans ||
         (idle_bytes_ > limits_.bytes && idle_plans_ > limits_.plans_least)) {
    PlanEntry& oldest = *idle_.pop_front();
    --idle_plans_;
    idle_bytes_ -= oldest.bytes();
    entries_.erase(entries_.find(oldest.key));
  }
}

}  // namespace espalier
