#include "coll/watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace espalier {

void TeamWatch::look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  const std::uint64_t waited_ns = now_ns - since_ns;
  const bool warn = waited_ns >= limits_.warn_ns && warned_since_ != since_ns;
  for (std::size_t i = 0; i < teams_.size(); ++i) look_at(*teams_[i], waited_ns);
  if (warn) {
    for (Team* team : teams_) {
      const Pending what = pending(*team);
      if (!what.any || team->failed()) continue;
      Rank first = kNoRank;
      log_.warn("{}", describe(*team, what, waited_ns, first));
      warned_since_ = since_ns;
    }
  }
}

TeamWatch::Pending TeamWatch::pending(const Team& team) noexcept {
  Pending what;
  if (team.short_wait != 0) {
    what.any = true;
    what.sequence = team.short_wait;
    (void)team.board.read(team.rank, team.sequence, what.signature);
  }
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    const bool older = i->channel == 0 && i->sequence < what.sequence;
    if (!what.any || older) what = {true, i->sequence, i->call.signature(), i};
  }
  return what;
}

void TeamWatch::look_at(Team& team, std::uint64_t waited_ns) noexcept {
  if (team.failed()) return;
  const Pending what = pending(team);
  if (!what.any && !team.flow_wait) return;
  if (find_report(team, waited_ns) || find_dead(team)) return;
  if (find_mismatch(team)) return;
  if (limits_.timeout_ns == 0 || waited_ns < limits_.timeout_ns) return;
  Rank first = kNoRank;
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
  const bool flow = what.instance != nullptr && what.instance->channel != 0;
  for (int member = 0; team.board && !flow && member < team.size(); ++member) {
    if (!team.board.has_entered(member, what.sequence)) {
      ranks.push_back(team.members[static_cast<std::size_t>(member)]);
    }
  }
  if (!ranks.empty() || what.instance == nullptr) return ranks;
  const Instance& instance = *what.instance;
  for (std::size_t v = 0; v < instance.states.size(); ++v) {
    const Vertex& vertex = instance.plan->vertices[v];
    const VertexState& state = instance.states[v];
    const bool talks = state.recvs != nullptr || (state.sends != nullptr && vertex.peers.empty());
    if (!talks || state.base >= vertex.count) continue;
    const auto member = static_cast<std::size_t>(instance.plan->peer(vertex, state.base));
    if (std::find(ranks.begin(), ranks.end(), team.members[member]) == ranks.end()) {
      ranks.push_back(team.members[member]);
    }
  }
  return ranks;
}

std::string TeamWatch::describe(const Team& team, const Pending& what, std::uint64_t waited_ns,
                                Rank& first) {
  const std::vector<Rank> ranks = late(team, what);
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
                     what.any ? what.signature.to_text() : "a point-to-point operation",
                     what.sequence, team.id, static_cast<double>(waited_ns) * 1e-9,
                     names.size() == 1 ? "" : "s",
                     names.empty() ? "(unknown)" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace espalier
