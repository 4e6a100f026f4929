// FlowGrants: which segments of a flow may travel before they are asked for, on both sides.
//
// The first kEagerSegments of a flow need no grant. For the others the receiver's posts grant, a
// step at a time; what it has granted is its promise to have memory, so an arrival that it has not
// granted is an error of the sender. An entry lives from the first grant to the last segment that
// needed one, or until its peer is lost or its team is freed: that of a flow which is cancelled
// stays, for its segments may come yet.
//
// Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/matcher.hpp"
#include "core/pool.hpp"
#include "core/wire.hpp"

namespace espalier::net {

class FlowGrants {
 public:
  explicit FlowGrants(std::size_t flows_max = std::size_t{1} << 20) noexcept
      : entries_({64, flows_max}) {}
  ~FlowGrants() {
    table_.for_each([&](MatchNode& node) { entries_.release(static_cast<Entry*>(&node)); });
  }
  FlowGrants(const FlowGrants&) = delete;
  FlowGrants& operator=(const FlowGrants&) = delete;

  // Sender: whether the segment may go now; that it went; that the peer has granted more. False:
  // no memory.
  bool may_send(Rank to, const SegmentId& segment) const noexcept {
    if (segment.ordinal < kEagerSegments) return true;
    const Entry* entry = find(to, segment.flow.key, Side::kSender);
    return entry != nullptr && segment.ordinal < entry->limit;
  }
  void sent(Rank to, const SegmentId& segment) noexcept {
    if (segment.ordinal < kEagerSegments) return;
    use(*find(to, segment.flow.key, Side::kSender), segment.total);
  }
  bool note(Rank from, std::uint64_t flow, std::uint32_t limit) noexcept {
    Entry* entry = find_or_make(from, flow, Side::kSender);
    if (entry != nullptr) entry->limit = std::max(entry->limit, limit);
    return entry != nullptr;
  }

  // Receiver: a receive is posted of a segment that has not come. The limit to tell the sender, 0:
  // nothing; kNoMemory: it would wait for ever. Grants are gathered: one for up to half a window.
  static constexpr std::uint32_t kNoMemory = ~std::uint32_t{0};
  std::uint32_t posted(const SegmentId& segment, std::uint32_t window) noexcept {
    const std::uint32_t limit = segment.ordinal + 1;
    if (limit <= kEagerSegments) return 0;
    const std::uint32_t step = std::clamp(window / 2, 1U, kStepMax);
    if (limit % step != 0 && limit != segment.total) return 0;
    Entry* entry = find_or_make(segment.peer, segment.flow.key, Side::kReceiver);
    if (entry == nullptr) return kNoMemory;
    if (entry->limit >= limit) return 0;
    return entry->limit = limit;
  }
  // Whether the segment that has come was allowed to.
  bool arrived(Rank from, std::uint64_t flow, std::uint32_t ordinal, std::uint32_t total) noexcept {
    if (ordinal < kEagerSegments) return true;
    Entry* entry = find(from, flow, Side::kReceiver);
    if (entry == nullptr || ordinal >= entry->limit) return false;
    use(*entry, total);
    return true;
  }

  void forget(Rank peer) noexcept {
    table_.for_each([&](MatchNode& node) {
      if (node.peer == peer) drop(static_cast<Entry&>(node));
    });
  }
  void forget_team(std::uint32_t team) noexcept {
    table_.for_each([&](MatchNode& node) {
      if (FlowId::team_of(node.flow) == team) drop(static_cast<Entry&>(node));
    });
  }
  std::size_t count() const noexcept { return table_.count(); }

 private:
  static constexpr std::uint32_t kStepMax = 8;
  enum class Side : std::uint32_t { kSender, kReceiver };  // the table's ordinal
  struct Entry : MatchNode {
    std::uint32_t limit = 0;
    std::uint32_t used = 0;  // segments that needed it
  };

  Entry* find(Rank peer, std::uint64_t flow, Side side) const noexcept {
    return static_cast<Entry*>(table_.find(peer, flow, static_cast<std::uint32_t>(side)));
  }
  Entry* find_or_make(Rank peer, std::uint64_t flow, Side side) noexcept {
    if (Entry* found = find(peer, flow, side)) return found;
    Entry* made = entries_.allocate();
    if (made == nullptr) return nullptr;
    made->peer = peer;
    made->flow = flow;
    made->ordinal = static_cast<std::uint32_t>(side);
    table_.insert(*made);
    return made;
  }
  void use(Entry& entry, std::uint32_t total) noexcept {
    if (++entry.used >= total - kEagerSegments) drop(entry);
  }
  void drop(Entry& entry) noexcept {
    table_.erase(entry);
    entries_.release(&entry);
  }

  Pool<Entry> entries_;
  Matcher table_;
};

}  // namespace espalier::net
