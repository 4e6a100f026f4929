// TagMessages: the ends of what does not come by itself. path: slow
#include <fmt/format.h>

#include <algorithm>

#include "core/plant.hpp"
#include "tags/tag_state.hpp"

namespace espalier {
namespace {

// The other side is in finalize, and nothing has come for so long: what it had sent comes first.
constexpr std::uint64_t kGoneForNs = 500'000'000;
constexpr std::size_t kWaitsMost = 8;

}  // namespace

// Those that were there at the begin: what runs at the end of one may cancel others.
int TagMessages::progress() noexcept {
  int events = 0;
  const Operation* last = ended_.back();
  for (bool is_last = false; !is_last && !ended_.empty(); ++events) {
    Operation* operation = ended_.front();
    is_last = operation == last;
    end(*operation, operation->outcome);
  }
  return events;
}

std::string TagMessages::limit_text() const {
  return fmt::format(" (TIMEOUT={:g})", static_cast<double>(parts_.watch.timeout_ns) * 1e-9);
}

void TagMessages::end(Operation& operation, Status status) noexcept {
  if (operation.sends) {
    // Its receiver may find it yet and expect a flow, for which the next message would be taken.
    const bool late = status.code() == ESP_ERR_TIMEOUT && operation.rank != parts_.me;
    if (late && !operation.team.failed()) {
      parts_.engine.fail(
          operation.team, status,
          fmt::format("{} has not come in time{}", describe(operation), limit_text()));
    }
    end(static_cast<Send&>(operation), status);
  } else {
    end(static_cast<Receive&>(operation), status);
  }
}

void TagMessages::cancel(Receive& receive) noexcept {
  if (!receive.is_posted()) return;
  set_ended(receive, ESP_ERR_CANCELED);
}

// Nothing meets it any more, and progress() tells its end.
void TagMessages::set_ended(Operation& operation, Status status) noexcept {
  if (!operation.sends) {
    auto& receive = static_cast<Receive&>(operation);
    if (receive.is_posted()) matching_.withdraw(receive);
    receive.info = nullptr;
  }
  operation.moves = true;
  operation.outcome = status;
  operation.unlink();
  ended_.push_back(operation);
}

// ---- who does not come ----

Status TagMessages::loss_of(Operation& operation) noexcept {
  // First: what happens during the look is found by the next.
  const std::uint64_t changes = parts_.liveness.changes();
  if (changes != 0 && std::exchange(operation.changes, changes) == changes) return {};
  const Team& team = operation.team;
  const Rank rank = operation.rank;
  const auto lost = [&](Rank other) {
    if (other == parts_.me) return Status();
    if (parts_.liveness.is_dead(other)) return parts_.liveness.loss(other);
    return parts_.liveness.has_left(other) ? Status(ESP_ERR_PEER_DIED, other) : Status();
  };
  if (rank != kNoRank) return lost(rank);
  for (const Rank other : team.members) {
    if (ESP_PLANT(93, false, other == team.members.back())) continue;
    if (const Status status = lost(other); !status.ok()) return status;
  }
  return {};
}

// Of those that are waited for; where a wait is for none of them, of all.
Status TagMessages::lateness(Operation& operation, std::uint64_t since_ns,
                             std::uint64_t now_ns) noexcept {
  if (operation.since_ns == 0) operation.since_ns = now_ns;
  const bool awaited = parts_.awaited(operation.finish);
  Team& team = operation.team;
  const bool names = awaited && operation.rank != kNoRank && operation.rank != parts_.me;
  if (names && parts_.teams.asks_whether_leaving(team, member(team, operation.rank))) {
    if (operation.gone_ns == 0) operation.gone_ns = now_ns;
    if (now_ns - operation.gone_ns > kGoneForNs) return Status(ESP_ERR_MISMATCH, operation.rank);
  }
  if (!awaited && any_awaited_) return {};
  const std::uint64_t waited = now_ns - std::max(since_ns, operation.since_ns);
  const WatchLimits& limits = parts_.watch;
  if (limits.warn_ns != 0 && waited >= limits.warn_ns && !std::exchange(warned_, true)) {
    parts_.log.warn("{} is waited for since {:.1f} s", describe(operation),
                    static_cast<double>(waited) * 1e-9);
  }
  if (limits.timeout_ns == 0 || waited < limits.timeout_ns) return {};
  return Status(ESP_ERR_TIMEOUT, operation.rank);
}

Status TagMessages::verdict(Operation& operation, std::uint64_t since_ns,
                            std::uint64_t now_ns) noexcept {
  if (operation.moves) return {};
  if (operation.team.failed()) return operation.team.fault;
  const Status lost = loss_of(operation);
  return lost.ok() ? lateness(operation, since_ns, now_ns) : lost;
}

// Another member has given the team up, and no flow of this rank asks about that.
const TagMessages::Operation* TagMessages::first_in_vain(
    const IntrusiveList<Operation>& operations) const noexcept {
  const Operation* o = operations.front();
  for (; o != nullptr; o = operations.after(*o)) {
    const Team& team = o->team;
    if (ESP_PLANT(96, !o->moves, false) && !team.failed() && team.board &&
        !team.board.reported().ok())
      break;
  }
  return o;
}

void TagMessages::look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  any_awaited_ = !probes_.empty();
  for (Operation* o = open_.front(); o != nullptr && !any_awaited_; o = open_.after(*o)) {
    any_awaited_ = parts_.awaited(o->finish);
  }
  if (!any_awaited_) warned_ = false;
  for (auto* list : {&open_, &probes_}) {
    while (const Operation* in_vain = first_in_vain(*list)) {
      const Status told = as_told(in_vain->team.board.reported());
      parts_.engine.fail(in_vain->team, told,
                         fmt::format("{}; {}", describe(*in_vain), explain_report(told)));
    }
  }
  look_at(open_, since_ns, now_ns);
  look_at(probes_, since_ns, now_ns);
  (void)progress();
}

void TagMessages::look_at(IntrusiveList<Operation>& operations, std::uint64_t since_ns,
                          std::uint64_t now_ns) noexcept {
  for (Operation* o = operations.front(); o != nullptr;) {
    Operation* next = operations.after(*o);
    const Status status = verdict(*o, since_ns, now_ns);
    if (!status.ok()) {
      if (!o->team.failed()) explain(*o, status);
      set_ended(*o, status);
    }
    o = next;
  }
}

namespace {

// The bits of it that count. Where those are some of the upper half alone, who asks has no use for
// them: mpi.h keeps its own messages apart by these.
std::string tag_text(std::uint64_t tag, std::uint64_t mask) {
  if (mask == ESP_TAG_EXACT) return fmt::format("tag {}", tag);
  constexpr std::uint64_t kLowerHalf = UINT32_MAX;
  return (mask & kLowerHalf) == 0 && tag == 0 ? "any tag"
                                              : fmt::format("tag {:#x} in bits {:#x}", tag, mask);
}

}  // namespace

std::string TagMessages::describe(const Operation& operation) const {
  const std::string other =
      operation.rank == kNoRank ? "any rank" : fmt::format("rank {}", operation.rank);
  const bool has_come = operation.sends || operation.moves;
  const std::uint64_t mask =
      has_come ? ESP_TAG_EXACT : static_cast<const Receive&>(operation).pattern.mask;
  return fmt::format(
      "{} with {} {} {} on team {}", operation.sends ? "the receive of a message" : "a message",
      tag_text(operation.tag, mask), operation.sends ? "by" : "from", other, operation.team.id);
}

void TagMessages::explain(const Operation& operation, Status status) noexcept {
  if (note_ == nullptr) return;
  std::string why = esp_status_text(status.code());
  if (status.code() == ESP_ERR_MISMATCH) {
    why = fmt::format("rank {} finalizes its job", status.rank());
  } else if (status.rank() != kNoRank && status.rank() != operation.rank) {
    why += fmt::format(" (rank {})", status.rank());
  }
  if (status.code() == ESP_ERR_TIMEOUT) why += limit_text();
  note_(note_context_, fmt::format("{}: {}", describe(operation), why));
}

std::vector<TeamWait> TagMessages::waits(std::uint64_t now_ns) const {
  std::vector<TeamWait> waits;
  for (const auto* list : {&open_, &probes_}) {
    for (const Operation* o = list->front(); o != nullptr; o = list->after(*o)) {
      if (o->moves || !parts_.awaited(o->finish)) continue;
      TeamWait wait;
      wait.text = describe(*o);
      wait.waited_ns = o->since_ns != 0 ? now_ns - o->since_ns : 0;
      if (o->rank != kNoRank) wait.awaited.push_back(o->rank);
      waits.push_back(std::move(wait));
      if (waits.size() == kWaitsMost) return waits;
    }
  }
  return waits;
}

bool TagMessages::uses(const Pattern* pattern) const noexcept {
  for (const auto* list : {&open_, &ended_}) {
    for (const Operation* o = list->front(); o != nullptr; o = list->after(*o)) {
      if (o->block.pattern == pattern) return true;
    }
  }
  return false;
}

// ---- ends ----

void TagMessages::discard(UnexpectedMessage& message, bool tells) noexcept {
  if (tells) {
    parts_.log.warn("a message from rank {} with tag {} on team {} was never received",
                    message.key.source, message.key.tag, message.key.team & ~kAside);
  }
  auto& gone = static_cast<TagArrival&>(message);
  claim(gone);
  drop(gone);
}

void TagMessages::forget(Team& team) noexcept {
  ESP_ASSERT(team.tagged == 0);
  bool first = true;
  for (const bool aside : {false, true}) {
    while (UnexpectedMessage* one = matching_.any_of(tag_team(team, aside))) {
      discard(*one, std::exchange(first, false));
    }
  }
}

// What the engine and others still hold ends by them.
void TagMessages::close() noexcept {
  if (std::exchange(closed_, true)) return;
  while (!ended_.empty()) (void)progress();
  for (auto* list : {&open_, &probes_}) {
    for (Operation* o = list->front(); o != nullptr;) {
      Operation* next = list->after(*o);
      if (!o->moves) set_ended(*o, ESP_ERR_CANCELED);
      o = next;
    }
  }
  while (!ended_.empty()) (void)progress();
  std::uint64_t count = 0;
  for (; UnexpectedMessage* one = matching_.any(); ++count) discard(*one, count == 0);
  while (ByTeam* claimed = claimed_.front()) drop(static_cast<TagArrival&>(*claimed));
  if (count + late_ > 1) parts_.log.warn("{} messages were never received", count + late_);
}

}  // namespace espalier
