// Matcher: finds the posted receive for a segment, or the segment that came before its receive.
//
// A chained hash table of intrusive nodes keyed by (peer, flow, ordinal): no allocation, O(1). A
// key is in the table at most once: as a posted receive or as an unexpected segment. Threads:
// owner. path: data
#pragma once

#include <array>
#include <cstdint>

#include "core/wire.hpp"

namespace espalier {

class Matcher {
 public:
  MatchNode* find(Rank peer, std::uint64_t flow, std::uint32_t ordinal) const noexcept {
    MatchNode* node = buckets_[slot(peer, flow, ordinal)];
    while (node != nullptr && !is(*node, peer, flow, ordinal)) node = node->match_next;
    return node;
  }

  // Key fields of the node are set by the caller.
  void insert(MatchNode& node) noexcept {
    ESP_ASSERT_SLOW(find(node.peer, node.flow, node.ordinal) == nullptr);
    MatchNode*& bucket = buckets_[slot(node.peer, node.flow, node.ordinal)];
    node.match_next = bucket;
    bucket = &node;
    ++count_;
  }

  // False when the node is not in the table.
  bool erase(MatchNode& node) noexcept {
    MatchNode** link = &buckets_[slot(node.peer, node.flow, node.ordinal)];
    while (*link != nullptr && *link != &node) link = &(*link)->match_next;
    if (*link == nullptr) return false;
    *link = node.match_next;
    node.match_next = nullptr;
    --count_;
    return true;
  }

  std::size_t count() const noexcept { return count_; }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (MatchNode* node : buckets_) {
      while (node != nullptr) {
        MatchNode* next = node->match_next;
        visit(*node);
        node = next;
      }
    }
  }

 private:
  static constexpr std::size_t kBuckets = 512;

  static bool is(const MatchNode& node, Rank peer, std::uint64_t flow,
                 std::uint32_t ordinal) noexcept {
    return node.flow == flow && node.ordinal == ordinal && node.peer == peer;
  }
  static std::size_t slot(Rank peer, std::uint64_t flow, std::uint32_t ordinal) noexcept {
    std::uint64_t h =
        flow ^ (std::uint64_t{ordinal} << 17) ^ (static_cast<std::uint64_t>(peer) << 5);
    h *= 0x9e3779b97f4a7c15ULL;
    return h >> (64 - 9);
  }
  static_assert(kBuckets == 1U << 9);

  std::array<MatchNode*, kBuckets> buckets_{};
  std::size_t count_ = 0;
};

}  // namespace espalier
