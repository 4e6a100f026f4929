#include "net/multicast/placed_tree.hpp"

#include <algorithm>
#include <array>

#include "core/plant.hpp"

namespace espalier::multicast {
namespace {

Sequence lesser(Sequence a, Sequence b) noexcept {
  return a.before(b) ? a : b;
}

}  // namespace

PlacedTree::PlacedTree(const LaneName& lane, std::span<const Rank> members, Rank me,
                       std::uint32_t degree, Sequence first)
    : lane_(lane),
      members_(members),
      me_(index_of(me)),
      source_(index_of(lane.source)),
      tree_(static_cast<std::uint32_t>(members.size()), degree),
      first_(first),
      own_{first, first},
      said_{first, first},
      segment_(first) {
  ESP_ASSERT(me_ != kNobody && source_ != kNobody);
  find_place();
  say_again_ = false;  // That nothing is there yet need not be said.
}

std::uint32_t PlacedTree::index_of(Rank rank) const noexcept {
  const auto at = std::lower_bound(members_.begin(), members_.end(), rank);
  const bool found = at != members_.end() && *at == rank;
  return found ? static_cast<std::uint32_t>(at - members_.begin()) : kNobody;
}

PlacedTree::Below& PlacedTree::below(std::uint32_t member) {
  for (Below& known : known_) {
    if (known.member == member) return known;
  }
  return known_.emplace_back(Below{member, {first_, first_}});
}

void PlacedTree::find_place() {
  tree_.children(source_, me_, dead_, children_);
  for (const std::uint32_t child : children_) (void)below(child);
  // Nobody inherits from a source: what it had begun ends with it.
  const std::uint32_t parent = dead_.has(source_) ? kNobody : tree_.parent(source_, me_, dead_);
  if (parent == parent_) return;
  parent_ = parent;
  say_again_ = true;
  if (ESP_PLANT(124, false, true)) return;
  for (std::uint32_t at = asked_.next(0); at < asked_.size(); at = asked_.next(at + 1)) {
    wanted_.add(at);
  }
  asked_.reset(asked_.size());
}

PlacedState PlacedTree::merged() const noexcept {
  PlacedState merged = own_;
  for (const Below& known : known_) {
    if (std::ranges::find(children_, known.member) == children_.end()) continue;
    merged.posted = lesser(merged.posted, known.state.posted);
    merged.whole = ESP_PLANT(120, lesser(merged.whole, known.state.whole), merged.whole);
  }
  return merged;
}

void PlacedTree::mail_arrived(Rank from, std::span<const std::byte> message) {
  const std::uint32_t sender = index_of(from);
  PlacedMessage read;
  const bool heard = sender != kNobody && sender != me_ && !dead_.has(sender);
  if (!heard || !parse(message, lane_, true, read)) {
    ++counts_.refused;
    return;
  }
  if (read.kind == PlacedKind::kState) {
    // Who is no child may become one before it speaks again.
    PlacedState& state = below(sender).state;
    const Sequence whole{static_cast<std::uint32_t>(read.value)};
    if (state.posted.before(read.segment)) state.posted = read.segment;
    if (state.whole.before(whole)) state.whole = whole;
    return;
  }
  for (std::size_t i = 0; i < read.rest.size() / kPacketRangeBytes; ++i) {
    want(read.segment, read_packets(read.rest, i));
  }
}

void PlacedTree::member_lost(Rank rank) {
  const std::uint32_t lost = index_of(rank);
  if (lost == kNobody || lost == me_ || !dead_.add(lost)) return;
  find_place();
}

// A segment is on its way when all have places for it, and the one before has arrived everywhere:
// questions are about one segment at a time.
void PlacedTree::want(Sequence segment, const PacketRange& range) {
  if (!segment.before(own_.posted)) {
    ++counts_.refused;
    return;
  }
  if (segment.before(segment_)) return;
  if (segment_.before(segment)) {
    segment_ = segment;
    wanted_.reset(0);
    asked_.reset(0);
  }
  wanted_.grow(range.first + range.count);
  asked_.grow(range.first + range.count);
  for (std::uint32_t at = range.first; at < range.first + range.count; ++at) {
    if (asked_.has(at) || wanted_.has(at)) {
      ++counts_.suppressed;
    } else {
      wanted_.add(at);
    }
  }
}

void PlacedTree::repaired(Sequence segment, std::uint32_t packet) {
  if (segment != segment_ || packet >= wanted_.size()) return;
  wanted_.remove(packet);
  asked_.add(packet);
}

std::uint32_t PlacedTree::next_wanted(Sequence segment, std::uint32_t none) const noexcept {
  if (segment != segment_ || !wanted_.any()) return none;
  return std::min(wanted_.next(0), none);
}

bool PlacedTree::tell_state(MemberMail& mail) {
  const PlacedState now = merged();
  PlacedState say = said_;
  if (say.posted.before(now.posted)) say.posted = now.posted;
  if (say.whole.before(now.whole)) say.whole = now.whole;
  if (say == said_ && !say_again_) return true;
  const PlacedHead head =
      head_of(lane_, {PlacedKind::kState, say.posted, std::uint64_t{say.whole.value}, {}});
  if (!mail.post(members_[parent_], head)) return false;
  said_ = say;
  say_again_ = false;
  ++counts_.states;
  return true;
}

bool PlacedTree::tell_questions(MemberMail& mail) {
  while (wanted_.any()) {
    std::array<std::byte, kPlacedMessageBytes + kPacketRangesMax * kPacketRangeBytes> message;
    std::array<PacketRange, kPacketRangesMax> ranges;
    std::size_t used = 0;
    std::uint32_t at = wanted_.next(0);
    for (; at < wanted_.size() && used < ranges.size(); at = wanted_.next(at)) {
      const std::uint32_t end = wanted_.next(at, false);
      ranges[used++] = {at, end - at};
      at = end;
    }
    const PlacedHead head = head_of(lane_, {PlacedKind::kMissing, segment_, 0, {}});
    std::ranges::copy(head, message.begin());
    for (std::size_t i = 0; i < used; ++i) {
      write_packets(message.data() + kPlacedMessageBytes + i * kPacketRangeBytes, ranges[i]);
    }
    const std::size_t bytes = kPlacedMessageBytes + used * kPacketRangeBytes;
    if (!mail.post(members_[parent_], {message.data(), bytes})) return false;
    ++counts_.questions;
    for (std::size_t i = 0; i < used; ++i) {
      counts_.asked += ranges[i].count;
      for (std::uint32_t j = 0; j < ranges[i].count; ++j) repaired(segment_, ranges[i].first + j);
    }
  }
  return true;
}

bool PlacedTree::tell(MemberMail& mail) {
  if (parent_ == kNobody) return true;
  const bool state = tell_state(mail);
  return tell_questions(mail) && state;
}

}  // namespace espalier::multicast
