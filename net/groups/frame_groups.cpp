#include "net/groups/frame_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace espalier::net {

FrameGroups::FrameGroups(GroupHost& host, Clock& clock, Counters& counters,
                         const FrameGroupsOptions& options)
    : host_(host), clock_(clock), counters_(counters), options_(options), relays_(host, counters) {
  auto set = DescriptorSet::create();
  if (set) wakes_ = std::move(*set);
}

FrameGroups::~FrameGroups() {
  for (const Early& early : early_) {
    if (early.buffer != nullptr) host_.pool().give(early.buffer);
  }
}

void FrameGroups::join(std::uint32_t team, FrameGroup::Members members) {
  if (groups_.contains(team) || members->size() < 2) return;
  const FrameGroup::Context context{host_, relays_, clock_, counters_, options_, wakes_.get()};
  auto made = std::make_unique<FrameGroup>(context, team, std::move(members));
  FrameGroup& group = *made;
  groups_.emplace(team, std::move(made));
  attended_.push_back(group);
  open_port(group);
  std::vector<Early> others;
  for (const Early& early : std::exchange(early_, {})) {
    if (FlowId::team_of(early.header.flow) == team || early.header.flow == team) {
      hand_over(group, early);
    } else {
      others.push_back(early);
    }
  }
  early_ = std::move(others);
}

std::size_t FrameGroups::ports() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(groups_, [](const auto& entry) { return entry.second->has_port(); }));
}

void FrameGroups::open_port(FrameGroup& group) {
  if (options_.ports == nullptr) return group.refuse({GroupEnd::Why::kNoGroups, options_.rank, 0});
  if (ports() >= options_.groups_max) return make_room(group);
  auto port = options_.ports->open(group.team(), group.members().front());
  if (port) {
    if (wakes_ != nullptr && (*port)->descriptor() >= 0) {
      (void)wakes_->add((*port)->descriptor());
    }
    return group.use(std::move(*port));
  }
  const Status& why = port.error().status;
  if (why.code() == ESP_ERR_NO_MEMORY) return make_room(group);
  group.refuse(
      {GroupEnd::Why::kRefused, options_.rank, static_cast<std::uint32_t>(why.error_number())});
}

// The group waits, if any may leave for it.
void FrameGroups::make_room(FrameGroup& group) noexcept {
  FrameGroup* least = nullptr;
  bool some_leave = false;
  for (const auto& [team, other] : groups_) {
    if (!other->has_port()) continue;
    if (!other->is_open()) {
      some_leave = some_leave || other->is_leaving();
    } else if (least == nullptr || other->used_at() < least->used_at()) {
      least = other.get();
    }
  }
  if (!some_leave && least == nullptr) {
    return group.refuse({GroupEnd::Why::kRefused, options_.rank, 0});
  }
  if (!some_leave) least->give_way();
  wanting_.push_back(&group);
}

FrameGroup* FrameGroups::find(std::uint32_t team) const noexcept {
  const auto found = groups_.find(team);
  return found != groups_.end() ? found->second.get() : nullptr;
}

void FrameGroups::forget(std::uint32_t team) noexcept {
  forgotten_.add(team);
  if (FrameGroup* group = find(team)) group->forget();
  std::erase_if(early_, [&](const Early& early) {
    const bool drop = forgotten_.has(early.header.flow) || early.header.flow == team;
    if (drop && early.buffer != nullptr) host_.pool().give(early.buffer);
    return drop;
  });
}

void FrameGroups::forget_all() noexcept {
  for (const auto& [team, group] : groups_) group->forget();
}

void FrameGroups::abandon(std::uint32_t team) noexcept {
  if (FrameGroup* group = find(team)) group->abandon();
}

bool FrameGroups::all_left() const noexcept {
  const auto over = [](const auto& entry) { return entry.second->is_over(); };
  return relays_.idle() && std::ranges::all_of(groups_, over);
}

// ---- what comes by the link ----

void FrameGroups::frame(Rank from, const FrameHeader& header, std::byte* buffer) noexcept {
  const bool word = header.kind == FrameKind::kGroup;
  const auto team = word ? static_cast<std::uint32_t>(header.flow) : FlowId::team_of(header.flow);
  const Early early{from, header, buffer};
  if (FrameGroup* group = find(team)) return hand_over(*group, early);
  const FlowId any(team, 0, 0);
  if (!forgotten_.has(any.key)) return keep(early);
  if (buffer != nullptr) host_.pool().give(buffer);
}

void FrameGroups::hand_over(FrameGroup& group, const Early& early) noexcept {
  if (early.header.kind == FrameKind::kRelayed) {
    return group.relayed(early.from, early.header, early.buffer);
  }
  group.heard(early.from, static_cast<GroupWord>(early.header.ordinal),
              {early.buffer, early.header.bytes});
  if (early.buffer != nullptr) host_.pool().give(early.buffer);
}

// What needs no grant; those who join later have granted nothing.
void FrameGroups::keep(const Early& early) noexcept {
  const bool word = early.header.kind == FrameKind::kGroup;
  const auto is = [&](GroupWord which) {
    return word && early.header.ordinal == static_cast<std::uint32_t>(which);
  };
  const bool mail = is(GroupWord::kMail) || is(GroupWord::kLanes);
  const bool allowed = word || early.header.ordinal < kEagerSegments;
  if (allowed && !mail && early_.size() < kEarlyMax) {
    early_.push_back(early);
    return;
  }
  if (early.buffer != nullptr) host_.pool().give(early.buffer);
  if (!mail) {
    host_.lose_peer(early.from,
                    error(ESP_ERR_NETWORK, "a frame for a group that was not joined", early.from));
  }
}

void FrameGroups::lost(Rank rank) noexcept {
  for (const auto& [team, group] : groups_) group->member_lost(rank);
}

// ---- progress ----

int FrameGroups::progress() noexcept {
  if (attended_.empty()) [[likely]]
    return 0;
  int events = 0;
  const std::size_t before = wanting_.empty() ? 0 : ports();
  bool over = false;
  for (FrameGroup* group = attended_.front(); group != nullptr;) {
    FrameGroup* following = attended_.after(*group);
    events += group->progress();
    if (group->is_settled()) {
      group->unlink();
      std::erase(wanting_, group);  // It has no use for room any more.
    }
    over = over || group->is_over();
    group = following;
  }
  if (!wanting_.empty() && ports() < before) {
    for (FrameGroup* group : std::exchange(wanting_, {})) open_port(*group);
  }
  if (over) bury();
  return events;
}

void FrameGroups::bury() noexcept {
  std::erase_if(groups_, [&](const auto& entry) {
    const bool over = entry.second->is_over();
    if (over) std::erase(wanting_, entry.second.get());
    return over;
  });
}

void FrameGroups::flush() noexcept {
  for (FrameGroup* group = attended_.front(); group != nullptr; group = attended_.after(*group)) {
    group->flush();
  }
}

bool FrameGroups::arm() noexcept {
  bool quiet = true;
  for (FrameGroup* group = attended_.front(); group != nullptr; group = attended_.after(*group)) {
    quiet = group->arm() && group->deadline_ns() != 0 && quiet;
  }
  return quiet;
}

std::uint64_t FrameGroups::deadline_ns() const noexcept {
  std::uint64_t due = kNever;
  for (const FrameGroup* group = attended_.front(); group != nullptr;
       group = attended_.after(*group)) {
    due = std::min(due, group->deadline_ns());
  }
  return due == kNever ? 0 : std::max<std::uint64_t>(due, 1);
}

std::vector<std::string> FrameGroups::describe(const DescribeMembers& who) const {
  std::map<std::uint32_t, const FrameGroup*> sorted;
  for (const auto& [team, group] : groups_) sorted.emplace(team, group.get());
  std::vector<std::string> lines;
  for (const auto& [team, group] : sorted) {
    lines.push_back(
        fmt::format("team {:<5} {}{}", team, group->describe(), who ? who(group->members()) : ""));
  }
  return lines;
}

}  // namespace espalier::net
