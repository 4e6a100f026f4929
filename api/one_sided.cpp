#include "api/one_sided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace espalier {
namespace {

// So often what is under way is looked after: as often as waits are.
constexpr std::uint64_t kPollNs = 20'000'000;
// And among these looks, every so many is followed by a message that shows whether the target is
// still there.
constexpr std::uint64_t kLooksPerProbe = 16;

}  // namespace

// A message that is under way: in the queue of a target of this node, or a frame.
struct OneSided::Letter : Completion, ListNode {
  Letter(OneSided& one_sided, Rank target, const ActiveMessage& text, const Finish& end) noexcept
      : Completion(&OneSided::on_letter_sent),
        owner(one_sided),
        to(target),
        message(text),
        finish(end) {
    open.letter = this;
    if (text.bytes == 0 || text.bytes > MessageSender::kCopiedBytes) return;
    std::memcpy(copied.data(), text.payload, text.bytes);
    message.payload = copied.data();
  }

  OneSided& owner;
  const Rank to;
  ActiveMessage message;
  std::array<std::byte, MessageSender::kCopiedBytes> copied;
  const Finish finish;
  OpenNode open;
  net::OutgoingFrame frame{*this};
};

struct OneSided::Transfer : net::RemoteOp {
  Transfer(OneSided& one_sided, const RemoteCall& call, const Finish& end) noexcept
      : RemoteOp(&OneSided::on_transfer_done), owner(one_sided), finish(end) {
    kind = call.kind;
    target = call.target;
    region = call.region;
    offset = call.offset;
    memory = static_cast<std::byte*>(call.memory);
    bytes = call.bytes;
    operands = call.operands;
    direct = call.direct;
    open_node.transfer = this;
  }

  OneSided& owner;
  const Finish finish;
  OpenNode open_node;
  std::uint64_t seen = 0;  // answered bytes
};

// Of one rank: messages that its mailbox had no room for, everything that is under way, oldest
// first, and whether it goes on.
struct OneSided::Queue {
  Rank to = kNoRank;
  bool busy = false, watched = false;
  IntrusiveList<Letter> letters;
  IntrusiveList<OpenNode> open_letters, open_transfers;
  std::uint64_t moves = 0;     // answers of it, and letters that left
  std::uint64_t seen = 0;      // of them, by the last look
  std::uint64_t moved_ns = 0;  // when a look saw that it goes on
};

OneSided::OneSided(const Parts& parts)
    : parts_(parts),
      mailbox_(parts.segment, parts.nodes.locals.all(), parts.doorbell, parts.counters, *this),
      timer_(*this) {
  if (parts.routes != nullptr) {
    MessageTaker& taker = *this;
    remote_ = std::make_unique<net::RemoteAccess>(*parts.routes, taker);
  }
}

OneSided::~OneSided() {
  close();
}

bool OneSided::is_local(Rank rank) const noexcept {
  return parts_.nodes.locals.contains(rank);
}

OneSided::Queue& OneSided::queue(Rank to) noexcept {
  if (Queue* met = queues_.find(to)) return *met;
  Queue& q = queues_.meet(to, std::make_unique<Queue>());
  q.to = to;
  return q;
}

// Not ok: what is known to speak against a message.
Status OneSided::state_of(Rank to, unsigned id) noexcept {
  if (to == parts_.me) return {};
  if (is_local(to)) {
    if (id >= kMessageIds) return {};
    const bool refused = mailbox_.refused(parts_.nodes.locals.index_of(to), id);
    return refused ? Status(ESP_ERR_MISMATCH, to) : Status();
  }
  if (id < kMessageIds && remote_->refused(to, id)) return Status(ESP_ERR_MISMATCH, to);
  return remote_->state(to);
}

Result<OneSided::Started> OneSided::send(Rank to, const ActiveMessage& message,
                                         const Finish& finish) {
  if (closed_) return error(ESP_ERR_CANCELED, "the job is being finalized");
  if (const Status state = state_of(to, message.id); !state.ok()) {
    if (state.code() == ESP_ERR_MISMATCH) {
      return error(ESP_ERR_MISMATCH,
                   fmt::format("rank {} has no function for messages of id {}", to, message.id),
                   to);
    }
    return error(state.code(),
                 fmt::format("a message to rank {}: {}", to, esp_status_text(state.code())), to);
  }
  const bool local = is_local(to);
  const Queue* waiting = local ? queues_.find(to) : nullptr;
  const bool in_order = waiting == nullptr || waiting->letters.empty();
  if (local && in_order && to != parts_.me && drop_in(to, message)) return Started{true, {}};
  Letter* letter = letters_.allocate(*this, to, message, finish);
  if (letter == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a message");
  if (local) {
    enqueue(*letter);
  } else {
    ++parts_.counters.messages_sent;
    if (remote_->send(to, letter->message, letter->frame) == Posted::kDone) {
      letters_.release(letter);
      return Started{true, {}};
    }
  }
  watch(letter->open, to);
  return Started{};
}

Result<bool> OneSided::send_own(Rank to, const ActiveMessage& message, const Finish& finish) {
  auto started = send(to, message, finish);
  if (!started) return started.error();
  return started->done;
}

// To ranks of this node alone.
bool OneSided::send_own_now(Rank to, const ActiveMessage& message) noexcept {
  const std::uint32_t local = parts_.nodes.locals.index_of(to);
  if (local == RankMap::kNone || to == parts_.me || closed_) return false;
  if (!busy_.empty()) [[unlikely]] {
    const Queue* waiting = queues_.find(to);
    if (waiting != nullptr && !waiting->letters.empty()) return false;
  }
  if (mailbox_.send(local, message) == Posted::kRetry) return false;
  ++parts_.counters.messages_sent;
  return true;
}

std::optional<ActiveMessage> OneSided::front(Rank from) noexcept {
  return mailbox_.front(parts_.nodes.locals.index_of(from));
}

// False: its mailbox has no room.
bool OneSided::drop_in(Rank to, const ActiveMessage& message) noexcept {
  if (mailbox_.send(parts_.nodes.locals.index_of(to), message) == Posted::kRetry) return false;
  ++parts_.counters.messages_sent;
  return true;
}

void OneSided::enqueue(Letter& letter) noexcept {
  Queue& q = queue(letter.to);
  q.letters.push_back(letter);
  if (!std::exchange(q.busy, true)) busy_.push_back(&q);
}

// How many letters have left: until there is no more room.
int OneSided::flush(Queue& q) noexcept {
  int events = 0;
  for (; Letter* letter = q.letters.front(); ++events) {
    const Status state = state_of(q.to, letter->message.id);
    if (state.ok() && !drop_in(q.to, letter->message)) break;
    letter->unlink();
    ++q.moves;
    end(*letter, state);
  }
  return events;
}

// Those that were there at the begin: functions may send more.
int OneSided::deliver_to_self() noexcept {
  Queue* q = queues_.find(parts_.me);
  if (q == nullptr || q->letters.empty()) return 0;
  int events = 0;
  for (const Letter* last = q->letters.back(); Letter* letter = q->letters.pop_front(); ++events) {
    const bool is_last = letter == last;
    ++parts_.counters.messages_sent;
    const bool taken = take(parts_.me, letter->message);
    end(*letter, taken ? Status() : Status(ESP_ERR_MISMATCH, parts_.me));
    if (is_last) return events + 1;
  }
  return events;
}

int OneSided::progress() noexcept {
  int events = mailbox_.progress();
  if (remote_ != nullptr) events += remote_->progress();
  if (busy_.empty()) return events;
  events += deliver_to_self();
  for (std::size_t i = busy_.size(); i-- > 0;) {
    Queue& q = *busy_[i];
    if (q.to != parts_.me) events += flush(q);
    if (!q.letters.empty()) continue;
    q.busy = false;
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return events;
}

bool OneSided::take(Rank from, const ActiveMessage& message) noexcept {
  if (message.id >= kMessageIds) return own_->take(from, message);
  if (closed_) {
    ++late_messages_;
    return true;
  }
  const Handler handler = handlers_[message.id];
  if (handler.function != nullptr) [[likely]] {
    ++parts_.counters.messages_received;
    handler.function(handler.context, from, message.argument, message.payload, message.bytes);
    return true;
  }
  ++parts_.counters.messages_refused;
  if (!std::exchange(complained_[message.id], true)) {
    parts_.log.error("rank {} sent a message of id {}, for which this rank has no function", from,
                     message.id);
  }
  return false;
}

void OneSided::on_letter_sent(Completion& completion, Status status) noexcept {
  auto& letter = static_cast<Letter&>(completion);
  ++letter.owner.queue(letter.to).moves;
  letter.owner.end(letter, status);
}

void OneSided::end(Letter& letter, Status status) noexcept {
  const Finish finish = letter.finish;
  if (!status.ok()) explain("a message", letter.to, status);
  letter.open.unlink();
  letters_.release(&letter);
  finish.function(finish.context, status);
}

Result<OneSided::Started> OneSided::start(const RemoteCall& call, const Finish& finish) {
  if (closed_) return error(ESP_ERR_CANCELED, "the job is being finalized");
  ESP_ASSERT(remote_ != nullptr && !is_local(call.target));
  Transfer* transfer = transfers_.allocate(*this, call, finish);
  if (transfer == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for an operation");
  watch(transfer->open_node, call.target);
  remote_->start(*transfer);
  return Started{};
}

void OneSided::on_transfer_done(Completion& completion, Status status) noexcept {
  auto& transfer = static_cast<Transfer&>(completion);
  ++transfer.owner.queue(transfer.target).moves;
  transfer.owner.end(transfer, status);
}

void OneSided::end(Transfer& transfer, Status status) noexcept {
  static constexpr const char* kNames[] = {"a put", "a get", "a fetch-add", "a compare-swap"};
  const Finish finish = transfer.finish;
  if (!status.ok()) {
    explain(kNames[static_cast<std::size_t>(transfer.kind)], transfer.target, status);
  }
  transfer.open_node.unlink();
  transfers_.release(&transfer);
  finish.function(finish.context, status);
}

void OneSided::explain(const char* what, Rank target, Status status) noexcept {
  if (note_ == nullptr) return;
  note_(note_context_,
        fmt::format("{} to rank {}: {}", what, target, esp_status_text(status.code())));
}

std::uint32_t OneSided::offer(std::byte* memory, std::uint64_t bytes) {
  return remote_ != nullptr ? remote_->offer(memory, bytes) : 0;
}

net::RemoteMemory OneSided::exposed(std::uint32_t region) const noexcept {
  return remote_ != nullptr ? remote_->exposed(region) : net::RemoteMemory();
}

void OneSided::retract(std::uint32_t region) noexcept {
  if (remote_ != nullptr) remote_->retract(region);
}

// ---- what is under way does not wait for ever ----

std::vector<Rank> OneSided::targets() const {
  std::vector<Rank> ranks;
  for (const Queue* q : watched_) {
    if (!q->open_letters.empty() || !q->open_transfers.empty()) ranks.push_back(q->to);
  }
  return ranks;
}

// Time is counted from the next look: no clock is read here.
void OneSided::watch(OpenNode& node, Rank target) noexcept {
  if (timer_.idle()) {
    parts_.worker.timers().add(timer_, parts_.worker.clock().now_ns() + kPollNs);
  }
  node.since_ns = timer_.deadline_ns();
  Queue& q = queue(target);
  (node.letter != nullptr ? q.open_letters : q.open_transfers).push_back(node);
  if (!std::exchange(q.watched, true)) watched_.push_back(&q);
}

void OneSided::on_timer(Timer& timer, std::uint64_t now_ns) noexcept {
  OneSided& self = static_cast<WatchTimer&>(timer).owner;
  self.look(now_ns);
  if (self.open() > 0 && timer.idle()) {
    self.parts_.worker.timers().add(timer, now_ns + kPollNs);
  }
}

// Ok while the target lives. One that left after its goodbye is missed only by who asks for it: it
// may have taken a request without answering it any more.
Status OneSided::loss(Rank target) noexcept {
  if (target == parts_.me) return {};
  if (!is_local(target) && looks_ % kLooksPerProbe == 0) remote_->probe(target);
  if (parts_.liveness.is_dead(target)) return parts_.liveness.loss(target);
  return parts_.liveness.has_left(target) ? Status(ESP_ERR_PEER_DIED, target) : Status();
}

void OneSided::look(std::uint64_t now_ns) noexcept {
  ++looks_;
  std::erase_if(watched_, [](Queue* q) {
    q->watched = !q->open_letters.empty() || !q->open_transfers.empty();
    return !q->watched;
  });
  Ended ended;
  for (Queue* q : watched_) look_at(*q, now_ns, ended);
  // Detached first: what runs at the end of one may start others, but not end any.
  for (const auto& [node, status] : ended) withdraw(*node);
  for (const auto& [node, status] : ended) end(*node, status);
}

// The oldest stand for the others: a look costs as much as there are targets, not operations.
void OneSided::look_at(Queue& q, std::uint64_t now_ns, Ended& ended) noexcept {
  if (const OpenNode* oldest = q.open_transfers.front(); oldest != nullptr) {
    Transfer& transfer = *oldest->transfer;
    if (std::exchange(transfer.seen, transfer.answered) != transfer.answered) ++q.moves;
  }
  if (std::exchange(q.seen, q.moves) != q.moves) q.moved_ns = now_ns;
  const Status lost = loss(q.to);
  for (auto* list : {&q.open_letters, &q.open_transfers}) {
    for (OpenNode* node = list->front(); node != nullptr; node = list->after(*node)) {
      const std::uint64_t since = std::max(node->since_ns, q.moved_ns);
      const bool late = parts_.timeout_ns > 0 && now_ns > since + parts_.timeout_ns;
      if (lost.ok() && !late) break;
      ended.emplace_back(node, lost.ok() ? Status(ESP_ERR_TIMEOUT, q.to) : lost);
    }
  }
}

void OneSided::withdraw(const OpenNode& node) noexcept {
  if (node.letter != nullptr) {
    withdraw(*node.letter);
  } else {
    remote_->cancel(*node.transfer);
  }
}

void OneSided::end(const OpenNode& node, Status status) noexcept {
  if (node.letter != nullptr) {
    end(*node.letter, status);
  } else {
    end(*node.transfer, status);
  }
}

void OneSided::withdraw(Letter& letter) noexcept {
  if (letter.linked()) {
    letter.unlink();
  } else {
    remote_->withdraw(letter.to, letter.frame);
  }
}

void OneSided::close() noexcept {
  closed_ = true;
  for (Queue* q : std::exchange(watched_, {})) {
    for (auto* list : {&q->open_letters, &q->open_transfers}) {
      while (const OpenNode* node = list->front()) {
        withdraw(*node);
        end(*node, ESP_ERR_CANCELED);
      }
    }
  }
  parts_.worker.timers().cancel(timer_);
  if (late_messages_ > 0) {
    parts_.log.warn("{} active messages came after esp_job_finalize had begun",
                    std::exchange(late_messages_, 0));
  }
}

}  // namespace espalier
