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
      (void)wire(rank).withdraw(rank, one->frame);
      pool.release(one);
    }
  };
  peers_.for_each([&](Rank rank, Peer& p) {
    drop_all(rank, p.unanswered, requests_);
    drop_all(rank, p.answered, requests_);
    drop_all(rank, p.replies, replies_);
    clear_landing(p);
  });
  for (Region& region : regions_) conceal(region);
}

RemoteAccess::Peer& RemoteAccess::peer(Rank rank) noexcept {
  if (Peer* met = peers_.find(rank)) return *met;
  return peers_.meet(rank, std::make_unique<Peer>(rank));
}

void RemoteAccess::start(RemoteOp& op) noexcept {
  ESP_ASSERT(op.bytes > 0);
  op.answered = op.asked = 0;
  op.open = 0;
  op.reaching = op.by_frames = false;
  op.failure = {};
  Peer& p = peer(op.target);
  if (p.lost) [[unlikely]]
    return fail_later(op, p.why);
  const bool first = p.waiting.empty();
  p.waiting.push_back(op);
  if (first) push(p);
}

// Asks for as much as the windows allow.
void RemoteAccess::push(Peer& p) noexcept {
  while (RemoteOp* op = p.waiting.front()) {
    if (!ask(p, *op)) return;
    if (op->asked == op->bytes) op->unlink();
  }
}

// By the adapter alone: one request after the other, so that what it may not do is the last that
// was asked for. False: it cannot.
bool RemoteAccess::ask_adapter(Peer& p, RemoteOp& op) noexcept {
  Request* request = requests_.allocate(*this, op);
  if (request == nullptr) return false;
  request->at = op.asked;
  request->bytes = std::min(op.bytes - op.asked, kDirectBytesMax);
  request->direct = request->answered = request->pending = true;
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

// The adapter has done with it. What the target's adapter has refused is asked for again: its
// processor knows more.
void RemoteAccess::end_direct(Request& request, Status status) noexcept {
  RemoteOp& op = *request.op;
  Peer& p = peer(op.target);
  --p.direct_count;
  op.reaching = false;
  if (status.code() == ESP_ERR_STATE && !p.lost) {
    op.asked = request.at;
    op.open = 0;
    op.by_frames = true;
    request.unlink();
    requests_.release(&request);
    if (!op.linked()) p.waiting.push_back(op);
  } else {
    if (status.ok() && op.kind == RemoteKind::kPut) wire(p.rank).count_put(request.bytes);
    if (status.ok() && op.kind == RemoteKind::kGet) wire(p.rank).count_got(request.bytes);
    // What the adapter of a peer that is lost has said is not the reason.
    if (!status.ok()) op.failure = p.lost ? p.why : status;
    settle(request);
  }
  push(p);
}

// Posts the next request of the operation, or ends it. False: the windows are full.
bool RemoteAccess::ask(Peer& p, RemoteOp& op) noexcept {
  const bool copies = op.kind == RemoteKind::kPut || op.kind == RemoteKind::kGet;
  if (copies && op.direct.address != 0 && !op.by_frames) {
    if (op.reaching || p.direct_count == kDirectWindow) return false;
    if (op.open == 0 && ask_adapter(p, op)) return true;
  }
  if (p.unanswered_count == kWindow) return false;
  Request* request = requests_.allocate(*this, op);
  if (request == nullptr) {
    fail_later(op, ESP_ERR_NO_MEMORY);
    return true;
  }
  request->at = op.asked;
  request->bytes = std::min(op.bytes - op.asked, kAccessBytesMax);
  request->operands = op.operands;
  const bool puts = op.kind == RemoteKind::kPut;
  request->expected = puts ? 0 : request->bytes;
  request->frame.header = request_header(op, request->bytes);
  request->frame.payload =
      puts ? static_cast<void*>(op.memory + op.asked) : request->operands.data();
  request->pending = wire(p.rank).post_frame(p.rank, request->frame) == Posted::kPending;
  p.unanswered.push_back(*request);
  ++p.unanswered_count;
  ++op.open;
  op.asked += request->bytes;
  return true;
}

void RemoteAccess::on_request_sent(Completion& completion, Status status) noexcept {
  auto& request = static_cast<Request&>(completion);
  request.pending = false;
  if (request.direct) return request.access.end_direct(request, status);
  RemoteOp* op = request.op;
  if (!status.ok() && op != nullptr && op->failure.ok()) op->failure = status;
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
  Peer& p = peer(op.target);
  forget_requests(op, p);
  op.open = 0;
  push(p);
}

void RemoteAccess::forget_requests(RemoteOp& op, Peer& p) noexcept {
  const Request* oldest = p.unanswered.front();
  const bool lands_here = p.coming && p.header.kind == FrameKind::kAnswer && oldest->op == &op &&
                          op.kind == RemoteKind::kGet && p.landing == nullptr && p.header.bytes > 0;
  if (lands_here) {
    if (std::byte* elsewhere = land(p, p.header.bytes)) link(p.rank).redirect(p.rank, elsewhere);
  }
  const auto drop = [&](Request& request) {
    request.unlink();
    requests_.release(&request);
  };
  for (Request* r = p.unanswered.front(); r != nullptr;) {
    Request* next = p.unanswered.after(*r);
    if (r->op == &op) {
      r->op = nullptr;
      if (std::exchange(r->pending, false) && wire(p.rank).withdraw(p.rank, r->frame)) {
        --p.unanswered_count;  // The target never sees it.
        drop(*r);
      }
    }
    r = next;
  }
  for (Request* r = p.answered.front(); r != nullptr;) {
    Request* next = p.answered.after(*r);
    if (r->op == &op) {
      (void)wire(p.rank).withdraw(p.rank, r->frame);
      p.direct_count -= r->direct ? 1 : 0;
      drop(*r);
    }
    r = next;
  }
}

std::byte* RemoteAccess::begin_answer(Peer& p, const FrameHeader& header) noexcept {
  const Request* request = p.unanswered.front();
  if (request == nullptr || request->frame.waits()) {
    return refuse(p, "answers what nobody has asked");
  }
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
  if (request.pending) {
    p.answered.push_back(request);
  } else {
    settle(request);
  }
  push(p);
}

Posted RemoteAccess::send(Rank to, const ActiveMessage& message, OutgoingFrame& frame) noexcept {
  frame.header.kind = FrameKind::kMessage;
  frame.header.ordinal = message.id;
  frame.header.flow = message.argument;
  frame.header.total = message.context;
  frame.header.bytes = message.bytes;
  frame.payload = message.payload;
  return wire(to).post_frame(to, frame);
}

bool RemoteAccess::refused(Rank rank, unsigned id) const noexcept {
  const Peer* p = peers_.find(rank);
  return p != nullptr && (p->refused >> id & 1) != 0;
}

// Nothing more is asked for it. It ends when nothing of it is open, from progress().
void RemoteAccess::fail_later(RemoteOp& op, const Status& why) noexcept {
  if (op.linked()) op.unlink();
  op.failure = why;
  if (op.open == 0) failed_.push_back(op);
}

// Those that were there at the begin: completions may try again.
int RemoteAccess::progress() noexcept {
  int events = 0;
  const RemoteOp* last = failed_.back();
  for (bool is_last = false; !is_last && !failed_.empty(); ++events) {
    RemoteOp* op = failed_.pop_front();
    is_last = op == last;
    op->complete(op->failure);
  }
  return events;
}

// What is pending completes yet; operations end when it has.
void RemoteAccess::lost_peer(FrameWire& by, Rank rank, const Status& why) noexcept {
  if (!is_way(by, rank)) return;
  Peer& p = peer(rank);
  p.lost = true;
  p.why = Status(why.code(), rank, why.error_number());
  p.coming = false;
  clear_landing(p);
  while (Request* request = p.unanswered.pop_front()) {
    RemoteOp* op = request->op;
    request->answered = true;
    if (op != nullptr) op->failure = p.why;
    if (request->pending) {
      p.answered.push_back(*request);
      continue;
    }
    requests_.release(request);
    if (op != nullptr && --op->open == 0 && !op->linked()) failed_.push_back(*op);
  }
  p.unanswered_count = 0;
  while (RemoteOp* op = p.waiting.front()) fail_later(*op, p.why);
}

}  // namespace espalier::net
