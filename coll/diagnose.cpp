// What the engine says about itself: trace subjects and mismatch texts.
// path: slow (texts), data (subjects)
#include <fmt/format.h>

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

std::string explain_mismatch(const Team& team, std::uint64_t sequence, const std::string& mine,
                             Rank other) {
  for (int member = 0; team.board && member < team.size(); ++member) {
    if (team.members[static_cast<std::size_t>(member)] != other) continue;
    CallSignature signature;
    if (!team.board.read(member, sequence, signature)) break;
    const std::string theirs = signature.to_text();
    return fmt::format("operation {} on team {}: rank {} called {}{} where this rank called {}",
                       sequence, team.id, other, theirs,
                       theirs == mine ? " with other options (or as a non-blocking call)" : "",
                       mine);
  }
  return fmt::format("operation {} on team {}: rank {} made another call where this rank called {}",
                     sequence, team.id, other, mine);
}

}  // namespace espalier
