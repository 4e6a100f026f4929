#include "coll/team/team_news.hpp"

#include <algorithm>

namespace espalier {
namespace {

// Of teams that this rank does not know. More are forgotten: their members find out by themselves.
constexpr std::size_t kEarlyMax = 4096;
// Teams that were freed and are remembered, the last ones.
constexpr std::size_t kFreedMax = 1024;

CallRing ring_of(const Team& team, int member) noexcept {
  CallRing ring;
  ring.rank = team.members[static_cast<std::size_t>(member)];
  std::uint64_t last = team.sequence;
  if (team.is_remote(member)) {
    const auto known = team.remote.find(member);
    return known != team.remote.end() ? known->second.ring : ring;
  }
  if (member != team.rank) {
    // It may be further than this rank, or not as far.
    CallSignature unused;
    last += Board::kCalls;
    while (last > 0 && !team.board.read(team.row(member), last, unused)) --last;
  }
  ring.last = last;
  while (ring.count < Board::kCalls && ring.count < last) {
    const std::uint64_t sequence = last - ring.count;
    if (!team.read_call(member, sequence, ring.calls[sequence % Board::kCalls])) break;
    ++ring.count;
  }
  return ring;
}

// Of a mismatch, the member whose calls show it together with this rank's.
int who_differs(const Team& team, Rank blamed) noexcept {
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature mine, theirs;
  return find_difference(team, sequence, member, mine, theirs) ? member : team.member_of(blamed);
}

}  // namespace

void TeamNews::add(Team& team) {
  ESP_ASSERT(team.nodes() != nullptr && team.board);
  teams_[team.id] = &team;
  const auto early = early_.find(team.id);
  if (early == early_.end()) return;
  learn_fault(team, early->second);
  early_.erase(early);
}

void TeamNews::remove(Team& team) {
  teams_.erase(team.id);
  note_freed(team);
  std::erase(changed_, &team);
}

News TeamNews::about(const Team& team, std::uint8_t flags) const noexcept {
  News news;
  news.flags = static_cast<std::uint8_t>(flags | (leaving_ ? News::kLeaving : 0));
  news.team = team.id;
  news.rings[0] = ring_of(team, team.rank);
  const std::uint64_t now = machine_clock_.now_ns();
  const Blame blame = team.board.blame(team.row(team.rank), team.sequence, now);
  news.waits_for = blame.rank;
  news.blame_age_ns = elapsed_ns(blame.found_ns, now);
  const Status fault = team.board.reported();
  news.set_fault({fault, team.board.reporter()});
  const int other = fault.code() == ESP_ERR_MISMATCH ? who_differs(team, fault.rank()) : -1;
  if (other >= 0) news.rings[1] = ring_of(team, other);
  return news;
}

// A rank that frees a team may have called all that the others wait for, and not be asked until
// then.
void TeamNews::note_freed(const Team& team) {
  auto why = team.failed() ? std::make_unique<News>(about(team, News::kFreed)) : nullptr;
  freed_.push_back({team.id, team.sequence, std::move(why)});
  if (freed_.size() > kFreedMax) freed_.pop_front();
}

// A team that this rank has freed, or not made yet: it has called nothing that would be news,
// unless the team had failed.
News TeamNews::about_unknown(std::uint32_t team) const noexcept {
  News news;
  news.flags = leaving_ ? News::kLeaving : 0;
  news.team = team;
  news.rings[0].rank = me_;
  const auto freed =
      std::find_if(freed_.begin(), freed_.end(), [&](const Freed& f) { return f.team == team; });
  if (freed != freed_.end() && freed->why != nullptr) {
    const std::uint8_t flags = news.flags;
    news = *freed->why;
    news.flags |= flags;
  } else if (freed != freed_.end()) {
    news.flags |= News::kFreed;
    news.rings[0].last = freed->last;
  }
  return news;
}

// Who has heard nothing asks again: for a rank that reads nothing for an hour they must not pile
// up.
void TeamNews::ask_or_answer(Rank to, const News& news) noexcept {
  if (messenger_.has_room(to)) messenger_.tell(to, news_bytes(news));
}

void TeamNews::ask(Team& team, int member) noexcept {
  RemoteMember& known = team.remote[member];
  const std::uint64_t now = clock_.now_ns();
  if (known.asked_about != team.sequence) {
    known.asked_about = team.sequence;
    known.interval_ns = kAskLeastNs;
    known.first_asked_ns = now;
  } else if (now - known.asked_ns < known.interval_ns) {
    return;
  } else {
    known.interval_ns = std::min(2 * known.interval_ns, kAskMostNs);
  }
  ask_now(team, member);
}

void TeamNews::ask_now(Team& team, int member) noexcept {
  team.remote[member].asked_ns = clock_.now_ns();
  ask_or_answer(team.members[static_cast<std::size_t>(member)], about(team, News::kQuestion));
}

void TeamNews::heard(Rank from, std::span<const std::byte> message) noexcept {
  const auto news = parse_news(message, job_size_);
  if (!news) return;
  const auto known = teams_.find(news->team);
  if (known == teams_.end()) {
    if (!news->fault().status.ok() && early_.size() < kEarlyMax) early_[news->team] = news->fault();
    if ((news->flags & News::kQuestion) != 0) ask_or_answer(from, about_unknown(news->team));
    return;
  }
  Team& team = *known->second;
  for (const CallRing& ring : news->rings) learn(team, ring, *news, ring.rank == from);
  if (!news->fault().status.ok()) learn_fault(team, news->fault());
  if ((news->flags & News::kQuestion) != 0) ask_or_answer(from, about(team, 0));
}

void TeamNews::learn(Team& team, const CallRing& ring, const News& news, bool is_sender) noexcept {
  const int member = ring.rank == kNoRank ? -1 : team.member_of(ring.rank);
  if (member < 0 || !team.is_remote(member)) return;
  RemoteMember& known = team.remote[member];
  if (ring.last >= known.ring.last) known.ring = ring;
  if (!is_sender) return;
  known.answered_ns = clock_.now_ns();
  const std::uint64_t now = machine_clock_.now_ns();
  const std::uint64_t age_ns = std::min(news.blame_age_ns, now);
  const bool sense = team.member_of(news.waits_for) >= 0;
  known.blame = sense ? Blame{news.waits_for, now - age_ns} : Blame{};
  known.leaving = (news.flags & News::kLeaving) != 0;
  known.freed = (news.flags & News::kFreed) != 0;
  if (known.inquired_ns != 0) changed_.push_back(&team);
}

void TeamNews::learn_fault(Team& team, const Report& fault) noexcept {
  const bool first = team.board.report(fault.status, fault.by);
  for (Bell* bell : team.bells) Doorbell::ring(*bell);
  if (first && team.nodes()->count() > kTellAll) {
    const News news = about(team, 0);
    for (const int member : readers_elsewhere(team)) {
      messenger_.tell(team.members[static_cast<std::size_t>(member)], news_bytes(news));
    }
  }
  changed_.push_back(&team);
}

bool TeamNews::is_there(const Team& team, int member) const noexcept {
  const Rank rank = team.members[static_cast<std::size_t>(member)];
  return !liveness_.is_dead(rank) && !liveness_.has_left(rank);
}

// A member of each node that this one tells of a failure. Of a few nodes all: who finds it tells
// everybody. Of more, those at distances 1, 2, 4... before and after it, and each node that hears
// of it tells on: it is everywhere after log2(nodes) steps, also around nodes that are gone.
std::vector<int> TeamNews::readers_elsewhere(const Team& team) const noexcept {
  const TeamNodes& nodes = *team.nodes();
  const std::int32_t here = nodes.node_of(team.rank), count = nodes.count();
  std::vector<std::int32_t> told;
  for (std::int32_t step = 1; step<count; step = count> kTellAll ? 2 * step : step + 1) {
    told.push_back((here + step) % count);
    if (count > kTellAll) told.push_back((here - step + count) % count);
  }
  std::sort(told.begin(), told.end());
  told.erase(std::unique(told.begin(), told.end()), told.end());
  std::vector<int> readers;
  for (const std::int32_t node : told) {
    std::int32_t place = 0;
    while (place < nodes.members(node) && !is_there(team, nodes.member(node, place))) ++place;
    if (place < nodes.members(node)) readers.push_back(nodes.member(node, place));
  }
  return readers;
}

void TeamNews::failed(Team& team, bool first) noexcept {
  std::vector<int> readers;
  if (first) readers = readers_elsewhere(team);
  const auto add = [&](int member) {
    const bool known = std::find(readers.begin(), readers.end(), member) != readers.end();
    if (!known && team.is_remote(member) && is_there(team, member)) readers.push_back(member);
  };
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    for (const int member : partners(*i)) add(member);
  }
  const News news = about(team, 0);
  for (const int member : readers) {
    messenger_.tell(team.members[static_cast<std::size_t>(member)], news_bytes(news));
  }
}

bool TeamNews::inquire(Team& team, Rank rank) noexcept {
  if (rank != kNoRank) return inquire_one(team, rank);
  const bool named = inquire_one(team, team.board.reported().rank());
  const bool reporter = inquire_one(team, team.board.reporter());
  return named || reporter;
}

bool TeamNews::inquire_one(Team& team, Rank rank) noexcept {
  const int member = team.member_of(rank);
  if (member < 0 || !team.is_remote(member)) return false;
  RemoteMember& known = team.remote[member];
  if (known.inquired_ns == 0) {
    known.inquired_ns = clock_.now_ns();
    ask_now(team, member);
  }
  return clock_.now_ns() - known.inquired_ns < kInquireNs;
}

}  // namespace espalier
