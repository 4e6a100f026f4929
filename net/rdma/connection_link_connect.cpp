// ConnectionLink: how connections begin, end and begin again.
// path: slow
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/plant.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {
namespace {

constexpr std::size_t kLettersMax = 1024;  // waiting; more are lost, as letters may be
constexpr std::uint64_t kSlowest = 256;    // times the first interval
constexpr std::uint64_t kLongestPause = 256;

const char* fault_text(Fault fault) noexcept {
  switch (fault) {
    case Fault::kRetryExceeded:
      return "it does not answer";
    case Fault::kReceiverNotReady:
      return "it had no packet posted";
    case Fault::kRemoteAccess:
      return "memory was accessed that was not announced";
    case Fault::kRemoteOperation:
      return "its adapter could not do an operation";
    case Fault::kLocal:
      return "the adapter of this rank refused an operation";
    case Fault::kOutOfSequence:
      return "requests are missing";
    case Fault::kFlushed:
      return "the connection was stopped";
  }
  return "";
}

}  // namespace

void ConnectionLink::wake_at(Peer& peer, std::uint64_t time_ns) noexcept {
  if (!peer.idle() && peer.deadline_ns() <= time_ns) return;
  timers_.cancel(peer);
  timers_.add(peer, time_ns);
}

// Unsignaled operations that are the last ones are asked for after a while: sooner if they hold
// packets, or the end waits for them.
void ConnectionLink::watch_tail(Peer& peer, std::uint64_t now_ns) noexcept {
  constexpr std::uint64_t kUnhurried = 16;
  peer.tail_count = peer.sent.count();
  wake_at(peer, now_ns + (peer.tail_matters() ? 1 : kUnhurried) * options_.tail_ns);
}

// ---- Letters

void ConnectionLink::letter(Rank from, std::span<const std::byte> bytes) noexcept {
  const bool known_rank = from >= 0 && static_cast<std::uint32_t>(from) < ranks_ && from != rank_;
  auto parsed = parse_letter(bytes);
  if (!known_rank || !parsed || letters_.size() == kLettersMax) {
    ++statistics_.bad_letters;
    return;
  }
  letters_.push_back({from, *parsed});
}

int ConnectionLink::handle_letters() noexcept {
  int handled = 0;
  for (const PendingLetter& pending : std::exchange(letters_, {})) {
    ++handled;
    if (barred(pending.from)) continue;
    Peer& from = peer(pending.from);
    if (!from.life.lost()) handle(from, pending.letter);
  }
  return handled;
}

void ConnectionLink::handle(Peer& peer, const Letter& letter) noexcept {
  const bool opens = letter.kind == LetterKind::kRequest || letter.kind == LetterKind::kReply;
  if (opens && (letter.window < CreditAccount::kWindowMin || letter.window > kWindowMax)) {
    return violation(peer, fmt::format("a window of {}", letter.window));
  }
  switch (peer.handshake.receive(letter.kind, letter.epoch)) {
    case ConnectionHandshake::Step::kConnect:
      return connect(peer, letter);
    case ConnectionHandshake::Step::kRepeatAnswer:
      return write(peer, LetterKind::kReply);
    case ConnectionHandshake::Step::kRepeatReady:
      return write(peer, LetterKind::kReady);
    case ConnectionHandshake::Step::kGo:
      return go(peer);
    case ConnectionHandshake::Step::kAnswer:
      return answer(peer, letter);
    case ConnectionHandshake::Step::kRepeatRefusal:
      return write(peer, LetterKind::kNoRoom);
    case ConnectionHandshake::Step::kNoRoom:
      return no_room(peer, "it has");
    case ConnectionHandshake::Step::kNothing:
      return;
  }
}

// The peer asks for a new connection: this side's end takes nothing in any more before it says how
// far it has come.
void ConnectionLink::answer(Peer& peer, const Letter& request) noexcept {
  close(peer);
  if (peer.life.lost()) return;
  if (!settle(peer, request.expected)) return;
  if (!make_end(peer)) {
    // No want of room, and not to be told as one: the datagrams tell that this rank gives up.
    if (!port_.fault().ok()) return lose(peer.rank, adapter_failed(peer.rank));
    peer.handshake.refuse();
    write(peer, LetterKind::kNoRoom);
    return peer.has_work() ? no_room(peer, "this rank has") : void();
  }
  if (!join(peer, request)) return;
  peer.asked_ns = clock_.now_ns();
  peer.letter_ns = options_.letter_ns;
  write(peer, LetterKind::kReply);
}

void ConnectionLink::connect(Peer& peer, const Letter& reply) noexcept {
  if (!settle(peer, reply.expected) || !join(peer, reply)) return;
  write(peer, LetterKind::kReady);
  go(peer);
}

// This side's end is connected to the letter's.
bool ConnectionLink::join(Peer& peer, const Letter& letter) noexcept {
  const Outcome joined = port_.connect(*peer.connection, letter.end);
  if (!joined) {
    not_joined(peer, joined.error());
    return false;
  }
  peer.joined = true;
  peer.credits = CreditAccount(letter.window, peer.granted);
  peer.no_room_ns = 0;
  ++statistics_.connections;
  return true;
}

// What the system refused it may grant later: this side asks anew after a while, whoever asked
// before. Where no call has failed it is the address that is wrong, and stays so.
void ConnectionLink::not_joined(Peer& peer, const Error& why) noexcept {
  constexpr std::uint32_t kDoublings = 8;
  const int number = why.status.error_number();
  if (number == 0 || !port_.fault().ok() || ++peer.rebuilds > options_.rebuilds_max) {
    return lose(peer.rank, error(why.status.code(),
                                 fmt::format("no connection to rank {}: {}", peer.rank, why.text),
                                 peer.rank, number));
  }
  close(peer);
  peer.handshake.rest();
  if (peer.life.lost()) return;
  ask_later(peer, options_.letter_ns << std::min(peer.rebuilds, kDoublings));
}

// May send from here on.
void ConnectionLink::go(Peer& peer) noexcept {
  peer.asked_ns = 0;
  peer.met = true;
  peer.probed_ns = clock_.now_ns();
  mark(peer);
  wake_at(peer, peer.probed_ns + options_.keepalive_ns);
}

void ConnectionLink::write(Peer& peer, LetterKind kind) noexcept {
  Letter letter;
  letter.kind = kind;
  letter.epoch = peer.handshake.epoch();
  if (kind == LetterKind::kRequest || kind == LetterKind::kReply) {
    letter.window = peer.granted;
    letter.expected = peer.expected;
    letter.end = port_.address(*peer.connection);
    wake_at(peer, clock_.now_ns() + peer.letter_ns);
  }
  ++statistics_.letters;
  postman_.post(peer.rank, letter_bytes(letter));
}

// ---- Begin

bool ConnectionLink::make_end(Peer& peer) noexcept {
  auto made = port_.create();
  if (!made) return false;
  peer.connection = *made;
  const auto index = static_cast<std::size_t>(*made);
  if (index >= by_connection_.size()) by_connection_.resize(index + 1);
  by_connection_[index] = &peer;
  // Ends of others may have taken packets along.
  const std::uint32_t depth = port_.receive_depth();
  unpromised_ -= receive_depth_ - depth;
  receive_depth_ = depth;
  // A quarter of what is left: many peers share the receive queue, and the first need most.
  const auto share = static_cast<std::uint32_t>(std::max<std::int64_t>(unpromised_ / 4, 0));
  peer.granted = std::clamp(share, CreditAccount::kWindowMin,
                            std::max(options_.window, CreditAccount::kWindowMin));
  unpromised_ -= peer.granted;
  const std::int64_t promised = depth - unpromised_;
  port_.provide(static_cast<std::uint32_t>(ESP_PLANT(75, promised, peer.granted)));
  statistics_.open_max = std::max(statistics_.open_max, ++statistics_.open);
  tell(&Counters::queue_pairs);
  return true;
}

// One side has no queue pair left. That is no fault of a connection, and whoever says so lives: one
// that there was is asked for again, less and less often, for as long as a peer may be silent. A
// first one is done without, unless frames wait for it.
void ConnectionLink::no_room(Peer& peer, const char* whose) noexcept {
  // That is no want of room: nothing will ever be made of it.
  if (!port_.fault().ok()) return lose(peer.rank, adapter_failed(peer.rank));
  ++statistics_.no_room;
  close(peer);
  if (peer.life.lost()) return;
  peer.asked_ns = 0;
  const std::uint64_t now = std::max<std::uint64_t>(clock_.now_ns(), 1);
  if (peer.met && peer.no_room_ns == 0) {
    peer.no_room_ns = now;
    peer.pause_ns = options_.letter_ns;
  }
  if (peer.met && now - peer.no_room_ns < options_.no_room_ns) {
    ask_later(peer, peer.pause_ns);
    peer.pause_ns = std::min(2 * peer.pause_ns, kLongestPause * options_.letter_ns);
    return;
  }
  if (!peer.met && peer.posts.empty()) {
    if (peer.life.goodbye_due()) peer.life.goodbye_said();  // as far as it can be, by this way
    return;
  }
  lose(peer.rank,
       error(ESP_ERR_NO_MEMORY,
             fmt::format("no connection to rank {}: {} no queue pair left", peer.rank, whose),
             peer.rank));
}

void ConnectionLink::ask_later(Peer& peer, std::uint64_t pause_ns) noexcept {
  const std::uint64_t now = std::max<std::uint64_t>(clock_.now_ns(), 1);
  peer.asked_ns = now;
  peer.letter_ns = options_.letter_ns;
  timers_.cancel(peer);
  wake_at(peer, now + pause_ns);
}

void ConnectionLink::ask(Peer& peer) noexcept {
  ESP_ASSERT(!peer.connection);
  const std::uint64_t now = clock_.now_ns();
  if (peer.asked_ns == 0) {
    peer.asked_ns = std::max<std::uint64_t>(now, 1);
    peer.letter_ns = options_.letter_ns;
  }
  if (!make_end(peer)) return no_room(peer, "this rank has");
  peer.handshake.ask();
  write(peer, LetterKind::kRequest);
}

void ConnectionLink::on_timer(Timer& timer, std::uint64_t now_ns) noexcept {
  auto& peer = static_cast<Peer&>(timer);
  ConnectionLink& link = peer.link;
  const ConnectionOptions& options = link.options_;
  if (peer.life.lost() || peer.broken) return;
  if (peer.handshake.up()) {
    const bool silent = elapsed_ns(peer.probed_ns, now_ns) >= options.keepalive_ns;
    if (silent || (peer.sent.has_tail() && peer.sent.count() == peer.tail_count)) {
      peer.probed_ns = now_ns;
      link.probe(peer);
    }
    // A full queue has no room to ask; later it has. And what has been followed by others may be
    // reported with them.
    if (peer.sent.has_tail()) return link.watch_tail(peer, now_ns);
    return link.wake_at(peer, peer.probed_ns + options.keepalive_ns);
  }
  if (peer.asked_ns == 0) return;
  if (peer.done_with()) {
    peer.asked_ns = 0;
    return;
  }
  if (elapsed_ns(peer.asked_ns, now_ns) >= options.answer_ns) {
    return link.lose(
        peer.rank,
        error(ESP_ERR_PEER_DIED, fmt::format("rank {} does not answer", peer.rank), peer.rank));
  }
  if (!peer.connection) return link.ask(peer);
  peer.letter_ns = std::min(2 * peer.letter_ns, kSlowest * options.letter_ns);
  link.repeat_letter(peer);
}

void ConnectionLink::repeat_letter(Peer& peer) noexcept {
  const bool asks = peer.handshake.state() == ConnectionHandshake::State::kAsking;
  write(peer, asks ? LetterKind::kRequest : LetterKind::kReply);
}

void ConnectionLink::speak_again(Peer& peer) noexcept {
  peer.asked_ns = std::max<std::uint64_t>(clock_.now_ns(), 1);
  peer.letter_ns = options_.letter_ns;
  repeat_letter(peer);
}

// ---- End

// All that the port holds is handed over.
void ConnectionLink::drain() noexcept {
  while (port_.poll(*this, 64) > 0) {
  }
}

// Nothing comes in through the connection any more, and what had come has been handed over.
void ConnectionLink::close(Peer& peer) noexcept {
  if (!peer.connection) return;
  stop(peer);
  if (ESP_PLANT(66, true, false)) drain();
  port_.destroy(*peer.connection);
  by_connection_[static_cast<std::size_t>(*peer.connection)] = nullptr;
  peer.connection.reset();
  --statistics_.open;
  peer.joined = peer.broken = false;
  unpromised_ += peer.granted;
  peer.granted = 0;
  if (ESP_PLANT(68, true, false)) peer.offers.clear();
  peer.remarks = peer.remark_expected = 0;
  if (ESP_PLANT(70, true, false)) peer.told = {};
  peer.heard = {};
  peer.retired.clear();
  peer.placing.post = nullptr;
  forget_reads(peer);
  if (peer.landings == nullptr) return;
  peer.landings->for_each([&](Landing& landing) {
    if (landing.state == Landing::State::kRetracted) return close_landing(peer, landing);
    if (landing.state == Landing::State::kAnnounced) {
      peer.landings->become(landing, Landing::State::kWanted);
    }
  });
}

// The peer has got the messages below `expected`; the others are sent again. False: they cannot be,
// an adapter has said that they had arrived; or the peer lies.
bool ConnectionLink::settle(Peer& peer, std::uint64_t expected) noexcept {
  if (expected == 0 || expected > peer.next) {
    violation(peer, fmt::format("it awaits message {} of {}", expected, peer.next));
    return false;
  }
  if (expected < peer.acknowledged) {
    lose(peer.rank, error(ESP_ERR_NETWORK,
                          fmt::format("message {} did not arrive at rank {}; its adapter had "
                                      "acknowledged it",
                                      expected, peer.rank),
                          peer.rank));
    return false;
  }
  std::deque<Record> again;
  peer.sent.clear([&](Record record) {
    const bool counted = record.number != 0;
    if (counted && record.number < ESP_PLANT(67, expected, expected + 1)) {
      return complete(peer, record);
    }
    if (record.access != nullptr) drop_access(record);
    if (record.what == Record::What::kMessage) return again.push_back(record);
    if (record.packet != nullptr) packets_->give(*record.packet);
    record.packet = nullptr;
    if (record.what == Record::What::kPlacement) again.push_back(record);
  });
  peer.resend.insert(peer.resend.begin(), again.begin(), again.end());
  peer.acknowledged = peer.next = expected;
  rewind_accesses(peer);
  return true;
}

void ConnectionLink::trouble(Peer& peer) noexcept {
  if (std::exchange(peer.troubled, true)) return;
  troubled_.push_back(&peer);
}

// After the port has handed over all it held.
int ConnectionLink::handle_troubles() noexcept {
  int handled = 0;
  while (!troubled_.empty()) {
    for (Peer* peer : std::exchange(troubled_, {})) {
      peer->troubled = false;
      ++handled;
      const bool hopeless = peer->why == Fault::kRemoteAccess ||
                            peer->why == Fault::kRemoteOperation || peer->why == Fault::kLocal;
      if (!peer->life.lost() && peer->broken && hopeless && !allows_renewal(*peer)) {
        lose(peer->rank, error(ESP_ERR_INTERNAL, fmt::format("the connection to rank {} failed: {}",
                                                             peer->rank, fault_text(peer->why))));
      } else if (peer->life.lost()) {
        give_up(*peer);
      } else if (peer->broken) {
        renew(*peer);
      }
    }
  }
  return handled;
}

// What the peer had got when it said goodbye. The connection is closed; a shell of each record
// stays, which settle() finds complete.
void ConnectionLink::complete_got(Peer& peer) noexcept {
  peer.sent.for_each([&](Record& record) {
    if (record.number == 0 || record.number >= peer.got || record.access != nullptr) return;
    Record done = std::exchange(record, {});
    record.what = Record::What::kMessage;
    record.kind = MessageKind::kGoodbye;
    record.number = done.number;
    complete(peer, done);
  });
  peer.acknowledged = std::max(peer.acknowledged, peer.got);
}

void ConnectionLink::renew(Peer& peer) noexcept {
  close(peer);
  peer.handshake.rest();
  if (peer.life.lost()) return trouble(peer);
  // Who has left is asked for what is owed to it: neither what it had got, nor the probe that has
  // found out that it is gone.
  if (peer.life.has_left()) complete_got(peer);
  if (peer.done_with()) {
    peer.asked_ns = 0;
    return;
  }
  ++statistics_.rebuilds;
  if (++peer.rebuilds > options_.rebuilds_max) {
    return lose(peer.rank, error(ESP_ERR_NETWORK,
                                 fmt::format("connections to rank {} break: {}", peer.rank,
                                             fault_text(peer.why)),
                                 peer.rank));
  }
  ask(peer);
}

// The end of the peer: nothing comes from it or reaches it any more. Again when it is missed.
void ConnectionLink::give_up(Peer& peer) noexcept {
  close(peer);
  peer.handshake.rest();
  timers_.cancel(peer);
  abandon(peer, peer.life.why());
  if (peer.life.take_news()) sink_->lost(peer.rank, peer.life.why());
}

// What was posted ends with this status.
void ConnectionLink::abandon(Peer& peer, Status status) noexcept {
  const auto end = [&](Record record) {
    if (record.packet != nullptr) packets_->give(*record.packet);
    if (record.post != nullptr) finish(*record.post, status);
    if (record.access != nullptr) drop_access(record);
  };
  peer.sent.clear(end);
  for (const Record& record : std::exchange(peer.resend, {})) end(record);
  while (!peer.posts.empty()) finish(peer.posts.pop_front(), status);
  peer.readables.for_each(
      [&](std::uint32_t index, const auto&) { finish(*peer.readables.take(index), status); });
  peer.answers.clear();
  peer.reading = nullptr;
  peer.pulls.reset();
  abandon_accesses(peer, status);
  if (peer.landings == nullptr) return;
  peer.landings->for_each([&](Landing& landing) { close_landing(peer, landing); });
}

}  // namespace espalier::rdma
