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
  Rank first = kNoRank;
  if (limits_.warn_ns != 0 && waited_ns >= limits_.warn_ns && !watched.warned) {
    watched.warned = true;
    log_.warn("{}", describe(team, what, waited_ns, first));
  }
  if (limits_.timeout_ns == 0 || waited_ns < limits_.timeout_ns) return;
  std::string text = describe(team, what, waited_ns, first);
  engine_.fail(team, Status(ESP_ERR_TIMEOUT, first), std::move(text));
}

// A member that gives up says so on the board before it does anything else, leaving included.
bool TeamWatch::find_report(Team& team, std::uint64_t waited_ns) noexcept {
  if (!team.board) return false;
  const Status reported = team.board.reported();
  if (reported.ok()) return false;
  if (reported.code() == ESP_ERR_MISMATCH && find_mismatch(team)) return true;
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
    engine_.fail(team, Status(ESP_ERR_PEER_DIED, rank),
                 fmt::format("rank {} {} while operations on team {} were under way", rank,
                             left ? "left the job" : "died", team.id));
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
    if (member == team.rank || !liveness_.is_leaving(rank)) continue;
    if (team.board.has_entered(member, what.sequence)) continue;
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
    if (!team.board.has_entered(member, what.sequence)) {
      ranks.push_back(team.members[static_cast<std::size_t>(member)]);
    }
  }
  if (what.identity == &team.flow_waits) {
    return {team.members[static_cast<std::size_t>(team.flow_peer)]};
  }
  if (!ranks.empty() || what.instance == nullptr) return ranks;
  const Instance& instance = *what.instance;
  const auto add = [&](std::int32_t member) {
    const Rank rank = team.members[static_cast<std::size_t>(member)];
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  };
  for (std::size_t v = 0; v < instance.states.size(); ++v) {
    const Vertex& vertex = instance.plan->vertices[v];
    const VertexState& state = instance.states[v];
    const bool talks = state.recvs != nullptr || state.sends != nullptr;
    if (!talks || state.base >= vertex.count) continue;
    // Any reader of a publication may be the one that is late.
    for (const std::int32_t reader : vertex.peers) add(reader);
    if (vertex.peers.empty()) add(instance.plan->peer(vertex, state.base));
  }
  return ranks;
}

// Whom to name. A member that is stopped holds up ranks to which it owes nothing directly: through
// others, or because it does not read what they send.
std::vector<Rank> TeamWatch::culprits(const Team& team, const Pending& what) const {
  const auto stopped = [&](Rank rank) { return liveness_.is_stopped(rank); };
  std::vector<Rank> ranks = late(team, what);
  if (std::any_of(ranks.begin(), ranks.end(), stopped)) return ranks;
  std::vector<Rank> held_up;
  std::copy_if(team.members.begin(), team.members.end(), std::back_inserter(held_up), stopped);
  return held_up.empty() ? ranks : held_up;
}

std::string TeamWatch::describe(const Team& team, const Pending& what, std::uint64_t waited_ns,
                                Rank& first) {
  const std::vector<Rank> ranks = culprits(team, what);
  std::vector<std::string> names;
  for (const Rank rank : ranks) {
    names.push_back(fmt::format("{}{}", rank, liveness_.is_stopped(rank) ? " (stopped)" : ""));
    if (names.size() == 16 && ranks.size() > 16) {
      names.push_back(fmt::format("and {} more", ranks.size() - 16));
      break;
    }
  }
  if (!ranks.empty()) first = ranks.front();
  return fmt::format("{} (operation {} on team {}) has waited {:.1f} s for rank{} {}",
                     what.signature.to_text(), what.sequence, team.id,
                     static_cast<double>(waited_ns) * 1e-9, names.size() == 1 ? "" : "s",
                     names.empty() ? "(unknown)" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace espalier
