// What the engine says about itself: trace subjects and mismatch texts.
// path: slow (texts), data (subjects)
#include <fmt/format.h>

#include <algorithm>

#include "coll/engine/engine.hpp"
#include "coll/engine/short_operations.hpp"

namespace espalier {

// Kinds of operations stand in the order of Collective.
TraceKind trace_kind(Collective collective) noexcept {
  static_assert(static_cast<std::size_t>(TraceKind::kPointToPoint) == kCollectives);
  return static_cast<TraceKind>(collective);
}

TraceSubject subject(const Instance& instance) noexcept {
  TraceSubject s;
  s.team = static_cast<std::uint16_t>(instance.team->id);
  s.sequence = static_cast<std::uint32_t>(instance.sequence);
  s.value = static_cast<std::uint32_t>(instance.call.bytes());
  if (instance.call.collective == Collective::kPointToPoint) {
    // Counted per peer, channel and direction.
    s.vertex = instance.channel;
    s.index = instance.plan->vertices.front().action == Action::kRecv ? 1 : 0;
    s.peer = instance.team->members[static_cast<std::size_t>(instance.call.root)];
  }
  return s;
}

TraceSubject subject(const ShortOperation& op) noexcept {
  TraceSubject s;
  s.team = static_cast<std::uint16_t>(op.team->id);
  s.sequence = static_cast<std::uint32_t>(op.entered.sequence);
  s.value = static_cast<std::uint32_t>(op.call.bytes());
  return s;
}

namespace {

TraceKind segment_kind(const Vertex& vertex) noexcept {
  if (vertex.action == Action::kPublish) return TraceKind::kPublish;
  if (vertex.action == Action::kCombine) {
    if (vertex.dst == Place::kUserOutput) return TraceKind::kUnpack;
    const bool packs = vertex.operands.size() == 1 && vertex.operands[0].place >= Place::kUserInput;
    return packs ? TraceKind::kPack : TraceKind::kCombine;
  }
  return vertex.action == Action::kSend ? TraceKind::kSend : TraceKind::kRecv;
}

TraceSubject segment_subject(const Instance& instance, std::uint16_t number,
                             std::uint32_t index) noexcept {
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[number];
  const Indices n = instance.states[number].indices;
  TraceSubject s = subject(instance);
  if (instance.call.collective != Collective::kPointToPoint) s.vertex = number;
  s.index = index;
  if (vertex.action != Action::kPublish && !is_local(vertex.action)) {
    s.peer = instance.team->members[instance.member(vertex.peer.at(n.step(index)))];
  }
  s.value = static_cast<std::uint32_t>(plan.length_elements(instance.layouts, vertex, n, index) *
                                       plan.element_bytes);
  return s;
}

}  // namespace

void trace_post(Trace& trace, const Instance& instance, std::uint16_t vertex, std::uint32_t index,
                Posted posted, std::uint64_t begin_ns) noexcept {
  if (posted == Posted::kRetry) return;  // Nothing happened.
  const TraceKind kind = segment_kind(instance.plan->vertices[vertex]);
  const TraceSubject s = segment_subject(instance, vertex, index);
  trace.begin_at(kind, s, begin_ns);
  if (posted == Posted::kDone) trace.end(kind, s);
}

void trace_end(Trace& trace, const Instance& instance, std::uint16_t vertex, std::uint32_t index,
               TracePhase phase) noexcept {
  const TraceKind kind = segment_kind(instance.plan->vertices[vertex]);
  const TraceSubject s = segment_subject(instance, vertex, index);
  if (phase == TracePhase::kCancel) {
    trace.cancel(kind, s);
  } else {
    trace.end(kind, s);
  }
}

Status as_told(Status reported) noexcept {
  return reported.code() == ESP_ERR_MISMATCH ? Status(ESP_ERR_MISMATCH) : reported;
}

std::string explain_report(Status reported) {
  std::string text =
      fmt::format("another member gave up first: {}", esp_status_text(reported.code()));
  if (as_told(reported).rank() != kNoRank) text += fmt::format(" (rank {})", reported.rank());
  return text;
}

std::string explain_other_size(Rank other, unsigned channel, std::uint64_t expected_bytes) {
  return fmt::format(
      "point-to-point: rank {} sent a message of another size on channel {} than the {} bytes "
      "expected here",
      other, channel, expected_bytes);
}

namespace {

// Signatures tell how calls and numbers of segments differ, not which of the two. False: the calls
// tell more than the receive that was refused.
bool lengths_differ(const Instance& instance, const RecvSlot& refused) {
  if (refused.its_signature == refused.signature) return true;
  const Team& team = *instance.team;
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature mine, theirs;
  const int sender = team.member_of(instance.status.rank());
  if (find_difference(team, sequence, member, mine, theirs)) {
    return sequence == instance.sequence && member == sender &&
           refused.its_bytes != refused.bytes && mine.differs_in_lengths(theirs);
  }
  return team.read_call(sender, instance.sequence, theirs);
}

// What `other` sends where the receive that failed expects something else.
std::string compare_lengths(const Instance& instance, const RecvSlot& refused, Rank other) {
  const Team& team = *instance.team;
  const Rank me = team.members[static_cast<std::size_t>(team.rank)];
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[refused.vertex];
  const Indices n = instance.states[refused.vertex].indices;
  if (refused.its_bytes == refused.bytes) {
    return fmt::format(
        "rank {} sends more or fewer segments than rank {} expects of {} bytes", other, me,
        plan.flow_elements(instance.layouts, vertex, n, refused.index) * plan.element_bytes);
  }
  // Of a longer flow the first segments are whole ones.
  const bool goes_on = refused.its_bytes == plan.piece_elements * plan.element_bytes &&
                       refused.its_signature != refused.signature;
  const std::string text =
      fmt::format("rank {} sends {}{} bytes where rank {} expects {}", other,
                  goes_on ? "at least " : "", refused.its_bytes, me, refused.bytes);
  const auto block = static_cast<std::uint64_t>(vertex.block.at(n.step(refused.index)));
  const std::uint64_t block_bytes = instance.layouts[buffer_of(vertex.shape)].length(
                                        block, vertex.run_at(n.step(refused.index))) *
                                    plan.element_bytes;
  if (refused.bytes == block_bytes) return text;
  const std::uint64_t piece = Plan::piece(vertex, n, refused.index);
  return fmt::format("{}, from byte {} of a block of {}", text,
                     piece * plan.piece_elements * plan.element_bytes, block_bytes);
}

}  // namespace

std::string explain_lengths(const Instance& instance) {
  const RecvSlot* slot = instance.irregular ? instance.irregular->refused : nullptr;
  const Rank other = instance.status.rank();
  if (slot == nullptr || other == kNoRank || !lengths_differ(instance, *slot)) return {};
  return fmt::format("{} (operation {} on team {}): the lengths of blocks differ: {}",
                     instance.call.signature().to_text(), instance.sequence, instance.team->id,
                     compare_lengths(instance, *slot, other));
}

std::string explain_mismatch(const Team& team, const CallSignature& mine, Rank other) {
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature ours, theirs;
  if (!find_difference(team, sequence, member, ours, theirs)) {
    if (other == kNoRank) {
      return fmt::format(
          "team {}: members called different things, or gave a block different lengths, as another "
          "of them has found; this rank's operation {} was {}",
          team.id, team.sequence, mine.to_text());
    }
    return fmt::format(
        "operation {} on team {}: rank {} called something else, at some time, where this rank "
        "called {}",
        team.sequence, team.id, other, mine.to_text());
  }
  return fmt::format("operation {} on team {}: rank {} called {}{} where this rank called {}",
                     sequence, team.id, team.members[static_cast<std::size_t>(member)],
                     theirs.to_text(), theirs.difference_text(ours), ours.to_text());
}

namespace {

// visit(number of the plan) of each partner, and visit_group(group) of publications under way.
template <typename Visit, typename VisitGroup>
void for_each_partner(const Instance& instance, Visit&& visit, VisitGroup&& visit_group) {
  for (std::size_t v = 0; v < instance.states.size(); ++v) {
    const Vertex& vertex = instance.plan->vertices[v];
    const VertexState& state = instance.states[v];
    const bool talks = state.recvs != nullptr || state.sends != nullptr;
    if (!talks || state.base >= state.indices.count) continue;
    if (state.group == nullptr || !visit_group(*state.group)) {
      for (const std::int32_t reader : vertex.peers) visit(reader);
    }
    const std::int32_t peer = vertex.peer.at(state.indices.step(state.base));
    if (vertex.peers.empty() && peer != instance.plan->rank) visit(peer);
  }
}

void add_member(std::vector<int>& members, int member) {
  const bool known = std::find(members.begin(), members.end(), member) != members.end();
  if (!known) members.push_back(member);
}

}  // namespace

std::vector<int> partners(const Instance& instance) {
  std::vector<int> members;
  const auto add = [&](std::int32_t peer) {
    add_member(members, static_cast<int>(instance.member(peer)));
  };
  for_each_partner(instance, add, [](const TeamGroup&) { return false; });
  return members;
}

std::vector<int> awaited(const Instance& instance) {
  std::vector<int> members;
  const auto add = [&](std::int32_t peer) {
    add_member(members, static_cast<int>(instance.member(peer)));
  };
  const auto add_readers = [&](const TeamGroup& group) {
    for (const Rank rank : group.awaited()) add_member(members, instance.team->member_of(rank));
    return true;
  };
  for_each_partner(instance, add, add_readers);
  return members;
}

bool find_difference(const Team& team, std::uint64_t& sequence, int& member, CallSignature& mine,
                     CallSignature& theirs) noexcept {
  const std::uint64_t depth = std::min<std::uint64_t>(team.sequence, Board::kCalls);
  for (sequence = team.sequence - depth + 1; sequence <= team.sequence; ++sequence) {
    if (!team.read_call(team.rank, sequence, mine)) continue;
    member = -1;
    team.for_each_known([&](int other) {
      if (member < 0 && team.read_call(other, sequence, theirs) && theirs != mine) member = other;
    });
    if (member >= 0) return true;
  }
  return false;
}

}  // namespace espalier
