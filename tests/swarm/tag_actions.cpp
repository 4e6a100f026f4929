// TagJob: what ranks do, and how it ends.
#include <fmt/format.h>

#include <algorithm>

#include "tests/swarm/drawing.hpp"
#include "tests/swarm/tag_job.hpp"

namespace espalier::swarm {
namespace {

TagReceiving receiving_of(TagOp& op) {
  const int source = op.rank == kNoRank ? ESP_ANY_SOURCE : op.team->member_of(op.rank);
  return {*op.team, source, op.tag, op.mask, op.memory.block(), &op.info};
}

}  // namespace

Team& TagJob::draw_team(TagNode& node) {
  return *node.teams[prng_.below(node.teams.size())];
}

std::uint64_t TagJob::draw_tag() {
  return prng_.below(3) | prng_.below(2) << 60;
}

const Pattern* TagJob::draw_memory(std::uint64_t& elements) {
  const std::uint64_t kind = prng_.below(10);
  elements = kind < 2 ? 0 : kind < 8 ? prng_.below(60) : prng_.below(3000);
  return prng_.chance(0.2) ? &patterns_[prng_.below(patterns_.size())] : nullptr;
}

void TagJob::draw_pattern_of(TagOp& op) {
  static constexpr std::uint64_t kMasks[] = {0, 1, 2, std::uint64_t{1} << 60};
  const auto size = static_cast<std::uint64_t>(op.team->size());
  if (prng_.chance(0.7)) op.rank = op.team->members[prng_.below(size)];
  op.tag = draw_tag();
  if (prng_.chance(0.35)) op.mask = pick(prng_, kMasks);
}

TagOp& TagJob::make(TagNode& node, TagOp::Kind kind, Team& team) {
  TagOp& op = ops_.emplace_back();
  op.kind = kind;
  op.node = &node;
  op.number = ops_.size();
  op.team = &team;
  return op;
}

void TagJob::act(TagNode& node) {
  --node.actions;
  const std::uint64_t draw = prng_.below(100);
  if (late_ && draw >= 38 && draw < 70) accept(node);
  if (draw < 38) return draw_send(node);
  if (draw < 70) return draw_receive(node);
  if (draw < 76) return cancel_one(node);
  if (draw < 80) return probe(node);
  if (draw < 88) return look_for(node);
  if (draw < 92) return receive_claimed(node);
  accept(node);
}

void TagJob::settle_start(TagOp& op, Result<TagMessages::Started> started) {
  if (!started) return finish(op, started.error().status);
  if (started->done) finish(op, started->status);
}

void TagJob::send(TagNode& node, TagOp& op) {
  op.memory.fill(op.number);
  op.started = true;
  ++report_.sends;
  TagSending sending{*op.team, op.team->member_of(op.rank), op.tag, op.memory.block(),
                     op.synchronous};
  const bool simple = sending.block.pattern == nullptr && !op.synchronous &&
                      sending.block.bytes <= limits_.eager_bytes;
  std::deque<TagOp*>& queue = this->node(op.rank).model.under_way[node.rank];
  queue.push_back(&op);
  if (simple && prng_.chance(0.5) && node.tags.send_now(sending)) return finish(op, {});
  auto started = node.tags.send(sending, {&on_finish, &op});
  if (!started) std::erase(queue, &op);
  settle_start(op, std::move(started));
}

void TagJob::draw_send(TagNode& node) {
  Team& team = draw_team(node);
  if (team.failed()) return;
  TagOp& op = make(node, TagOp::Kind::kSend, team);
  op.rank = team.members[prng_.below(static_cast<std::uint64_t>(team.size()))];
  op.tag = draw_tag();
  op.synchronous = prng_.chance(0.15);
  std::uint64_t elements = 0;
  const Pattern* pattern = draw_memory(elements);
  op.memory.create(pattern, elements);
  send(node, op);
}

void TagJob::receive(TagNode& node, TagOp& op) {
  op.started = true;
  ++report_.receives;
  const TagOp* met = node.model.post(op);
  auto started = node.tags.receive(receiving_of(op), {&on_finish, &op}, op.posted);
  if (started && (op.posted == nullptr) != (met != nullptr)) {
    return fail(fmt::format("receive {} is {}, although {}", op.number,
                            op.posted != nullptr ? "posted" : "not posted",
                            met != nullptr ? "a message waits for it" : "no message waits for it"));
  }
  settle_start(op, std::move(started));
}

void TagJob::draw_receive(TagNode& node) {
  Team& team = draw_team(node);
  if (team.failed()) return;
  TagOp& op = make(node, TagOp::Kind::kReceive, team);
  draw_pattern_of(op);
  if (late_ && node.model.first_for(op) == nullptr && prng_.chance(0.95)) return;
  std::uint64_t elements = 0;
  const Pattern* pattern = draw_memory(elements);
  // Most of them are long enough.
  op.memory.create(pattern, prng_.chance(0.7) ? elements + 3000 : elements);
  receive(node, op);
}

void TagJob::cancel(TagNode& node, TagOp& op) {
  node.model.withdraw(op);
  op.canceled = true;
  node.tags.cancel(*op.posted);
}

// Of one whose message has been found it does nothing.
void TagJob::cancel_one(TagNode& node) {
  std::vector<TagOp*> open;
  for (TagOp& op : ops_) {
    if (op.node == &node && op.posted != nullptr && !op.ended && !op.canceled) open.push_back(&op);
  }
  if (open.empty()) return;
  TagOp& op = *open[prng_.below(open.size())];
  if (op.met == nullptr) return cancel(node, op);
  node.tags.cancel(*op.posted);
}

void TagJob::probe(TagNode& node) {
  Team& team = draw_team(node);
  if (team.failed()) return;
  TagOp& op = make(node, TagOp::Kind::kProbe, team);
  draw_pattern_of(op);
  op.started = true;
  op.due = node.model.first_for(op) != nullptr;
  node.model.add_probe(op);
  auto started = node.tags.probe(receiving_of(op), {&on_finish, &op});
  if (started && started->done != op.due) fail(fmt::format("probe {} does not see", op.number));
  settle_start(op, std::move(started));
}

void TagJob::look_for(TagNode& node) {
  TagOp asked;
  asked.team = &draw_team(node);
  draw_pattern_of(asked);
  TagOp* expected = node.model.first_for(asked);
  esp_tag_info info;
  TagArrival* found = node.tags.find(receiving_of(asked), info);
  if ((found != nullptr) != (expected != nullptr))
    return fail("a message is not found, or none is");
  if (found == nullptr) return;
  if (info.source != asked.team->member_of(expected->source()) || info.tag != expected->tag ||
      info.bytes != expected->memory.bytes()) {
    return fail(fmt::format("what is found is not message {}", expected->number));
  }
  if (prng_.chance(0.5)) return;
  node.tags.claim(*found);
  node.model.claim(*expected);
  node.claimed.push_back({found, expected});
}

void TagJob::receive_claimed(TagNode& node) {
  if (node.claimed.empty()) return;
  const auto [arrival, message] = node.claimed.front();
  node.claimed.pop_front();
  const auto own = std::find_if(node.teams.begin(), node.teams.end(),
                                [&](const auto& team) { return team->id == message->team->id; });
  TagOp& op = make(node, TagOp::Kind::kReceive, **own);
  op.memory.create(nullptr, prng_.chance(0.7) ? 3000 * 15 : prng_.below(40));
  op.started = true;
  ++report_.claimed;
  node.model.meet(op, *message);
  node.model.forget_bytes(*message);
  settle_start(op, node.tags.receive(*arrival, receiving_of(op), {&on_finish, &op}));
}

// As a blocking receive does that finds its message at the front of its ring.
void TagJob::accept(TagNode& node) {
  Team& team = draw_team(node);
  if (team.failed() || !node.tags.nothing_waits()) return;
  TagOp& op = make(node, TagOp::Kind::kReceive, team);
  draw_pattern_of(op);
  if (op.rank == kNoRank || op.rank == node.rank) return;
  const TagLetter* next = post_.front(op.rank, node.rank);
  if (next == nullptr) return;
  op.memory.create(nullptr, 3000 * 15);
  ActiveMessage message = next->message;
  if (prng_.chance(0.7)) op.tag = message.argument;
  message.payload = next->payload.data();
  Status status;
  if (!node.tags.accept(receiving_of(op), op.rank, message, status)) return;
  (void)post_.take(op.rank, node.rank);
  ++report_.accepted;
  op.started = true;
  if (node.model.post(op) != nullptr) return fail("a message is accepted before another");
  const std::string wrong = node.model.arrive(op.rank, message);
  if (!wrong.empty()) return fail(wrong);
  if (op.met == nullptr) return fail(fmt::format("receive {} accepts what is not its", op.number));
  finish(op, status);
}

// ---- ends ----

void TagJob::on_finish(void* context, Status status) noexcept {
  auto& op = *static_cast<TagOp*>(context);
  op.node->job.finish(op, status);
}

void TagJob::finish(TagOp& op, Status status) {
  TagModel& model = op.node->model;
  if (std::exchange(op.ended, true)) return fail(fmt::format("operation {} ends twice", op.number));
  if (op.kind == TagOp::Kind::kProbe) model.remove_probe(op);
  if (closing_ || !alive(op.node->rank)) return;
  if (status.code() == ESP_ERR_PEER_DIED) {
    ++report_.died;
    const auto& members = op.team->members;
    const bool meets_the_dead =
        post_.dead && std::find(members.begin(), members.end(), *post_.dead) != members.end();
    if (!meets_the_dead) fail(fmt::format("operation {} misses somebody who lives", op.number));
    if (op.kind == TagOp::Kind::kReceive) model.withdraw(op);
    return;
  }
  switch (op.kind) {
    case TagOp::Kind::kSend: {
      const bool waits = op.synchronous || op.memory.bytes() > limits_.eager_bytes;
      if (!status.ok()) fail(fmt::format("send {} ends with {}", op.number, int{status.code()}));
      if (waits && op.met == nullptr) {
        fail(fmt::format("send {} ends before a receive has been found", op.number));
      }
      return op.memory.spoil();
    }
    case TagOp::Kind::kReceive:
      return check_receive(op, status);
    case TagOp::Kind::kProbe:
      if (!status.ok() || !op.due) fail(fmt::format("probe {} ends", op.number));
  }
}

void TagJob::check_receive(TagOp& op, Status status) {
  if (status.code() == ESP_ERR_CANCELED) {
    ++report_.canceled;
    if (!op.canceled) fail(fmt::format("receive {} was not canceled", op.number));
    if (!op.memory.holds(0, 0)) fail(fmt::format("receive {} writes", op.number));
    return;
  }
  if (op.canceled) return fail(fmt::format("receive {} was canceled", op.number));
  if (op.met == nullptr) {
    return fail(fmt::format("receive {} ends with {}", op.number, int{status.code()}));
  }
  const TagOp& sent = *op.met;
  const std::uint64_t bytes = sent.memory.bytes();
  const bool fits = bytes <= op.memory.bytes();
  if (status.code() != (fits ? ESP_OK : ESP_ERR_TRUNCATED)) {
    return fail(fmt::format("receive {} ends with {}", op.number, int{status.code()}));
  }
  if (!op.memory.holds(sent.number, std::min(bytes, op.memory.bytes()))) {
    return fail(fmt::format("receive {} does not hold message {}", op.number, sent.number));
  }
  if (op.info.source != op.team->member_of(sent.source()) || op.info.tag != sent.tag ||
      op.info.bytes != bytes) {
    fail(fmt::format("receive {} says {} bytes from {} with tag {}", op.number, op.info.bytes,
                     op.info.source, op.info.tag));
  }
}

}  // namespace espalier::swarm
