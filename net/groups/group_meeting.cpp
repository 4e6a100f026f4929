#include "net/groups/group_meeting.hpp"

#include <algorithm>
#include <optional>

namespace espalier::net {

using multicast::GroupTree;

GroupMeeting::GroupMeeting(std::uint32_t members, std::uint32_t me, std::uint32_t degree) {
  const GroupTree tree(members, degree);
  const multicast::DeadMembers nobody;
  parent_ = tree.parent(0, me, nobody);
  std::vector<std::uint32_t> found;
  tree.children(0, me, nobody, found);
  for (const std::uint32_t child : found) children_.push_back({.member = child});
}

void GroupMeeting::wish(const GroupEnd& why) noexcept {
  if (wished_ || stage_ >= Stage::kClosing) return;
  wished_ = true;
  end_ = why;
}

bool GroupMeeting::all_joined() const noexcept {
  return joined_ && std::ranges::all_of(children_, [](const Below& b) { return b.joined; });
}

bool GroupMeeting::all_drained() const noexcept {
  return drained_ && std::ranges::all_of(children_, [](const Below& b) { return b.drained; });
}

bool GroupMeeting::heard(std::uint32_t from, GroupWord word,
                         std::span<const std::byte> payload) noexcept {
  const bool has_end = word == GroupWord::kWish || word == GroupWord::kClose;
  const std::optional<GroupEnd> end = GroupEnd::parse(payload);
  if (has_end != end.has_value() || (!has_end && !payload.empty())) return false;
  const GroupEnd* why = end ? &*end : nullptr;
  if (!is_root() && from == parent_) return heard_above(word, why);
  for (Below& child : children_) {
    if (child.member == from) return heard_below(child, word, why);
  }
  return false;
}

bool GroupMeeting::heard_below(Below& child, GroupWord word, const GroupEnd* why) noexcept {
  switch (word) {
    case GroupWord::kJoined:
      return !std::exchange(child.joined, true);
    case GroupWord::kWish:
      wish(*why);
      return true;
    case GroupWord::kDrained:
      return !std::exchange(child.drained, true);
    default:
      return false;
  }
}

bool GroupMeeting::heard_above(GroupWord word, const GroupEnd* why) noexcept {
  switch (word) {
    case GroupWord::kReady:
      if (stage_ != Stage::kJoining || !said_joined_) return false;
      stage_ = Stage::kOpen;
      return true;
    case GroupWord::kClose:
      if (stage_ >= Stage::kClosing) return false;
      stage_ = Stage::kClosing;
      end_ = *why;
      return true;
    case GroupWord::kGone:
      if (!said_drained_ || stage_ == Stage::kGone) return false;
      stage_ = Stage::kGone;
      return true;
    default:
      return false;
  }
}

// The first member's part.
void GroupMeeting::decide() noexcept {
  if (stage_ == Stage::kJoining && all_joined()) stage_ = Stage::kOpen;
  if (stage_ < Stage::kClosing && wished_) stage_ = Stage::kClosing;
  if (stage_ != Stage::kGone && all_drained()) stage_ = Stage::kGone;
}

bool GroupMeeting::say_up(Voice& voice) noexcept {
  const auto say = [&](bool due, bool& said, GroupWord word, std::span<const std::byte> payload) {
    if (due && !said) said = voice.say(parent_, word, payload);
    return said || !due;
  };
  // A member that closes has no use for having joined.
  if (!say(all_joined(), said_joined_, GroupWord::kJoined, {})) return false;
  const bool wishes = wished_ && stage_ < Stage::kClosing;
  if (!say(wishes, said_wish_, GroupWord::kWish, end_.bytes())) return false;
  return say(all_drained(), said_drained_, GroupWord::kDrained, {});
}

bool GroupMeeting::say_down(Voice& voice, Below& child) noexcept {
  if (child.told == stage_) return true;
  // Who is told to close need not know that it was open, nor who leaves that it was closed.
  bool said = false;
  switch (stage_) {
    case Stage::kJoining:
      return true;
    case Stage::kOpen:
      said = voice.say(child.member, GroupWord::kReady, {});
      break;
    case Stage::kClosing:
      said = voice.say(child.member, GroupWord::kClose, end_.bytes());
      break;
    case Stage::kGone:
      said = voice.say(child.member, GroupWord::kGone, {});
      break;
  }
  if (said) child.told = stage_;
  return said;
}

bool GroupMeeting::said_all() const noexcept {
  return std::ranges::all_of(children_, [this](const Below& b) { return b.told == stage_; });
}

bool GroupMeeting::work(Voice& voice) noexcept {
  bool done = true;
  if (is_root()) {
    decide();
  } else {
    done = say_up(voice);
  }
  for (Below& child : children_) done = say_down(voice, child) && done;
  return done;
}

}  // namespace espalier::net
