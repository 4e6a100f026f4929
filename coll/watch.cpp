#include "coll/watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/plant.hpp"

namespace espalier {

void TeamWatch::look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& watched = watched_[i];
    const Pending what = pending(*watched.team);
    if (what.identity != watched.identity || what.sequence != watched.sequence) {
      watched.identity = what.identity;
      watched.sequence = what.sequence;
      watched.since_ns = now_ns;
      watched.warned = false;
    }
    if (what.identity != nullptr && !watched.team->failed()) {
      look_at(watched, what, now_ns - std::max(since_ns, watched.since_ns));
    }
  }
}

int TeamWatch::progress() noexcept {
  const std::vector<Team*> changed = news_->take_changed();
  for (Team* team : changed) {
    if (team->failed() || pending(*team).identity == nullptr) continue;
    if (!find_report(*team, 0)) engine_.look_again(*team);
  }
  return static_cast<int>(changed.size());
}

bool TeamWatch::is_collective(const Pending& what) noexcept {
  return what.identity != nullptr &&
         what.signature.collective != static_cast<std::uint8_t>(Collective::kPointToPoint);
}

// The oldest collective under way, or else any point-to-point operation.
TeamWatch::Pending TeamWatch::pending(const Team& team) noexcept {
  Pending what;
  if (team.short_wait != 0) {
    what.identity = &team.short_wait;
    what.sequence = team.short_wait;
    (void)team.board.read(team.rank, team.sequence, what.signature);
  } else if (team.flow_waits % 2 == 1) {
    what.identity = &team.flow_waits;
    what.sequence = team.flow_sequence;
    what.signature.collective = static_cast<std::uint8_t>(Collective::kPointToPoint);
    what.signature.root = team.flow_peer;
    what.signature.count = team.flow_bytes;
  }
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    const bool collective = i->channel == 0;
    const bool older = collective && (!is_collective(what) || i->sequence < what.sequence);
    if (what.identity == nullptr || older) {
      what = {i, collective ? i->sequence : i->serial, i->call.signature(), i};
    }
  }
  return what;
}

void TeamWatch::look_at(Watched& watched, const Pending& what, std::uint64_t waited_ns) noexcept {
  Team& team = *watched.team;
  if (find_report(team, waited_ns) || find_dead(team) || find_mismatch(team)) return;
  if (find_leaving(team, what)) return;
  if (team.nodes() != nullptr) {
    engine_.look_again(team);
    ask(team, what);
  }
  Rank first = kNoRank;
  if (limits_.warn_ns != 0 && waited_ns >= limits_.warn_ns && !watched.warned) {
    watched.warned = true;
    log_.warn("{}", describe(team, what, waited_ns, first));
  }
  if (limits_.timeout_ns == 0 || waited_ns < limits_.timeout_ns) return;
  std::string text = describe(team, what, waited_ns, first);
  engine_.fail(team, Status(ESP_ERR_TIMEOUT, first), std::move(text));
}

// A member that gives up says so on the board before it does anything else, leaving included. True:
// there is a report, and nothing else to look for.
bool TeamWatch::find_report(Team& team, std::uint64_t waited_ns) noexcept {
  if (!team.board) return false;
  const Status reported = team.board.reported();
  if (reported.ok()) return false;
  if (reported.code() == ESP_ERR_MISMATCH) {
    if (find_mismatch(team)) return true;
    // Its calls are on their way, so that this rank can say what they are.
    if (team.nodes() != nullptr && news_->inquire(team, reported.rank())) return true;
  }
  Rank first = kNoRank;
  std::string text =
      reported.code() == ESP_ERR_PEER_DIED
          ? fmt::format(
                "rank {} died (as another member found) while operations on team {} were "
                "under way",
                reported.rank(), team.id)
          : fmt::format(
                "{}; another member gave up first: {}{}",
                describe(team, pending(team), waited_ns, first), esp_status_text(reported.code()),
                reported.rank() == kNoRank ? "" : fmt::format(" (rank {})", reported.rank()));
  engine_.fail(team, reported, std::move(text));
  return true;
}

bool TeamWatch::find_dead(Team& team) noexcept {
  for (const Rank rank : team.members) {
    if (ESP_PLANT(18, false, rank == team.members.back())) continue;
    if (rank == team.members[static_cast<std::size_t>(team.rank)]) continue;
    const bool left = liveness_.has_left(rank);
    if (!left && !liveness_.is_dead(rank)) continue;
    const Status loss = left ? Status(ESP_ERR_PEER_DIED, rank) : liveness_.loss(rank);
    const char* how = loss.code() == ESP_ERR_PEER_DIED ? "died" : "cannot be reached any more";
    engine_.fail(team, loss,
                 fmt::format("rank {} {} while operations on team {} were under way", rank,
                             left ? "left the job" : how, team.id));
    return true;
  }
  return false;
}

// A member that waits to leave the job will not call what it has not called.
bool TeamWatch::find_leaving(Team& team, const Pending& what) noexcept {
  const bool flow =
      what.signature.collective == static_cast<std::uint8_t>(Collective::kPointToPoint);
  for (int member = 0; team.board && !flow && member < team.size(); ++member) {
    const Rank rank = team.members[static_cast<std::size_t>(member)];
    if (member == team.rank || !is_leaving(team, member)) continue;
    if (team.has_entered(member, what.sequence)) continue;
    engine_.fail(team, Status(ESP_ERR_MISMATCH, rank),
                 fmt::format("operation {} on team {}: rank {} finalizes its job where this rank "
                             "called {}",
                             what.sequence, team.id, rank, what.signature.to_text()));
    return true;
  }
  return false;
}

bool TeamWatch::find_mismatch(Team& team) noexcept {
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature mine, theirs;
  if (!find_difference(team, sequence, member, mine, theirs)) return false;
  const Rank other = team.members[static_cast<std::size_t>(member)];
  engine_.fail(team, Status(ESP_ERR_MISMATCH, other), explain_mismatch(team, mine, other));
  return true;
}

// Members that have not entered the operation; when all have, those that owe a segment.
std::vector<Rank> TeamWatch::late(const Team& team, const Pending& what) const {
  std::vector<Rank> ranks;
  const bool flow =
      what.signature.collective == static_cast<std::uint8_t>(Collective::kPointToPoint);
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

bool TeamWatch::is_leaving(const Team& team, int member) const noexcept {
  if (!team.is_remote(member)) {
    return liveness_.is_leaving(team.members[static_cast<std::size_t>(member)]);
  }
  const auto known = team.remote.find(member);
  return known != team.remote.end() && known->second.leaving;
}

// Across nodes: asks those of other nodes on whom this rank waits, and says whom it blames, for
// those who wait for this rank.
void TeamWatch::ask(Team& team, const Pending& what) noexcept {
  for (const int member : debtors(team, what)) {
    if (team.is_remote(member)) news_->ask(team, member);
  }
  const std::vector<Rank> ranks = culprits(team, what);
  team.board.set_waits_for(team.rank, team.sequence, ranks.empty() ? kNoRank : ranks.front());
}

// Whom that rank has blamed for its own wait; kNoRank: it has not said.
Rank TeamWatch::blamed_by(const Team& team, Rank rank) const noexcept {
  const auto at = std::find(team.members.begin(), team.members.end(), rank);
  const auto member = static_cast<int>(at - team.members.begin());
  if (team.is_remote(member)) {
    return team.has_answered(member) ? team.remote.at(member).waits_for : kNoRank;
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
  const auto known = team.remote.find(static_cast<int>(at - team.members.begin()));
  const bool silent = known != team.remote.end() &&
                      known->second.asked_ns > known->second.answered_ns + 2 * TeamNews::kAskMostNs;
  return silent ? " (does not answer)" : "";
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
