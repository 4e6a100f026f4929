// SparseMatcher: as core/matcher.hpp, for a million of them in one process: no memory before the
// first entry, then as much as its entries need.
//
// Nodes are intrusive and found by (peer, flow, ordinal); nothing walks the table in its own
// order while it lives. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/wire.hpp"

namespace espalier::sim {

class SparseMatcher {
 public:
  MatchNode* find(Rank peer, std::uint64_t flow, std::uint32_t ordinal) const noexcept {
    if (count_ == 0) return nullptr;
    MatchNode* node = buckets_[slot(peer, flow, ordinal)];
    while (node != nullptr && !is(*node, peer, flow, ordinal)) node = node->match_next;
    return node;
  }

  // Key fields of the node are set by the caller.
  void insert(MatchNode& node) {
    if (count_ == buckets_.size()) grow();
    link(node);
    ++count_;
  }

  // The node is in the table.
  void erase(MatchNode& node) noexcept {
    MatchNode** at = &buckets_[slot(node.peer, node.flow, node.ordinal)];
    while (*at != &node) {
      ESP_ASSERT(*at != nullptr);
      at = &(*at)->match_next;
    }
    *at = node.match_next;
    node.match_next = nullptr;
    --count_;
  }

  std::size_t count() const noexcept { return count_; }

  // `visit` may release the node, if the table is not used any more.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (MatchNode* node : buckets_) {
      while (node != nullptr) visit(*std::exchange(node, node->match_next));
    }
  }

 private:
  static constexpr std::size_t kFirstBuckets = 4;

  static bool is(const MatchNode& node, Rank peer, std::uint64_t flow,
                 std::uint32_t ordinal) noexcept {
    return node.flow == flow && node.ordinal == ordinal && node.peer == peer;
  }
  std::size_t slot(Rank peer, std::uint64_t flow, std::uint32_t ordinal) const noexcept {
    std::uint64_t h =
        flow ^ (std::uint64_t{ordinal} << 17) ^ (static_cast<std::uint64_t>(peer) << 5);
    h *= 0x9e3779b97f4a7c15ULL;
    return (h >> 32) & (buckets_.size() - 1);
  }
  void link(MatchNode& node) noexcept {
    MatchNode*& bucket = buckets_[slot(node.peer, node.flow, node.ordinal)];
    node.match_next = bucket;
    bucket = &node;
  }
  void grow() {
    const std::vector<MatchNode*> old = std::move(buckets_);
    buckets_.assign(old.empty() ? kFirstBuckets : 2 * old.size(), nullptr);
    for (MatchNode* node : old) {
      while (node != nullptr) {
        MatchNode* next = node->match_next;
        link(*node);
        node = next;
      }
    }
  }

  std::vector<MatchNode*> buckets_;  // a power of two of them, or none
  std::size_t count_ = 0;
};

}  // namespace espalier::sim
