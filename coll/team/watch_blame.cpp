// TeamWatch: who is late, for whom others wait, and how that is said.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "coll/engine/short_operations.hpp"
#include "coll/team/watch.hpp"

namespace espalier {
namespace {

// One blame of each rank, the latest found first.
std::vector<Blame> latest_of_each(std::vector<Blame> blames) {
  const auto by_rank = [](const Blame& a, const Blame& b) {
    return std::pair(a.rank, b.found_ns) < std::pair(b.rank, a.found_ns);
  };
  const auto same = [](const Blame& a, const Blame& b) { return a.rank == b.rank; };
  std::sort(blames.begin(), blames.end(), by_rank);
  blames.erase(std::unique(blames.begin(), blames.end(), same), blames.end());
  std::stable_sort(blames.begin(), blames.end(),
                   [](const Blame& a, const Blame& b) { return a.found_ns > b.found_ns; });
  return blames;
}

}  // namespace

// The first part of this rank's own input that its caller has not made ready; -1: it waits for
// nothing of its own.
int TeamWatch::first_closed(const Team& team, const Pending& what) const noexcept {
  const Call* call = what.instance != nullptr ? &what.instance->call : nullptr;
  if (what.identity == &team.short_wait) {
    const ShortOperation* op = ShortOperations::find(team, team.short_call);
    call = op != nullptr ? &op->call : nullptr;
  }
  if (call == nullptr || call->gate.first_closed == nullptr) return -1;
  return call->gate.first_closed(call->gate.context);
}

// Members that have not entered the operation; when all have, those that owe a segment.
std::vector<Rank> TeamWatch::late(const Team& team, const Pending& what) const {
  std::vector<Rank> ranks;
  const bool flow = !is_collective(what);
  if (team.board && !flow) {
    std::vector<int> missing;
    team.for_each_known([&](int member) {
      if (is_missing(team, what, member)) missing.push_back(member);
    });
    std::sort(missing.begin(), missing.end());
    for (const int member : missing) {
      ranks.push_back(team.members[static_cast<std::size_t>(member)]);
    }
  }
  if (!ranks.empty()) return ranks;
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
  if (what.identity == &team.short_wait) {
    const ShortOperation* op = ShortOperations::find(team, team.short_call);
    const int member = op != nullptr ? ShortOperations::awaited(*op) : -1;
    return member < 0 ? std::vector<int>() : std::vector<int>{member};
  }
  return what.instance == nullptr ? std::vector<int>() : awaited(*what.instance);
}

// It was asked and has answered nothing for long: what it said before is of no use.
bool TeamWatch::is_silent(const Team& team, int member) const noexcept {
  const auto known = team.remote.find(member);
  return known != team.remote.end() &&
         known->second.asked_ns > known->second.answered_ns + 2 * TeamNews::kAskMostNs;
}

// Whom that rank has blamed for its own wait; nobody: it has not said so of late. What it said
// before it fell silent would lead back to those who wait for it.
Blame TeamWatch::blamed_by(const Team& team, Rank rank) const noexcept {
  const int member = team.member_of(rank);
  if (member < 0) return {};
  if (team.is_remote(member)) {
    if (!team.has_answered(member)) return {};
    const RemoteMember& known = team.remote.at(member);
    const bool lately = elapsed_ns(known.answered_ns, looked_ns_) < 4 * TeamNews::kAskMostNs;
    return lately ? known.blame : Blame{};
  }
  // In its last operation, which may be an earlier one than this rank's, or a later.
  std::uint64_t last = team.sequence + Board::kCalls - 1;
  const int row = team.row(member);
  while (last > 0 && !team.board.has_entered(row, last)) --last;
  return team.board.blame(row, last, machine_ns_);
}

// The end of the chain of those who wait for another, beginning with `rank`: this rank itself, when
// it comes back here. As late as its oldest link; `rank` itself is found to be late now.
Blame TeamWatch::end_of_chain(const Team& team, Rank rank) const noexcept {
  constexpr int kHops = 8;
  const Rank me = team.members[static_cast<std::size_t>(team.rank)];
  Blame end = {rank, machine_ns_};
  for (int hop = 0; hop < kHops && end.rank != me && !liveness_.is_stopped(end.rank); ++hop) {
    const Blame next = blamed_by(team, end.rank);
    if (next.rank == kNoRank) break;
    end = {next.rank, std::min(end.found_ns, next.found_ns)};
  }
  return end;
}

// Whom to name, the latest found first. A member that is stopped holds up ranks to which it owes
// nothing directly: through others, or because it does not read what they send.
std::vector<Blame> TeamWatch::culprits(const Team& team, const Pending& what) const {
  if (first_closed(team, what) >= 0) {
    return {{team.members[static_cast<std::size_t>(team.rank)], machine_ns_}};
  }
  const auto is_stopped = [&](const Blame& blame) { return liveness_.is_stopped(blame.rank); };
  std::vector<Blame> blames, ends;
  for (const Rank rank : late(team, what)) {
    blames.push_back({rank, machine_ns_});
    if (team.nodes() != nullptr) ends.push_back(end_of_chain(team, rank));
  }
  // Who waits for this rank is to blame only if nobody else is.
  const Rank me = team.members[static_cast<std::size_t>(team.rank)];
  std::erase_if(ends, [&](const Blame& end) { return end.rank == me; });
  if (!ends.empty()) blames = latest_of_each(std::move(ends));
  if (std::any_of(blames.begin(), blames.end(), is_stopped)) return blames;
  std::vector<Blame> held_up;
  team.for_each_known([&](int member) {
    const Rank rank = team.members[static_cast<std::size_t>(member)];
    if (liveness_.is_stopped(rank)) held_up.push_back({rank, machine_ns_});
  });
  return held_up.empty() ? blames : held_up;
}

const char* TeamWatch::state_text(const Team& team, Rank rank) const noexcept {
  if (liveness_.is_stopped(rank)) return " (stopped)";
  const auto at = std::find(team.members.begin(), team.members.end(), rank);
  return is_silent(team, static_cast<int>(at - team.members.begin())) ? " (does not answer)" : "";
}

std::string TeamWatch::describe(const Team& team, const Pending& what, std::uint64_t waited_ns,
                                Rank& first) {
  const std::vector<Blame> blames = culprits(team, what);
  std::vector<std::string> names;
  for (const Blame& blame : blames) {
    names.push_back(fmt::format("{}{}", blame.rank, state_text(team, blame.rank)));
    if (const int closed = first_closed(team, what); closed >= 0) {
      names.back() += fmt::format(" itself, where partition {} of the input is not ready", closed);
    }
    if (names.size() == 16 && blames.size() > 16) {
      names.push_back(fmt::format("and {} more", blames.size() - 16));
      break;
    }
  }
  if (!blames.empty()) first = blames.front().rank;
  // So little is not worth telling; zero is not known, the news of another's failure came first.
  constexpr std::uint64_t kToldNs = kNanosecondsPerSecond / 20;
  const double seconds = static_cast<double>(waited_ns) * 1e-9;
  std::string text = fmt::format(
      "{} (operation {} on team {}) {}", what.signature.to_text(), what.sequence, team.id,
      waited_ns < kToldNs ? "waits" : fmt::format("has waited {:.1f} s", seconds));
  // All have done their part in it, as far as this rank knows.
  if (names.empty()) return text + ", for no rank that is known to be late";
  return text + fmt::format(" for rank{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

}  // namespace espalier
