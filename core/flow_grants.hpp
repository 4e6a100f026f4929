// FlowGrants: which segments of a flow may travel before they are asked for, for every wire.
//
// The first kEagerSegments of a flow need no grant. For the others the receiver's posts grant, a
// step at a time. A sender keeps what it was granted. A receiver that does not trust its senders
// keeps what it has granted: that is its promise to have memory, so an arrival that it has not
// granted is an error of the sender. An entry lives from the first grant to the last segment that
// needed one, or until its peer is lost or its team is freed: that of a flow which is cancelled
// stays, for its segments may come yet.
//
// Ownership: entries are of a pool that the wire has (simulated wires share one). Threads: owner.
// path: data
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/matcher.hpp"
#include "core/pool.hpp"
#include "core/wire.hpp"

namespace espalier {

// The limit to tell the sender when a receive is posted, which covers this segment; 0: nothing now.
// Grants are gathered: one for up to half a window, and one for the last segment.
inline std::uint32_t grant_due(const SegmentId& segment, std::uint32_t window,
                               std::uint32_t eager = kEagerSegments) noexcept {
  constexpr std::uint32_t kStepMax = 8;
  const std::uint32_t limit = segment.ordinal + 1;
  const std::uint32_t step = std::clamp(window / 2, 1U, kStepMax);
  const bool due = limit > eager && (limit % step == 0 || limit == segment.total);
  return due ? limit : 0;
}

struct FlowGrant : MatchNode {
  std::uint32_t limit = 0;
  std::uint32_t used = 0;  // segments that needed it
};

// `Table`: a Matcher, or what finds nodes like one.
template <typename Table>
class FlowGrantsIn {
 public:
  explicit FlowGrantsIn(Pool<FlowGrant>& entries, std::uint32_t eager = kEagerSegments) noexcept
      : entries_(entries), eager_(eager) {}
  ~FlowGrantsIn() {
    table_.for_each([&](MatchNode& node) { entries_.release(static_cast<FlowGrant*>(&node)); });
  }
  FlowGrantsIn(const FlowGrantsIn&) = delete;
  FlowGrantsIn& operator=(const FlowGrantsIn&) = delete;

  // Sender: whether the segment may go now; that it went; that the peer has granted more. False:
  // no memory. Segments may go in any order.
  bool may_send(Rank to, const SegmentId& segment) const noexcept {
    if (segment.ordinal < eager_) return true;
    const FlowGrant* entry = find(to, segment.flow.key, Side::kSender);
    return entry != nullptr && segment.ordinal < entry->limit;
  }
  void sent(Rank to, const SegmentId& segment) noexcept {
    if (segment.ordinal < eager_) return;
    FlowGrant* entry = find(to, segment.flow.key, Side::kSender);
    if (entry != nullptr) use(*entry, segment.total);  // else its team has been freed meanwhile
  }
  bool note(Rank from, std::uint64_t flow, std::uint32_t limit) noexcept {
    FlowGrant* entry = find_or_make(from, flow, Side::kSender);
    if (entry != nullptr) entry->limit = std::max(entry->limit, limit);
    return entry != nullptr;
  }

  // Receiver: a receive is posted of a segment that has not come. The limit to tell the sender, 0:
  // nothing, or nothing new; kNoMemory: it would wait for ever.
  static constexpr std::uint32_t kNoMemory = ~std::uint32_t{0};
  std::uint32_t posted(const SegmentId& segment, std::uint32_t window) noexcept {
    const std::uint32_t limit = grant_due(segment, window, eager_);
    if (limit == 0) return 0;
    FlowGrant* entry = find_or_make(segment.peer, segment.flow.key, Side::kReceiver);
    if (entry == nullptr) return kNoMemory;
    if (entry->limit >= limit) return 0;
    return entry->limit = limit;
  }
  // Whether the segment that has come was allowed to.
  bool arrived(Rank from, std::uint64_t flow, std::uint32_t ordinal, std::uint32_t total) noexcept {
    if (ordinal < eager_) return true;
    FlowGrant* entry = find(from, flow, Side::kReceiver);
    if (entry == nullptr || ordinal >= entry->limit) return false;
    use(*entry, total);
    return true;
  }

  void forget(Rank peer) noexcept {
    table_.for_each([&](MatchNode& node) {
      if (node.peer == peer) drop(static_cast<FlowGrant&>(node));
    });
  }
  void forget_team(std::uint32_t team) noexcept {
    table_.for_each([&](MatchNode& node) {
      if (FlowId::team_of(node.flow) == team) drop(static_cast<FlowGrant&>(node));
    });
  }
  std::size_t count() const noexcept { return table_.count(); }

 private:
  enum class Side : std::uint32_t { kSender, kReceiver };  // the table's ordinal

  FlowGrant* find(Rank peer, std::uint64_t flow, Side side) const noexcept {
    return static_cast<FlowGrant*>(table_.find(peer, flow, static_cast<std::uint32_t>(side)));
  }
  FlowGrant* find_or_make(Rank peer, std::uint64_t flow, Side side) noexcept {
    if (FlowGrant* found = find(peer, flow, side)) return found;
    FlowGrant* made = entries_.allocate();
    if (made == nullptr) return nullptr;
    made->peer = peer;
    made->flow = flow;
    made->ordinal = static_cast<std::uint32_t>(side);
    table_.insert(*made);
    return made;
  }
  void use(FlowGrant& entry, std::uint32_t total) noexcept {
    if (++entry.used >= total - eager_) drop(entry);
  }
  void drop(FlowGrant& entry) noexcept {
    table_.erase(entry);
    entries_.release(&entry);
  }

  Pool<FlowGrant>& entries_;
  Table table_;
  const std::uint32_t eager_;
};

using FlowGrants = FlowGrantsIn<Matcher>;

}  // namespace espalier
