#include "net/rdma/connection_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/copy.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {

ConnectionLink::ConnectionLink(ConnectionPort& port, Postman& postman, Clock& clock, Rank rank,
                               std::uint32_t ranks, const ConnectionOptions& options,
                               std::unique_ptr<SendPackets> packets)
    : port_(port),
      postman_(postman),
      clock_(clock),
      rank_(rank),
      options_(options),
      packets_(std::move(packets)),
      inline_bytes_(port.inline_bytes()),
      memory_(port, options.memory),
      away_sources_(port),
      away_places_(port),
      ranks_(ranks),
      receive_depth_(port.receive_depth()),
      unpromised_(receive_depth_) {
  postman_.deliver_to(this);
}

Result<std::unique_ptr<SendPackets>> ConnectionLink::prepare(ConnectionPort& port,
                                                             const ConnectionOptions& options) {
  if (options.window > kWindowMax) {
    return error(ESP_ERR_ARGUMENT, fmt::format("a window of {} messages, at most {} are allowed",
                                               options.window, kWindowMax));
  }
  if (port.inline_bytes() < MessageHead::kBytes + Announcement::kBytes ||
      port.packet_bytes() < kPacketMin || port.send_depth() < 8) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("the adapter is too small for connections: {} bytes inline, packets "
                             "of {} bytes, {} operations",
                             port.inline_bytes(), port.packet_bytes(), port.send_depth()));
  }
  return SendPackets::create(port, options.send_packets);
}

Result<std::unique_ptr<ConnectionLink>> ConnectionLink::create(
    ConnectionPort& port, Postman& postman, Clock& clock, Rank rank, std::uint32_t ranks,
    const ConnectionOptions& options, std::unique_ptr<SendPackets> packets) {
  if (packets == nullptr) {
    auto prepared = prepare(port, options);
    if (!prepared) return prepared.error();
    packets = std::move(*prepared);
  }
  return std::unique_ptr<ConnectionLink>(
      new ConnectionLink(port, postman, clock, rank, ranks, options, std::move(packets)));
}

ConnectionLink::~ConnectionLink() {
  postman_.deliver_to(nullptr);
  peers_.for_each([&](Rank, Peer& peer) {
    if (peer.connection) {
      port_.stop(*peer.connection);
      port_.destroy(*peer.connection);
    }
    timers_.cancel(peer);
    abandon(peer, ESP_ERR_CANCELED);
  });
}

ConnectionLink::Peer& ConnectionLink::peer(Rank rank) {
  if (Peer* met = peers_.find(rank)) return *met;
  return peers_.meet(rank, std::make_unique<Peer>(*this, rank, rank_ < rank));
}

bool ConnectionLink::up(Rank rank) const noexcept {
  const Peer* to = known(rank);
  return to != nullptr && to->may_post();
}

bool ConnectionLink::turned_down(Rank rank) const noexcept {
  const Peer* to = known(rank);
  return to != nullptr && !to->met && !to->connection && to->asked_ns == 0;
}

void ConnectionLink::hold(Rank rank) noexcept {
  known(rank)->held = true;
}

void ConnectionLink::release(Rank rank) noexcept {
  known(rank)->held = false;
  pump_soon(*known(rank));
}

net::LinkCaps ConnectionLink::caps(Rank) const noexcept {
  return {FramePost::kInlineBytes, away_sources_.usable()};
}

void ConnectionLink::reach(Rank rank) noexcept {
  if (barred(rank)) return;
  Peer& to = peer(rank);
  if (to.life.miss()) trouble(to);
  to.life.seek();
  if (to.life.lost() || to.asked_ns != 0) return;
  if (!to.connection) return ask(to);
  // Half made, and given up when the peer had left: somebody wants it after all.
  if (!to.handshake.up() && !to.broken) speak_again(to);
}

Posted ConnectionLink::post(Rank rank, const net::FrameHeader& header, const void* payload,
                            Completion& completion) noexcept {
  const bool small = header.bytes <= FramePost::kInlineBytes;
  if (Peer* met = known(rank); met != nullptr) {
    // Permissions come behind the places for what they permit.
    const bool permits = header.kind == net::FrameKind::kGrant && met->landings != nullptr;
    if (permits) met->landings->hurry();
    const bool at_once = small && sink_ == nullptr && !(permits && met->wants());
    if (at_once && send_now(*met, header, payload)) return Posted::kDone;
  }
  if (barred(rank)) return Posted::kDone;
  Peer& to = peer(rank);
  if (to.life.miss()) trouble(to);
  if (!to.life.takes_posts()) return Posted::kDone;
  Post* post = to.posts.count < options_.posts_max ? make_post(header, payload) : nullptr;
  if (post == nullptr) return Posted::kRetry;
  if (small) post->keep_inline();
  to.posts.push_back(*post);
  posting_ = small ? nullptr : post;
  reach(rank);
  pump_soon(to);
  if (small && (!to.may_post() || to.held)) early_.note(to, clock_);
  const bool gone = posting_ == nullptr;
  if (gone) return Posted::kDone;
  std::exchange(posting_, nullptr)->completion = &completion;
  return Posted::kPending;
}

// Looks through all that waits for this peer: for operations that failed or were cancelled above.
void ConnectionLink::withdraw(Rank rank, Completion& completion) noexcept {
  std::erase_if(finished_, [&](const auto& entry) { return entry.first == &completion; });
  Peer* to = known(rank);
  if (to == nullptr) return;
  if (withdraw_access(*to, completion)) return;
  bool reading = false;  // by the adapter
  Post* found = nullptr;
  const auto look = [&](Post* post, bool sent) {
    if (post == nullptr || post->completion != &completion) return;
    found = post;
    reading = sent;
  };
  for (FramePost* post = to->posts.first; post != nullptr; post = post->next) {
    look(static_cast<Post*>(post), post == to->placing.post);
  }
  for (const Record& record : to->resend) look(record.post, false);
  to->sent.for_each([&](const Record& record) { look(record.post, true); });
  to->readables.for_each([&](std::uint32_t index, const auto& slot) {
    if (slot.post->completion != &completion) return;
    look(slot.post, true);
    to->readables.make_unreadable(index);
  });
  if (found == nullptr) return;
  if (reading && found->lease) {
    stop(*to);
    trouble(*to);
  }
  memory_.end(found->lease);
  found->completion = nullptr;
  if (found->keep_copy()) return;
  lose(rank, error(ESP_ERR_NO_MEMORY, "no memory for a frame that was taken back", rank));
}

void ConnectionLink::redirect(Rank from, std::byte* payload) noexcept {
  known(from)->reader.redirect(payload);
}

bool ConnectionLink::announce(Rank rank, const net::FrameHeader& expected,
                              std::byte* memory) noexcept {
  const bool large = memory != nullptr && expected.bytes >= options_.place_from_bytes;
  const bool pulls = known(rank) != nullptr && known(rank)->pulls != nullptr;
  if ((!large && !pulls) || barred(rank)) return false;
  Peer& from = peer(rank);
  if (from.life.lost() || from.life.has_left()) return false;
  Landing* landing = large ? open_landing(from, expected, memory) : nullptr;
  if (pulls) meet(from, expected, landing);
  if (from.wants() || from.ready) pump_soon(from);
  return landing != nullptr;
}

// nullptr: there is none, or the adapter may not write this memory.
Landing* ConnectionLink::open_landing(Peer& peer, const net::FrameHeader& expected,
                                      std::byte* memory) noexcept {
  if (peer.landings == nullptr) peer.landings = std::make_unique<Landings>();
  if (peer.landings->awaits_end(expected.flow, expected.ordinal)) return nullptr;
  Landing* landing = peer.landings->open();
  if (landing == nullptr) return nullptr;
  const Lease lease = memory_.lease(memory, expected.bytes, Use::kWrite);
  if (!lease) return nullptr;
  landing->lease = lease;
  landing->frame = expected;
  landing->frame.synchronous = false;
  landing->memory = memory;
  peer.landings->become(*landing, Landing::State::kWanted);
  return landing;
}

// Its connection is stopped if the peer may write; what has come until then is kept aside, for the
// frame may be complete.
void ConnectionLink::retract(Rank rank, const net::FrameHeader& expected) noexcept {
  Peer* from = known(rank);
  if (from == nullptr || from->landings == nullptr) return;
  Landing* landing = from->landings->find(expected.flow, expected.ordinal);
  if (landing == nullptr) return;
  if (retract_pull(*from, *landing)) return;
  if (landing->state != Landing::State::kAnnounced) return close_landing(*from, *landing);
  stop(*from);
  trouble(*from);
  from->landings->become(*landing, Landing::State::kRetracted);
  landing->copy.reset(new (std::nothrow) std::byte[landing->frame.bytes]);
  if (landing->copy == nullptr) {
    return lose(rank, error(ESP_ERR_NO_MEMORY, "no memory for a frame that was taken back", rank));
  }
  copy_bytes(landing->copy.get(), landing->memory, landing->frame.bytes);
}

Error ConnectionLink::adapter_failed(Rank rank) const {
  return error(ESP_ERR_NETWORK, "the adapter has failed", rank, port_.fault().error_number());
}

bool ConnectionLink::flush() noexcept {
  if (!ready_.empty() && sink_ == nullptr) pump_ready();
  // For a connection, or for datagrams before them.
  return early_.flushed(clock_, [](Peer& peer) {
    return (!peer.may_post() || peer.held) && !peer.life.lost() && !peer.owes_nothing();
  });
}

// What is kept of a peer is not made for one that is lost.
void ConnectionLink::bar(Rank rank, const Status& why) noexcept {
  if (barred(rank)) return;
  barred_.insert(rank);
  barred_news_.emplace_back(why.code(), rank, why.error_number());
}

void ConnectionLink::lose(Rank rank, Error why) noexcept {
  if (known(rank) == nullptr) return bar(rank, why.status);
  Peer& from = *known(rank);
  if (!from.life.lose(rank, std::move(why), from.owes_nothing())) return;
  from.reader.stop();
  stop(from);
  trouble(from);
}

// From now on nothing is written to this rank's memory through its connection. One that has no
// other end yet does that anyway, and will be good.
void ConnectionLink::stop(Peer& peer) noexcept {
  if (!peer.joined || peer.broken) return;
  port_.stop(*peer.connection);
  peer.broken = true;
  peer.why = Fault::kFlushed;
  if (!peer.owes_nothing()) early_.note(peer, clock_);
}

int ConnectionLink::progress(net::FrameSink& sink) noexcept {
  ESP_ASSERT(sink_ == nullptr);
  sink_ = &sink;
  looked_ns_ = clock_.now_ns();  // Before: what comes does not wait for the clock.
  const int polled = failed_ ? 0 : port_.poll(*this, static_cast<int>(options_.poll_budget));
  int events = std::max(polled, 0);
  if (polled < 0) {
    failed_ = true;
    peers_.for_each([&](Rank rank, Peer&) { lose(rank, adapter_failed(rank)); });
  }
  if (!letters_.empty()) events += handle_letters();
  if (!troubled_.empty()) events += handle_troubles();
  events += static_cast<int>(timers_.run_expired(looked_ns_));
  if (may_pump()) pump_ready();
  if (!barred_news_.empty()) events += tell_barred();
  if (!finished_.empty()) events += fire();
  if (!ready_.empty()) pump_ready();  // what those callbacks have posted
  sink_ = nullptr;
  return events;
}

int ConnectionLink::tell_barred() noexcept {
  int told = 0;
  for (const Status& why : std::exchange(barred_news_, {})) {
    sink_->lost(why.rank(), why);
    ++told;
  }
  return told;
}

// The completions of what has left; their callbacks may post.
int ConnectionLink::fire() noexcept {
  int fired = 0;
  while (!finished_.empty()) {
    const auto [completion, status] = finished_.front();
    finished_.erase(finished_.begin());
    completion->complete(status);
    ++fired;
  }
  return fired;
}

bool ConnectionLink::arm() noexcept {
  const bool quiet = ready_.empty() && barred_news_.empty() && letters_.empty() &&
                     troubled_.empty() && finished_.empty();
  // A failed adapter has nothing more to tell.
  return quiet && (failed_ || port_.arm());
}

std::uint64_t ConnectionLink::deadline_ns() const noexcept {
  const std::uint64_t next = timers_.next_deadline_ns();
  return next == kNever ? 0 : next;
}

void ConnectionLink::say_goodbye(Rank rank) noexcept {
  Peer* to = known(rank);
  if (to == nullptr || to->life.parts()) return;
  const bool met = to->connection || to->asked_ns != 0 || to->has_work();
  if (!met && !to->life.lost()) return;
  to->life.part();
  recall_readables(*to);
  pump_soon(*to);
}

void ConnectionLink::say_goodbye_to_all() noexcept {
  peers_.for_each([&](Rank rank, Peer&) { say_goodbye(rank); });
}

bool ConnectionLink::has_left(Rank rank) const noexcept {
  const Peer* to = known(rank);
  return to != nullptr && to->life.has_left();
}

bool ConnectionLink::drained() const noexcept {
  // Who has said goodbye does not wait for this side's, and may be gone.
  return peers_.all_of(
      [](Peer& peer) { return !peer.has_work() || (peer.life.has_left() && peer.owes_nothing()); });
}

std::string ConnectionLink::describe(Rank rank) const {
  const Peer* to = known(rank);
  if (to == nullptr) return barred(rank) ? "lost" : "not connected";
  if (to->life.lost()) return "lost: " + to->life.text();
  if (!to->handshake.up()) return "connecting";
  return fmt::format("connection {}, window {}, epoch {}",
                     static_cast<std::uint32_t>(*to->connection), to->granted,
                     to->handshake.epoch());
}

}  // namespace espalier::rdma
