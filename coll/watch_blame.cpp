// TeamWatch: who is late, for whom others wait, and how that is said.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "coll/watch.hpp"

namespace espalier {

// Members that have not entered the operation; when all have, those that owe a segment.
std::vector<Rank> TeamWatch::late(const Team& team, const Pending& what) const {
  std::vector<Rank> ranks;
  const bool flow = !is_collective(what);
  for (int member = 0; team.board && !flow && member < team.size(); ++member) {
    if (is_missing(team, what, member)) {
      ranks.push_back(team.members[static_cast<std::size_t>(member)]);
    }
  }
  if (what.identity != &team.flow_waits && !ranks.empty()) return ranks;
  ranks.clear();
  for (const int member : debtors(team, what)) {
    ranks.push_back(team.members[static_cast<std::size_t>(member)]);
  }
  return ranks;
}

// Has it not entered the operation? Of a member on another node that must have been heard.
bool TeamWatch::is_missing(const Team& team, const Pending& what, int member) const noexcept {
  if (team.has_entered(member, what.sequence)) return false;
  return !team.is_remote(member) || team.has_answered(member);
}

// Members that owe a segment, or do not take one.
std::vector<int> TeamWatch::debtors(const Team& team, const Pending& what) const {
  if (what.identity == &team.flow_waits) return {team.flow_peer};
  return what.instance == nullptr ? std::vector<int>() : partners(*what.instance);
}

// It was asked and has answered nothing for long: what it said before is of no use.
bool TeamWatch::is_silent(const Team& team, int member) const noexcept {
  const auto known = team.remote.find(member);
  return known != team.remote.end() &&
         known->second.asked_ns > known->second.answered_ns + 2 * TeamNews::kAskMostNs;
}

// Whom that rank has blamed for its own wait; kNoRank: it has not said so of late. What it said
// before it fell silent would lead back to those who wait for it.
Rank TeamWatch::blamed_by(const Team& team, Rank rank) const noexcept {
  const auto at = std::find(team.members.begin(), team.members.end(), rank);
  const auto member = static_cast<int>(at - team.members.begin());
  if (team.is_remote(member)) {
    if (!team.has_answered(member)) return kNoRank;
    const RemoteMember& known = team.remote.at(member);
    const bool lately = elapsed_ns(known.answered_ns, looked_ns_) < 4 * TeamNews::kAskMostNs;
    return lately ? known.waits_for : kNoRank;
  }
  // In its last operation, which may be an earlier one than this rank's.
  std::uint64_t last = team.sequence;
  while (last > 0 && !team.has_entered(member, last)) --last;
  return team.board.waits_for(member, last);
}

// The end of the chain of those who wait for another, beginning with `rank`: this rank itself, when
// it comes back here.
Rank TeamWatch::waits_for(const Team& team, Rank rank) const noexcept {
  constexpr int kHops = 8;
  const Rank me = team.members[static_cast<std::size_t>(team.rank)];
  for (int hop = 0; hop < kHops && rank != me && !liveness_.is_stopped(rank); ++hop) {
    const Rank next = blamed_by(team, rank);
    if (next == kNoRank) break;
    rank = next;
  }
  return rank;
}

// Whom to name. A member that is stopped holds up ranks to which it owes nothing directly: through
// others, or because it does not read what they send.
std::vector<Rank> TeamWatch::culprits(const Team& team, const Pending& what) const {
  const auto stopped = [&](Rank rank) { return liveness_.is_stopped(rank); };
  std::vector<Rank> ranks = late(team, what);
  if (team.nodes() != nullptr) {
    std::vector<Rank> ends;
    for (const Rank rank : ranks) ends.push_back(waits_for(team, rank));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    // Who waits for this rank is to blame only if nobody else is.
    std::erase(ends, team.members[static_cast<std::size_t>(team.rank)]);
    if (!ends.empty()) ranks = std::move(ends);
  }
  if (std::any_of(ranks.begin(), ranks.end(), stopped)) return ranks;
  std::vector<Rank> held_up;
  std::copy_if(team.members.begin(), team.members.end(), std::back_inserter(held_up), stopped);
  return held_up.empty() ? ranks : held_up;
}

const char* TeamWatch::state_text(const Team& team, Rank rank) const noexcept {
  if (liveness_.is_stopped(rank)) return " (stopped)";
  const auto at = std::find(team.members.begin(), team.members.end(), rank);
  return is_silent(team, static_cast<int>(at - team.members.begin())) ? " (does not answer)" : "";
}

std::string TeamWatch::describe(const Team& team, const Pending& what, std::uint64_t waited_ns,
                                Rank& first) {
  const std::vector<Rank> ranks = culprits(team, what);
  std::vector<std::string> names;
  for (const Rank rank : ranks) {
    names.push_back(fmt::format("{}{}", rank, state_text(team, rank)));
    if (names.size() == 16 && ranks.size() > 16) {
      names.push_back(fmt::format("and {} more", ranks.size() - 16));
      break;
    }
  }
  if (!ranks.empty()) first = ranks.front();
  // Zero: it is not known, the news of another's failure came first.
  const double seconds = static_cast<double>(waited_ns) * 1e-9;
  return fmt::format("{} (operation {} on team {}) {} for rank{} {}", what.signature.to_text(),
                     what.sequence, team.id,
                     waited_ns > 0 ? fmt::format("has waited {:.1f} s", seconds) : "waits",
                     names.size() == 1 ? "" : "s",
                     names.empty() ? "(unknown)" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace espalier
