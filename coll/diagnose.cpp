// What the engine says about itself: trace subjects and mismatch texts.
// path: slow (texts), data (subjects)
#include <fmt/format.h>

#include <algorithm>

#include "coll/engine.hpp"

namespace espalier {

TraceKind trace_kind(Collective collective) noexcept {
  switch (collective) {
    case Collective::kBarrier:
      return TraceKind::kBarrier;
    case Collective::kBcast:
      return TraceKind::kBcast;
    case Collective::kReduce:
      return TraceKind::kReduce;
    case Collective::kAllreduce:
      return TraceKind::kAllreduce;
    case Collective::kPointToPoint:
      return TraceKind::kPointToPoint;
  }
  return TraceKind::kMark;
}

TraceSubject subject(const Instance& instance, std::uint16_t vertex, std::uint32_t index,
                     int member) noexcept {
  TraceSubject s;
  s.team = static_cast<std::uint16_t>(instance.team->id);
  s.vertex = vertex;
  s.sequence = static_cast<std::uint32_t>(instance.sequence);
  s.index = index;
  s.peer = member < 0 ? kNoRank : instance.team->members[static_cast<std::size_t>(member)];
  s.value = static_cast<std::uint32_t>(instance.call.bytes());
  return s;
}

std::string explain_mismatch(const Team& team, const CallSignature& mine, Rank other) {
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature ours, theirs;
  if (!find_difference(team, sequence, member, ours, theirs)) {
    return fmt::format(
        "operation {} on team {}: rank {} called something else, at some time, where this rank "
        "called {}",
        team.sequence, team.id, other, mine.to_text());
  }
  const std::string text = theirs.to_text();
  return fmt::format("operation {} on team {}: rank {} called {}{} where this rank called {}",
                     sequence, team.id, team.members[static_cast<std::size_t>(member)], text,
                     text == ours.to_text() ? " with other options (or the non-blocking form)" : "",
                     ours.to_text());
}

bool find_difference(const Team& team, std::uint64_t& sequence, int& member, CallSignature& mine,
                     CallSignature& theirs) noexcept {
  if (!team.board) return false;
  const std::uint64_t depth = std::min<std::uint64_t>(team.sequence, Board::kCalls);
  for (sequence = team.sequence - depth + 1; sequence <= team.sequence; ++sequence) {
    if (!team.board.read(team.rank, sequence, mine)) continue;
    for (member = 0; member < team.size(); ++member) {
      if (team.board.read(member, sequence, theirs) && theirs != mine) return true;
    }
  }
  return false;
}

}  // namespace espalier
