// RemoteAccess, the origin's half: requests and their answers. path: data
#include "net/remote_access.hpp"

#include <algorithm>
#include <cstring>

#include "net/remote_access_state.hpp"

namespace espalier::net {
namespace {

FrameHeader request_header(const RemoteOp& op, std::uint64_t bytes) noexcept {
  FrameHeader header;
  header.ordinal = op.region;
  header.flow = op.offset + op.asked;
  switch (op.kind) {
    case RemoteKind::kPut:
      header.kind = FrameKind::kPut;
      header.bytes = bytes;
      break;
    case RemoteKind::kGet:
      header.kind = FrameKind::kGet;
      header.total = static_cast<std::uint32_t>(bytes);
      break;
    case RemoteKind::kFetchAdd:
    case RemoteKind::kCompareSwap:
      header.kind = FrameKind::kAtomic;
      header.total = static_cast<std::uint32_t>(
          op.kind == RemoteKind::kFetchAdd ? AtomicKind::kFetchAdd : AtomicKind::kCompareSwap);
      header.bytes = kOperandBytes;
      break;
  }
  return header;
}

}  // namespace

RemoteAccess::RemoteAccess(FrameRoutes& routes, MessageTaker& taker)
    : routes_(routes), taker_(taker) {
  for (FrameWire* wire : routes_.all_frames()) wire->set_guest(this);
}

RemoteAccess::~RemoteAccess() {
  for (FrameWire* wire : routes_.all_frames()) wire->set_guest(nullptr);
  const auto drop_all = [&](Rank rank, auto& list, auto& pool) {
    while (auto* one = list.pop_front()) {
      if (one->in_link) link(rank).withdraw(rank, *one);
      pool.release(one);
    }
  };
  peers_.for_each([&](Rank rank, Peer& p) {
    drop_all(rank, p.unanswered, requests_);
    drop_all(rank, p.answered, requests_);
    drop_all(rank, p.unsent, replies_);
    drop_all(rank, p.sending, replies_);
    clear_landing(p);
  });
  for (Region& region : regions_) conceal(region);
}

RemoteAccess::Peer& RemoteAccess::peer(Rank rank) noexcept {
  if (Peer* met = peers_.find(rank)) return *met;
  return peers_.meet(rank, std::make_unique<Peer>(rank));
}

void RemoteAccess::note_busy(Peer& p) noexcept {
  if (!std::exchange(p.busy, true)) busy_.push_back(&p);
}

void RemoteAccess::start(RemoteOp& op) noexcept {
  ESP_ASSERT(op.bytes > 0);
  op.answered = op.asked = 0;
  op.open = 0;
  op.reaching = op.by_frames = false;
  op.failure = {};
  Peer& p = peer(op.target);
  if (p.lost) [[unlikely]] {
    op.failure = p.why;
    failed_.push_back(op);
    return;
  }
  const bool first = p.waiting.empty();
  p.waiting.push_back(op);
  if (!first || !push(p)) note_busy(p);
}

// False: something is left to be posted.
bool RemoteAccess::push(Peer& p) noexcept {
  while (Reply* reply = p.unsent.front()) {
    if (!post_reply(p, *reply)) return false;
  }
  while (RemoteOp* op = p.waiting.front()) {
    if (!ask(p, *op)) return false;
    if (op->asked == op->bytes) op->unlink();
  }
  return true;
}

// By the adapter alone: one request after the other, so that what it may not do is the last that
// was asked for. False: it cannot.
bool RemoteAccess::ask_adapter(Peer& p, RemoteOp& op) noexcept {
  Request* request = requests_.allocate(*this, op);
  if (request == nullptr) return false;
  request->at = op.asked;
  request->bytes = std::min(op.bytes - op.asked, kDirectBytesMax);
  request->direct = request->answered = request->in_link = true;
  const RemoteMemory there = {op.direct.address + op.offset + op.asked, op.direct.key};
  std::byte* here = op.memory + op.asked;
  const bool puts = op.kind == RemoteKind::kPut;
  const bool taken = puts ? link(p.rank).put(p.rank, here, request->bytes, there, *request)
                          : link(p.rank).get(p.rank, here, request->bytes, there, *request);
  if (!taken) {
    requests_.release(request);
    return false;
  }
  p.answered.push_back(*request);
  ++p.direct_count;
  ++op.open;
  op.reaching = true;
  op.asked += request->bytes;
  return true;
}

// The adapter has done with it. True: it is asked for again, because the target's adapter has
// refused, and its processor knows more.
bool RemoteAccess::end_direct(Request& request, Status status) noexcept {
  RemoteOp& op = *request.op;
  Peer& p = peer(op.target);
  --p.direct_count;
  op.reaching = false;
  if (status.code() != ESP_ERR_STATE || p.lost) {
    if (status.ok() && op.kind == RemoteKind::kPut) wire(p.rank).count_put(request.bytes);
    if (status.ok() && op.kind == RemoteKind::kGet) wire(p.rank).count_got(request.bytes);
    return false;
  }
  op.asked = request.at;
  op.open = 0;
  op.by_frames = true;
  request.unlink();
  requests_.release(&request);
  if (!op.linked()) p.waiting.push_back(op);
  note_busy(p);
  return true;
}

// Posts the next request of the operation. False: no room.
bool RemoteAccess::ask(Peer& p, RemoteOp& op) noexcept {
  const bool copies = op.kind == RemoteKind::kPut || op.kind == RemoteKind::kGet;
  if (copies && op.direct.address != 0 && !op.by_frames) {
    if (op.reaching || p.direct_count == kDirectWindow) return false;
    if (op.open == 0 && ask_adapter(p, op)) return true;
  }
  if (p.unanswered_count == kWindow) return false;
  Request* request = requests_.allocate(*this, op);
  if (request == nullptr) return false;
  request->at = op.asked;
  request->bytes = std::min(op.bytes - op.asked, kAccessBytesMax);
  request->operands = op.operands;
  const FrameHeader header = request_header(op, request->bytes);
  request->expected = header.kind == FrameKind::kPut ? 0 : request->bytes;
  const void* payload = header.kind == FrameKind::kPut ? static_cast<void*>(op.memory + op.asked)
                                                       : request->operands.data();
  const Posted posted = wire(p.rank).post_frame(p.rank, header, payload, *request);
  if (posted == Posted::kRetry) {
    requests_.release(request);
    return false;
  }
  request->in_link = posted == Posted::kPending;
  p.unanswered.push_back(*request);
  ++p.unanswered_count;
  ++op.open;
  op.asked += request->bytes;
  return true;
}

void RemoteAccess::on_request_sent(Completion& completion, Status status) noexcept {
  auto& request = static_cast<Request&>(completion);
  request.in_link = false;
  if (request.direct && request.access.end_direct(request, status)) return;
  if (!status.ok() && request.op != nullptr) {
    // What the adapter of a peer that is lost has said is not the reason.
    const Peer& p = request.access.peer(request.op->target);
    request.op->failure = request.direct && p.lost ? p.why : status;
  }
  if (request.answered) request.access.settle(request);
}

// Answered, and the link has done with it. Linked or not.
void RemoteAccess::settle(Request& request) noexcept {
  RemoteOp* op = request.op;
  const std::uint64_t bytes = request.bytes;
  if (request.linked()) request.unlink();
  requests_.release(&request);
  if (op == nullptr) return;
  op->answered += bytes;
  --op->open;
  if (op->open > 0 || op->linked()) return;
  op->complete(op->failure);
}

void RemoteAccess::cancel(RemoteOp& op) noexcept {
  if (op.linked()) op.unlink();
  forget_requests(op, peer(op.target));
  op.open = 0;
}

void RemoteAccess::forget_requests(RemoteOp& op, Peer& p) noexcept {
  const Request* oldest = p.unanswered.front();
  const bool lands_here = p.coming && p.header.kind == FrameKind::kAnswer && oldest->op == &op &&
                          op.kind == RemoteKind::kGet && p.landing == nullptr && p.header.bytes > 0;
  if (lands_here) {
    if (std::byte* elsewhere = land(p, p.header.bytes)) link(p.rank).redirect(p.rank, elsewhere);
  }
  const auto forget = [&](Request& request) {
    request.op = nullptr;
    if (std::exchange(request.in_link, false)) link(p.rank).withdraw(p.rank, request);
  };
  for (Request* r = p.unanswered.front(); r != nullptr; r = p.unanswered.after(*r)) {
    if (r->op == &op) forget(*r);
  }
  for (Request* r = p.answered.front(); r != nullptr;) {
    Request* next = p.answered.after(*r);
    if (r->op == &op) {
      forget(*r);
      p.direct_count -= r->direct ? 1 : 0;
      r->unlink();
      requests_.release(r);
    }
    r = next;
  }
}

std::byte* RemoteAccess::begin_answer(Peer& p, const FrameHeader& header) noexcept {
  const Request* request = p.unanswered.front();
  if (request == nullptr) return refuse(p, "answers what nobody has asked");
  if (header.total == 0 && header.bytes != request->expected) {
    return refuse(p, "answers with another size");
  }
  p.coming = true;
  if (header.bytes == 0) return nullptr;
  const RemoteOp* op = request->op;
  if (op == nullptr) return land(p, header.bytes);
  if (op->kind == RemoteKind::kGet) return op->memory + request->at;
  return reinterpret_cast<std::byte*>(p.words.data());
}

void RemoteAccess::end_answer(Peer& p, const FrameHeader& header) noexcept {
  Request& request = *p.unanswered.pop_front();
  --p.unanswered_count;
  request.answered = true;
  if (RemoteOp* op = request.op) {
    const bool atomic = op->kind == RemoteKind::kFetchAdd || op->kind == RemoteKind::kCompareSwap;
    if (header.total != 0) {
      op->failure = Status(ESP_ERR_STATE, p.rank);
    } else if (atomic && op->memory != nullptr) {
      std::memcpy(op->memory, p.words.data(), sizeof(std::uint64_t));
    }
  }
  if (request.in_link) {
    p.answered.push_back(request);
  } else {
    settle(request);
  }
}

Posted RemoteAccess::send(Rank to, const ActiveMessage& message, Completion& completion) noexcept {
  FrameHeader header;
  header.kind = FrameKind::kMessage;
  header.ordinal = message.id;
  header.flow = message.argument;
  header.bytes = message.bytes;
  return wire(to).post_frame(to, header, message.payload, completion);
}

bool RemoteAccess::refused(Rank rank, unsigned id) const noexcept {
  const Peer* p = peers_.find(rank);
  return p != nullptr && (p->refused >> id & 1) != 0;
}

int RemoteAccess::progress() noexcept {
  int events = 0;
  if (!failed_.empty()) [[unlikely]]
    events = complete_failed();
  for (std::size_t i = busy_.size(); i-- > 0;) {
    Peer& p = *busy_[i];
    if (!push(p)) continue;
    p.busy = false;
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
    ++events;
  }
  return events;
}

// Those that were there at the begin: completions may try again.
int RemoteAccess::complete_failed() noexcept {
  int events = 0;
  const RemoteOp* last = failed_.back();
  for (bool is_last = false; !is_last && !failed_.empty(); ++events) {
    RemoteOp* op = failed_.pop_front();
    is_last = op == last;
    op->complete(op->failure);
  }
  return events;
}

// The link completes what it still has; operations end when it has.
void RemoteAccess::lost_peer(FrameWire& by, Rank rank, const Status& why) noexcept {
  if (!is_way(by, rank)) return;
  Peer& p = peer(rank);
  p.lost = true;
  p.why = Status(why.code(), rank, why.error_number());
  p.coming = false;
  clear_landing(p);
  while (Reply* reply = p.unsent.pop_front()) {
    replies_.release(reply);
  }
  p.unsent_count = 0;
  while (Request* request = p.unanswered.pop_front()) {
    RemoteOp* op = request->op;
    request->answered = true;
    if (op != nullptr) op->failure = p.why;
    if (request->in_link) {
      p.answered.push_back(*request);
      continue;
    }
    requests_.release(request);
    if (op != nullptr && --op->open == 0 && !op->linked()) failed_.push_back(*op);
  }
  p.unanswered_count = 0;
  while (RemoteOp* op = p.waiting.pop_front()) {
    op->failure = p.why;
    if (op->open == 0) failed_.push_back(*op);
  }
}

}  // namespace espalier::net
