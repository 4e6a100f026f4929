// TcpLink: how connections are made. Attempts of this rank, connections of others, leaving,
// deadlines.
// path: setup
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/open_files.hpp"
#include "net/tcp/tcp_link_state.hpp"

namespace espalier::net {
namespace {

// A connection that ends during its handshake is made again, this often if it ended at once. One
// that lasted was a victim of the acceptor's patience: this rank was too slow.
constexpr unsigned kTries = 8;
constexpr std::uint64_t kRetryFirstNs = 1'000'000, kRetryLastNs = kNanosecondsPerSecond;
constexpr unsigned kSilencesMax = 20;  // the patience with an address doubles so often
constexpr std::uint64_t kAcceptPauseNs = 100'000'000;  // when there are no descriptors
constexpr std::uint64_t kChecksPerSilence = 4;

}  // namespace

// ---- attempts of this rank ----

void TcpLink::connect(Peer& p) noexcept {
  p.state = Peer::State::kConnecting;
  unsettled_.push_back(&p);
  connect_next(p);
}

// Tries the next address; the peer is lost when there is none left.
void TcpLink::connect_next(Peer& p) noexcept {
  p.retry_ns = kNever;
  for (; p.address < p.contact.addresses.size(); ++p.address) {
    const TcpAddress& address = p.contact.addresses[p.address];
    auto socket = start_connect(address);
    if (socket) {
      const std::uint64_t now = clock_.now_ns();
      meet(std::move(*socket),
           Handshake::initiator(options_.rank, p.rank, p.contact.secret, draw_nonce()), p.rank,
           address, now + options_.connect_ns);
      return;
    }
    if (socket.error().status.code() == ESP_ERR_NO_MEMORY) {
      // Descriptors come back; an attempt that ends for want of them counts.
      if (++p.tries < kTries) return retry_later(p, clock_.now_ns());
      return fail(p, error(ESP_ERR_NO_MEMORY, socket.error().text, p.rank,
                           socket.error().status.error_number()));
    }
    p.tried +=
        fmt::format("{}{}: {}", p.tried.empty() ? "" : "; ", text(address), socket.error().text);
  }
  if (p.contact.addresses.empty()) p.tried = "its address is not known";
  fail(p, error(ESP_ERR_PEER_DIED, p.tried, p.rank));
}

void TcpLink::retry_later(Peer& p, std::uint64_t now_ns) noexcept {
  p.retry_after_ns = std::clamp(2 * p.retry_after_ns, kRetryFirstNs, kRetryLastNs);
  p.retry_ns = now_ns + p.retry_after_ns;
  set_deadline(p.retry_ns);
}

// This address is not the peer's, or nobody answers there.
void TcpLink::attempt_failed(Peer& p, const std::string& why) noexcept {
  if (p.life.parts() && p.writer.empty()) return stay_apart(p);
  p.tried += fmt::format("{}{}: {}", p.tried.empty() ? "" : "; ",
                         text(p.contact.addresses[p.address]), why);
  ++p.address;
  p.tries = 0;
  connect_next(p);
}

// Somebody is there and says nothing: perhaps the peer, which computes. This address is tried again
// after the others, which are given twice the time then.
void TcpLink::attempt_silent(Peer& p) noexcept {
  const auto here = p.contact.addresses.begin() + static_cast<std::ptrdiff_t>(p.address);
  std::rotate(here, here + 1, p.contact.addresses.end());
  p.silences = std::min(p.silences + 1, kSilencesMax);
  p.tries = 0;
  connect_next(p);
}

void TcpLink::drop_attempt(Peer& p) noexcept {
  if (p.attempt != nullptr) end_meeting(*p.attempt);
  p.attempt = nullptr;
  p.retry_ns = kNever;
}

// ---- meetings ----

void TcpLink::meet(Descriptor socket, Handshake handshake, Rank rank, const TcpAddress& address,
                   std::uint64_t deadline_ns) noexcept {
  std::size_t slot = meetings_.size();
  if (!free_meetings_.empty()) {
    slot = free_meetings_.back();
    free_meetings_.pop_back();
  } else {
    meetings_.emplace_back();
  }
  const int fd = socket.fd();
  set_up_connection(fd, options_.silence_ns);
  meetings_[slot] = std::make_unique<Meeting>(std::move(socket), handshake, slot);
  Meeting& meeting = *meetings_[slot];
  meeting.address = address;
  meeting.begin_ns = clock_.now_ns();
  meeting.deadline_ns = deadline_ns;
  meeting.ours = rank != kNoRank;
  if (meeting.ours) {
    meeting.stage = Meeting::Stage::kConnecting;
    peer(rank).attempt = &meeting;
  } else {
    ++strangers_;
  }
  set_deadline(deadline_ns);
  watch(EPOLL_CTL_ADD, fd, meeting.ours ? EPOLLOUT : EPOLLIN, Watch::kMeeting, slot);
}

void TcpLink::end_meeting(Meeting& meeting) noexcept {
  if (!meeting.ours) --strangers_;
  close(meeting.socket);
  freed_meetings_.push_back(meeting.slot);
  // Events of this round may still name the slot: it is reused from the next one on.
  meetings_[meeting.slot].reset();
  if (accept_again_ns_ == 0) resume_accepting();
}

void TcpLink::step(Meeting& meeting) noexcept {
  if (meeting.stage == Meeting::Stage::kConnecting && !step_connect(meeting)) return;
  step_message(meeting);
}

// False: the meeting is over.
bool TcpLink::step_connect(Meeting& meeting) noexcept {
  const int failure = connect_result(meeting.socket.fd());
  if (failure != 0) {
    Peer& p = peer(meeting.handshake.peer());
    drop_attempt(p);
    attempt_failed(p, std::strerror(failure));
    return false;
  }
  // From here on only the peer's progress() is waited for, however long that takes; the kernel
  // watches over its machine, and its process cannot end without closing this. But it may be
  // somebody else, who is busy: other addresses get their turn meanwhile.
  const Peer& p = peer(meeting.handshake.peer());
  const bool others = p.address + 1 < p.contact.addresses.size();
  meeting.stage = Meeting::Stage::kTalking;
  meeting.deadline_ns = others ? clock_.now_ns() + (options_.connect_ns << p.silences) : kNever;
  if (others) set_deadline(meeting.deadline_ns);
  watch(EPOLL_CTL_MOD, meeting.socket.fd(), EPOLLIN, Watch::kMeeting, meeting.slot);
  if (send_reply(meeting)) return true;
  meeting_broke(meeting, "the hello could not be sent");
  return false;
}

// A message is smaller than any empty buffer of a socket, so a part of one means that the
// connection is of no use.
bool TcpLink::send_reply(Meeting& meeting) noexcept {
  const auto reply = meeting.handshake.reply();
  if (reply.empty()) return true;
  ++counters_.socket_calls;
  return ::send(meeting.socket.fd(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(reply.size());
}

// Reads what the handshake expects and not a byte more: what follows are frames.
void TcpLink::step_message(Meeting& meeting) noexcept {
  Handshake& shake = meeting.handshake;
  while (true) {
    const bool dismissed = meeting.stage == Meeting::Stage::kDismissed;
    const std::size_t wanted = dismissed ? meeting.message.size() : shake.expects();
    const std::size_t have = dismissed ? 0 : meeting.message_bytes;
    const ssize_t got =
        ::recv(meeting.socket.fd(), meeting.message.data() + have, wanted - have, MSG_DONTWAIT);
    ++counters_.socket_calls;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0 || dismissed) {
      return meeting_broke(meeting, got < 0 ? std::strerror(errno) : "it closed the connection");
    }
    meeting.message_bytes += static_cast<std::size_t>(got);
    if (meeting.message_bytes < wanted) continue;
    meeting.message_bytes = 0;
    if (!meeting.ours) meeting.deadline_ns = clock_.now_ns() + options_.stranger_ns;
    switch (shake.take({meeting.message.data(), wanted})) {
      case Handshake::Step::kMore:
        if (!send_reply(meeting)) return meeting_broke(meeting, "no answer could be sent");
        // Who challenges is the peer. It may say go at any time from now on: to leave it here for
        // another address could be to leave a connection that it has taken for good.
        if (meeting.ours) meeting.deadline_ns = kNever;
        continue;
      case Handshake::Step::kProven:
        return proven(meeting);
      case Handshake::Step::kDeclined: {
        // The peer uses the other connection, whose last message is on its way. It is asked again
        // lest it dies before that.
        Peer& p = peer(shake.peer());
        drop_attempt(p);
        return retry_later(p, clock_.now_ns());
      }
      case Handshake::Step::kRefused:
        return refuse(meeting, shake.why());
    }
  }
}

// The peer is whom it says. Whether this connection is the one that lives is the lower rank's
// decision: it takes the first that gets here.
void TcpLink::proven(Meeting& meeting) noexcept {
  Peer& p = peer(meeting.handshake.peer());
  // It will not be let in again, and notices when it has tried often enough.
  if (p.life.lost()) return end_meeting(meeting);
  const bool committed = p.attempt != nullptr && p.attempt->handshake.committed();
  const bool go = p.state != Peer::State::kLive && !committed;
  if (!meeting.ours) {
    meeting.handshake.give_verdict(go);
    if (!send_reply(meeting)) return meeting_broke(meeting, "no answer could be sent");
  }
  if (go) return adopt(meeting);
  // Closing at once could destroy the verdict on its way.
  meeting.stage = Meeting::Stage::kDismissed;
}

void TcpLink::adopt(Meeting& meeting) noexcept {
  Peer& p = peer(meeting.handshake.peer());
  if (p.state == Peer::State::kApart) unsettled_.push_back(&p);
  p.state = Peer::State::kLive;
  ++counters_.connections;
  p.socket = std::move(meeting.socket);
  p.reached = meeting.address;
  p.watched = EPOLLIN;
  watch(EPOLL_CTL_MOD, p.socket.fd(), EPOLLIN, Watch::kPeer, static_cast<std::size_t>(p.rank));
  if (p.attempt != &meeting) end_meeting(meeting);
  drop_attempt(p);
  p.tried.clear();
  if (next_check_ns_ == kNever) {
    next_check_ns_ = clock_.now_ns() + options_.silence_ns / kChecksPerSilence;
    set_deadline(next_check_ns_);
  }
  log_.debug("rank {} is connected, {}", p.rank, text(p.reached));
  write(p);
}

// The connection ended or fails. Of a stranger who said nothing there is nothing to be said;
// members do not send a part of a message.
void TcpLink::meeting_broke(Meeting& meeting, const std::string& why) noexcept {
  if (!meeting.ours && meeting.message_bytes > 0) {
    return refuse(meeting,
                  fmt::format("{} bytes of a message, then: {}", meeting.message_bytes, why));
  }
  if (!meeting.ours) return end_meeting(meeting);
  Peer& p = peer(meeting.handshake.peer());
  const std::uint64_t now = clock_.now_ns();
  const bool at_once = now - meeting.begin_ns < options_.stranger_ns;
  if (p.life.parts() && p.writer.empty()) return stay_apart(p);
  drop_attempt(p);
  if (at_once && ++p.tries >= kTries) return attempt_failed(p, why);
  retry_later(p, now);
}

// What speaks there is not of this job. Logged at most once per second.
void TcpLink::refuse(Meeting& meeting, const std::string& why) noexcept {
  ++counters_.strangers;
  ++refused_unlogged_;
  const std::uint64_t now = clock_.now_ns();
  if (refused_logged_ns_ == 0 || now - refused_logged_ns_ >= kNanosecondsPerSecond) {
    log_.warn("connection with {} refused: {} ({} since the last such message)",
              text(meeting.address), why, std::exchange(refused_unlogged_, 0));
    refused_logged_ns_ = now;
  }
  if (!meeting.ours) return end_meeting(meeting);
  Peer& p = peer(meeting.handshake.peer());
  drop_attempt(p);
  attempt_failed(p, why);
}

// ---- connections of others ----

void TcpLink::accept(std::size_t listener) noexcept {
  while (strangers_ < kStrangersMax) {
    SocketAddress from;
    from.bytes = sizeof from.storage;
    const int fd = ::accept4(listeners_[listener].fd(), reinterpret_cast<sockaddr*>(&from.storage),
                             &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    ++counters_.socket_calls;
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (fd < 0) {
      const int failure = errno;
      log_.warn("accept: {}{}; connections wait", std::strerror(failure), open_files_hint(failure));
      return pause_accepting(kAcceptPauseNs);
    }
    TcpAddress address;
    (void)from_socket_address(from.get(), address);
    meet(Descriptor(fd),
         Handshake::acceptor(options_.rank, options_.job_size, contact_.secret, draw_nonce()),
         kNoRank, address, clock_.now_ns() + options_.stranger_ns);
  }
  pause_accepting(0);
}

// The others wait in the kernel's queue: for this long, or (0) until a stranger has gone.
void TcpLink::pause_accepting(std::uint64_t for_ns) noexcept {
  accept_again_ns_ = for_ns > 0 ? clock_.now_ns() + for_ns : 0;
  if (for_ns > 0) set_deadline(accept_again_ns_);
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    watch(EPOLL_CTL_MOD, listeners_[i].fd(), 0, Watch::kListener, i);
  }
}

void TcpLink::resume_accepting() noexcept {
  accept_again_ns_ = kNever;
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    watch(EPOLL_CTL_MOD, listeners_[i].fd(), EPOLLIN, Watch::kListener, i);
  }
}

Nonce TcpLink::draw_nonce() noexcept {
  Nonce nonce = {};
  // Fails for no reason after it has worked once, which it has in open().
  while (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
  }
  return nonce;
}

// ---- leaving ----

void TcpLink::say_goodbye(Rank rank) noexcept {
  Peer& p = peer(rank);
  p.life.part();
  // Once this rank has proven itself the peer may have taken the connection, and is told goodbye.
  const bool proven = p.attempt != nullptr && p.attempt->handshake.has_proven_itself();
  if (p.state == Peer::State::kConnecting && p.writer.empty() && !proven) stay_apart(p);
  wish_goodbye(p);
}

void TcpLink::say_goodbye_to_all() noexcept {
  parts_ = true;
  peers_.for_each([&](Rank rank, Peer&) { say_goodbye(rank); });
}

// Nothing is to be said to a peer that knows no connection to hear goodbye by.
void TcpLink::stay_apart(Peer& p) noexcept {
  drop_attempt(p);
  p.state = Peer::State::kApart;
  std::erase(unsettled_, &p);
}

bool TcpLink::has_left(Rank rank) const noexcept {
  const Peer* p = find(rank);
  return p != nullptr && p->life.has_left();
}

bool TcpLink::drained() const noexcept {
  // Who is about to prove to whom it speaks has a connection to be told goodbye by.
  const bool meets = std::any_of(meetings_.begin(), meetings_.end(), [&](const auto& meeting) {
    if (meeting == nullptr || meeting->ours || meeting->stage != Meeting::Stage::kTalking) {
      return false;
    }
    const Rank rank = meeting->handshake.peer();
    const Peer* p = find(rank);
    return p != nullptr && p->life.parts() && p->state < Peer::State::kLive;
  });
  return !meets && std::all_of(unsettled_.begin(), unsettled_.end(), [](const Peer* p) {
    if (!p->writer.empty() || p->life.goodbye_due()) return false;
    return p->state != Peer::State::kLive || unacknowledged_bytes(p->socket.fd()) == 0;
  });
}

// ---- deadlines ----

void TcpLink::set_deadline(std::uint64_t deadline_ns) noexcept {
  next_deadline_ns_ = std::min(next_deadline_ns_, deadline_ns);
}

// Called after the arrivals of this round have been handled, so that nobody is blamed for this
// rank's own slowness.
void TcpLink::run_deadlines(std::uint64_t now_ns) noexcept {
  next_deadline_ns_ = kNever;
  if (accept_again_ns_ != 0 && accept_again_ns_ <= now_ns) resume_accepting();
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    if (meetings_[i] == nullptr || meetings_[i]->deadline_ns > now_ns) continue;
    Meeting& meeting = *meetings_[i];
    if (meeting.ours) {
      Peer& p = peer(meeting.handshake.peer());
      const bool talked = meeting.stage == Meeting::Stage::kTalking;
      drop_attempt(p);
      talked ? attempt_silent(p) : attempt_failed(p, "no answer in time");
    } else if (meeting.stage == Meeting::Stage::kDismissed) {
      end_meeting(meeting);
    } else {
      refuse(meeting, "it said nothing");
    }
  }
  const bool check = next_check_ns_ <= now_ns;
  if (check) next_check_ns_ = kNever;
  const std::vector<Peer*> peers = unsettled_;  // Some leave it.
  for (Peer* p : peers) {
    if (p->state == Peer::State::kConnecting && p->retry_ns <= now_ns) connect_next(*p);
    if (p->state == Peer::State::kLive && check) check_silence(*p, now_ns);
  }
  for (const Peer* p : unsettled_) {
    set_deadline(p->retry_ns);
    if (p->state != Peer::State::kLive || next_check_ns_ != kNever) continue;
    next_check_ns_ = now_ns + options_.silence_ns / kChecksPerSilence;
  }
  set_deadline(next_check_ns_);
  for (const auto& meeting : meetings_) {
    if (meeting != nullptr) set_deadline(meeting->deadline_ns);
  }
  if (accept_again_ns_ != 0) set_deadline(accept_again_ns_);
}

void TcpLink::check_silence(Peer& p, std::uint64_t now_ns) noexcept {
  const Acknowledgements found = acknowledgements(p.socket.fd());
  const bool answered = p.missing_since_ns != 0 && found.latest_ns < now_ns - p.missing_since_ns;
  if (!found.missing) {
    p.missing_since_ns = 0;
  } else if (p.missing_since_ns == 0 || answered) {
    p.missing_since_ns = now_ns;
  } else if (now_ns - p.missing_since_ns >= options_.silence_ns * 3 / 4) {
    fail(p, error(ESP_ERR_PEER_DIED,
                  fmt::format("its machine has not answered for {:.0f} s",
                              static_cast<double>(found.latest_ns) / kNanosecondsPerSecond),
                  p.rank));
  }
}

}  // namespace espalier::net
