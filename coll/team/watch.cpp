#include "coll/team/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/engine/short_operations.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

// The other end of a flow is in finalize, and nothing has come for so long. The news of it travels
// behind all that it had sent before; so this is caution.
constexpr std::uint64_t kGoneNs = 500'000'000;

}  // namespace

void TeamWatch::look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  looked_ns_ = now_ns;
  machine_ns_ = news_ != nullptr ? news_->machine_ns() : now_ns;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& watched = watched_[i];
    const Pending what = pending(*watched.team);
    if (what.identity != watched.identity || what.sequence != watched.sequence) {
      watched.identity = what.identity;
      watched.sequence = what.sequence;
      watched.since_ns = now_ns;
      watched.gone_ns = 0;
      watched.warned = false;
    }
    if (what.identity != nullptr && !watched.team->failed()) {
      look_at(watched, what, now_ns, now_ns - std::max(since_ns, watched.since_ns));
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
    const ShortOperation* op = ShortOperations::find(team, team.short_call);
    if (op != nullptr) what.signature = op->call.signature();
    if (op == nullptr) {
      (void)team.board.read(team.own_row(), team.short_call, what.signature);
    }
  }
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    const bool collective = i->channel == 0;
    // Of a short operation the heads' plan tells more.
    const bool older = collective && (!is_collective(what) || i->sequence <= what.sequence);
    if (what.identity == nullptr || older) {
      what = {i, collective ? i->sequence : i->serial, i->call.signature(), i};
    }
  }
  return what;
}

void TeamWatch::look_at(Watched& watched, const Pending& what, std::uint64_t now_ns,
                        std::uint64_t waited_ns) noexcept {
  Team& team = *watched.team;
  if (find_report(team, waited_ns) || find_dead(watched, waited_ns) || find_mismatch(team)) return;
  if (is_collective(what) && find_leaving(team, what, waited_ns)) return;
  if (find_gone(watched, now_ns)) return;
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

// A member that gives up says so on the board before it does anything else, leaving included: so
// whoever finds that it has left or leaves looks here again, for the reason. True: there is a
// report, and nothing else to look for.
bool TeamWatch::find_report(Team& team, std::uint64_t waited_ns) noexcept {
  if (!team.board) return false;
  const Status reported = team.board.reported();
  if (reported.ok()) return false;
  if (reported.code() == ESP_ERR_MISMATCH) return find_told_mismatch(team, waited_ns);
  Rank first = kNoRank;
  std::string text =
      reported.code() == ESP_ERR_PEER_DIED
          ? fmt::format(
                "rank {} died (as another member found) while operations on team {} were "
                "under way",
                reported.rank(), team.id)
          : fmt::format("{}; {}", describe(team, pending(team), waited_ns, first),
                        explain_report(reported));
  engine_.fail(team, reported, std::move(text));
  return true;
}

// Another member's mismatch: names whom this rank finds to differ from itself, or nobody. Who has
// left since, or freed the team, may have done so because of it.
bool TeamWatch::find_told_mismatch(Team& team, std::uint64_t waited_ns) noexcept {
  const Pending what = pending(team);
  if (find_mismatch(team)) return true;
  // Calls are on their way, so that this rank can say what they are.
  if (team.nodes() != nullptr && news_->inquire(team, kNoRank)) return true;
  if (is_collective(what) && find_told_leaving(team, what)) return true;
  Rank unused = kNoRank;
  const Status told = as_told(team.board.reported());
  engine_.fail(team, told,
               is_collective(what) ? explain_mismatch(team, what.signature, kNoRank)
                                   : fmt::format("{}; {}", describe(team, what, waited_ns, unused),
                                                 explain_report(told)));
  return true;
}

// Members are asked about when something has happened to anybody.
bool TeamWatch::find_dead(Watched& watched, std::uint64_t waited_ns) noexcept {
  Team& team = *watched.team;
  // First: what happens during the look is found by the next.
  const std::uint64_t changes = liveness_.changes();
  if (changes != 0 && std::exchange(watched.changes, changes) == changes) return false;
  for (const Rank rank : team.members) {
    if (ESP_PLANT(18, false, rank == team.members.back())) continue;
    if (rank == team.members[static_cast<std::size_t>(team.rank)]) continue;
    const bool left = liveness_.has_left(rank);
    if (!left && !liveness_.is_dead(rank)) continue;
    if (find_report(team, waited_ns)) return true;
    const Status loss = left ? Status(ESP_ERR_PEER_DIED, rank) : liveness_.loss(rank);
    const char* how = loss.code() == ESP_ERR_PEER_DIED ? "died" : "cannot be reached any more";
    engine_.fail(team, loss,
                 fmt::format("rank {} {} while operations on team {} were under way", rank,
                             left ? "left the job" : how, team.id));
    return true;
  }
  return false;
}

// Of a member of this node without common memory it cannot be known what it has called: it has not,
// if it owes a segment, or does not take one, for long.
bool TeamWatch::has_done_its_part(const Team& team, const Pending& what, int member,
                                  std::uint64_t waited_ns) const {
  if (team.is_known(member)) return team.has_entered(member, what.sequence);
  const std::vector<int> owing = debtors(team, what);
  return waited_ns < kGoneNs || std::find(owing.begin(), owing.end(), member) == owing.end();
}

bool TeamWatch::has_freed(const Team& team, int member) noexcept {
  if (!team.is_remote(member)) return team.board.has_freed(team.row(member));
  const auto known = team.remote.find(member);
  return known != team.remote.end() && known->second.freed;
}

void TeamWatch::fail_by_leaver(Team& team, const Pending& what, int member) noexcept {
  const Rank rank = team.members[static_cast<std::size_t>(member)];
  const bool freed = has_freed(team, member);
  engine_.fail(
      team, Status(ESP_ERR_MISMATCH, rank),
      fmt::format("operation {} on team {}: rank {} {} where this rank called {}", what.sequence,
                  team.id, rank, freed ? "has freed the team" : "finalizes its job",
                  what.signature.to_text()));
}

// A member that waits to leave the job, or has freed the team, will not call what it has not
// called.
bool TeamWatch::find_leaving(Team& team, const Pending& what, std::uint64_t waited_ns) noexcept {
  if (!team.board) return false;
  int leaver = -1;
  team.for_each_known([&](int member) {
    if (leaver >= 0 || member == team.rank || !goes(team, member)) return;
    if (!has_done_its_part(team, what, member, waited_ns)) leaver = member;
  });
  if (leaver < 0) return false;
  if (!find_report(team, waited_ns)) fail_by_leaver(team, what, leaver);
  return true;
}

// Another member's mismatch with one that goes. This rank sees the same only if who has found it
// waits in the same operation: else the named one may go because of an earlier mismatch.
bool TeamWatch::find_told_leaving(Team& team, const Pending& what) noexcept {
  const int named = team.member_of(team.board.reported().rank());
  const int reporter = team.member_of(team.board.reporter());
  if (named < 0 || named == team.rank || reporter < 0) return false;
  if (!team.is_known(named) || !team.is_known(reporter)) return false;
  // That it goes is read first: it calls nothing more after that.
  if (!goes(team, named) || team.has_entered(named, what.sequence)) return false;
  if (!team.has_entered(reporter, what.sequence)) return false;
  fail_by_leaver(team, what, named);
  return true;
}

// Members whose segments posted receives of a collective wait for. What goes through the network's
// group may come by way of another member that is late, when its source has long gone.
template <typename Visit>
void TeamWatch::for_each_sender(const Instance& instance, Visit&& visit) noexcept {
  std::uint64_t complete = 0;
  for (const VertexState& state : instance.states) complete += state.base;
  for (std::size_t v = 0; v < instance.states.size(); ++v) {
    const VertexState& state = instance.states[v];
    if (state.recvs == nullptr) continue;
    for (std::size_t i = 0; i < state.slots; ++i) {
      const RecvSlot& slot = state.recvs[i];
      if (!slot.busy || !slot.posted || slot.transfer.path == Path::kMulticast) continue;
      const std::int32_t peer = instance.plan->vertices[v].peer.at(state.indices.step(slot.index));
      visit(Flow{static_cast<int>(instance.member(peer)), instance.serial << 32 | (complete + 1),
                 &instance});
    }
  }
}

template <typename Visit>
void TeamWatch::for_each_awaited_flow(const Team& team, Visit&& visit) const noexcept {
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    if (i->channel == 0) for_each_sender(*i, visit);
    if (i->channel == 0 || !awaited_(i->finish)) continue;
    for (const int peer : partners(*i)) {
      visit(Flow{peer, i->serial << 32 | (i->states.front().base + 1)});
    }
  }
}

TeamWatch::Flow TeamWatch::flow_to_leaving(const Team& team) const noexcept {
  Flow found;
  for_each_awaited_flow(team, [&](const Flow& flow) {
    if (found.peer < 0 && is_leaving(team, flow.peer)) found = flow;
  });
  return found;
}

// The same for the other end of a flow: it neither sends nor receives any more. Of messages only
// where this rank waits for that flow: receives may stay open till the job ends. Of a collective
// the sender has done what it took for its part: in an alltoallv that may be nothing.
bool TeamWatch::find_gone(Watched& watched, std::uint64_t now_ns) noexcept {
  Team& team = *watched.team;
  const Flow flow = team.board ? flow_to_leaving(team) : Flow{};
  if (flow.peer < 0 || watched.gone_ns == 0 || flow.mark != watched.gone_mark) {
    watched.gone_ns = flow.peer < 0 ? 0 : now_ns;
    watched.gone_mark = flow.mark;
    return false;
  }
  if (now_ns - watched.gone_ns < kGoneNs) return false;
  const Rank rank = team.members[static_cast<std::size_t>(flow.peer)];
  std::string text = fmt::format(
      "point-to-point on team {}: rank {} finalizes its job without its "
      "part of a message that this rank waits for",
      team.id, rank);
  if (flow.collective != nullptr) {
    text = fmt::format(
        "{} (operation {} on team {}): rank {} finalizes its job and has sent nothing "
        "of what this rank expects",
        flow.collective->call.signature().to_text(), flow.collective->sequence, team.id, rank);
  }
  engine_.fail(team, Status(ESP_ERR_MISMATCH, rank), std::move(text));
  return true;
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

bool TeamWatch::is_leaving(const Team& team, int member) const noexcept {
  if (!team.is_remote(member)) {
    return liveness_.is_leaving(team.members[static_cast<std::size_t>(member)]);
  }
  const auto known = team.remote.find(member);
  return known != team.remote.end() && known->second.leaving;
}

bool TeamWatch::asks_whether_leaving(Team& team, int member) noexcept {
  if (team.is_remote(member)) news_->ask(team, member);
  return is_leaving(team, member);
}

bool TeamWatch::goes(const Team& team, int member) const noexcept {
  return has_freed(team, member) || is_leaving(team, member);
}

// Across nodes: asks those of other nodes on whom this rank waits, and those it would name (all
// asked before), and says whom it blames, for those who wait for this rank.
void TeamWatch::ask(Team& team, const Pending& what) noexcept {
  for (const int member : debtors(team, what)) {
    if (team.is_remote(member)) news_->ask(team, member);
  }
  for_each_awaited_flow(team, [&](const Flow& flow) {
    if (team.is_remote(flow.peer)) news_->ask(team, flow.peer);
  });
  if (is_collective(what)) {
    // Asking changes what is known of a member, not who is known.
    for (const auto& [member, known] : team.remote) {
      if (is_missing(team, what, member)) news_->ask(team, member);
    }
  }
  const std::vector<Blame> blames = culprits(team, what);
  // What stands there is replaced in one go: others read it meanwhile.
  if (blames.empty() || team.blamed_at != team.sequence) team.withdraw_blame();
  if (blames.empty()) return;
  team.board.set_blame(team.row(team.rank), team.sequence, blames.front());
  team.blamed_at = team.sequence;
  team.blames_for = what.identity;
}

}  // namespace espalier
