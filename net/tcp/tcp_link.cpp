// TcpLink: frames of live connections. Making connections: tcp_link_connect.cpp.
#include "net/tcp/tcp_link.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "net/tcp/tcp_link_state.hpp"

namespace espalier::net {
namespace {

constexpr std::size_t kStagingBytes = 16 << 10;
constexpr int kEventsMax = 64;  // of one look at epoll
// A rank without connections looks at its listeners every so many rounds: a look is a system call.
constexpr std::uint32_t kLonelyLooks = 4;
// guess(): after so many arrivals of one peer; so often between two looks at all.
constexpr std::uint32_t kGuessFrom = 8, kGuesses = 3;

// A write that fails so finds a connection that is over, which the reader sees as well. After any
// other failure it would wait for ever.
bool ends_connection(int failure) noexcept {
  constexpr std::array kEnds = {EPIPE,        ECONNRESET, ECONNABORTED, ETIMEDOUT,
                                EHOSTUNREACH, EHOSTDOWN,  ENETUNREACH,  ENETDOWN};
  return std::find(kEnds.begin(), kEnds.end(), failure) != kEnds.end();
}

Error has_gone(Rank rank) {
  return error(ESP_ERR_PEER_DIED, "it has left the job", rank);
}

}  // namespace

TcpLink::TcpLink(const TcpOptions& options, Clock& clock, Counters& counters, const Log& log)
    : options_(options),
      clock_(clock),
      counters_(counters),
      log_(log),
      staging_(std::make_unique<std::byte[]>(kStagingBytes)) {}

TcpLink::~TcpLink() {
  peers_.for_each([&](Rank, Peer& p) { close(p.socket); });
  for (const auto& meeting : meetings_) {
    if (meeting != nullptr) close(meeting->socket);
  }
  for (Descriptor& listener : listeners_) close(listener);
}

Result<std::unique_ptr<TcpLink>> TcpLink::create(const TcpOptions& options, Clock& clock,
                                                 Counters& counters, const Log& log) {
  std::unique_ptr<TcpLink> link(new TcpLink(options, clock, counters, log));
  if (Outcome opened = link->open(); !opened) return opened.error();
  return link;
}

Outcome TcpLink::open() {
  auto all = list_interfaces();
  if (!all) return all.error();
  std::vector<std::string> unmatched;
  auto chosen = choose_interfaces(*all, options_.interface, &unmatched);
  if (!chosen) {
    Error failure = chosen.error();
    failure.text =
        fmt::format("{} on rank {}: {}", options_.interface_setting, options_.rank, failure.text);
    return failure;
  }
  for (const std::string& word : unmatched) {
    log_.warn("{}: no network interface matches \"{}\"; there are: {}", options_.interface_setting,
              word, list_text(*all));
  }
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return socket_error("epoll_create1", errno);
  if (::getrandom(contact_.secret.data(), contact_.secret.size(), 0) !=
      static_cast<ssize_t>(contact_.secret.size())) {
    return socket_error("getrandom", errno);
  }
  return listen(*chosen);
}

// Nobody has asked for an address that cannot be used (an IPv6 address whose uniqueness has not
// been shown, or that another machine has, is listed like any other): one of the others may do.
Outcome TcpLink::listen(const std::vector<Interface>& chosen) {
  Outcome last = Unit{};
  for (const Interface& interface : chosen) {
    TcpAddress address = interface.address;
    auto listener = listen_on(address);
    if (!listener) {
      const bool here = listener.error().status.code() != ESP_ERR_NO_MEMORY;
      if (!options_.interface.empty() || !here) return listener.error();
      log_.warn("no connections by {}: {}", interface.name, listener.error().text);
      last = listener.error();
      continue;
    }
    watch(EPOLL_CTL_ADD, listener->fd(), EPOLLIN, Watch::kListener, listeners_.size());
    listeners_.push_back(std::move(*listener));
    contact_.addresses.push_back(address);
    interfaces_.push_back(interface);
  }
  return listeners_.empty() ? last : Unit{};
}

TcpLink::Peer& TcpLink::peer(Rank rank) noexcept {
  if (Peer* met = peers_.find(rank)) return *met;
  Peer& p = peers_.meet(rank, std::make_unique<Peer>(rank, frames_));
  if (parts_) p.life.part();
  if (contacts_ != nullptr) {
    p.contact = contacts_->contact_of(rank);
    prefer_own_networks(p.contact);
  }
  return p;
}

void TcpLink::set_contact(Rank rank, TcpContact contact) {
  prefer_own_networks(contact);
  peer(rank).contact = std::move(contact);
}

// The addresses in networks of this rank come first: others may mean another machine there.
void TcpLink::prefer_own_networks(TcpContact& contact) const {
  std::stable_partition(
      contact.addresses.begin(), contact.addresses.end(), [&](const TcpAddress& address) {
        return std::any_of(interfaces_.begin(), interfaces_.end(), [&](const Interface& i) {
          return same_network(i.address, address, i.prefix_bits);
        });
      });
}

LinkCaps TcpLink::caps(Rank) const noexcept {
  LinkCaps caps;
  caps.inline_bytes = OutFrame::kInlineBytes;
  return caps;
}

void TcpLink::watch(int operation, int fd, std::uint32_t events, Watch kind,
                    std::size_t index) noexcept {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(kind)} << 32 | index;
  ++counters_.socket_calls;
  if (::epoll_ctl(epoll_.fd(), operation, fd, &event) != 0) {
    log_.error("epoll_ctl: {}", std::strerror(errno));
  }
}

// A child that fork() has made may hold the socket, too: then its descriptor's end alone is not the
// connection's, and epoll goes on telling of it.
void TcpLink::close(Descriptor& socket) noexcept {
  if (!socket.is_open()) return;
  watch(EPOLL_CTL_DEL, socket.fd(), 0, Watch::kPeer, 0);
  (void)::shutdown(socket.fd(), SHUT_RDWR);
  socket.close();
}

Posted TcpLink::post(Rank rank, const FrameHeader& header, const void* payload,
                     Completion& completion) noexcept {
  Peer& p = peer(rank);
  if (p.life.miss()) news_.push_back(&p);
  if (!p.life.takes_posts()) return Posted::kDone;
  const bool first = p.writer.empty();
  if (!p.writer.push(header, payload)) return Posted::kRetry;
  if (p.state == Peer::State::kApart) connect(p);
  // The first post of a round goes at once: a rank that computes from here on does not hold it
  // back. Later ones are gathered, until flush() or progress() begins another.
  const bool at_once = first && p.wrote_at != round_ && !in_progress_;
  if (p.state == Peer::State::kLive && !p.full && at_once) {
    p.wrote_at = round_;
    write(p);
  } else if (p.state == Peer::State::kLive && !p.full) {
    note_dirty(p);
  }
  if (p.life.lost()) return Posted::kDone;
  const Posted posted = p.writer.keep(completion);
  const bool waits = posted == Posted::kDone && p.state == Peer::State::kConnecting;
  if (waits) early_.note(p, clock_);
  return posted;
}

void TcpLink::note_dirty(Peer& p) noexcept {
  if (std::exchange(p.dirty, true)) return;
  dirty_.push_back(&p);
}

void TcpLink::write(Peer& p) noexcept {
  if (!std::exchange(p.answered, true)) pace_.hurry();
  int failure = 0;
  switch (p.writer.write(p.socket.fd(), finished_, counters_, failure)) {
    case FrameWriter::Wrote::kAll:
      p.full = false;
      wish_goodbye(p);
      break;
    case FrameWriter::Wrote::kMore:
      note_dirty(p);
      break;
    case FrameWriter::Wrote::kFull:
      p.full = true;
      break;
    case FrameWriter::Wrote::kBroken:
      if (!ends_connection(failure)) {
        const char* hint = failure == EFAULT ? " (the memory of a send cannot be read)" : "";
        const std::string text = fmt::format("write: {}{}", std::strerror(failure), hint);
        return fail(p, error(ESP_ERR_NETWORK, text, p.rank, failure));
      }
      // What the peer wrote before it broke is read first; that ends the connection.
      p.write_failure = failure;
      p.full = true;
      break;
  }
  update_watch(p);
}

// The last frame, when all others have gone.
void TcpLink::wish_goodbye(Peer& p) noexcept {
  if (!p.life.parts() || p.state != Peer::State::kLive || !p.writer.empty()) return;
  if (p.life.goodbye_due()) {
    FrameHeader header;
    header.kind = FrameKind::kGoodbye;
    if (p.writer.push(header, nullptr)) p.life.goodbye_said();  // Else: no memory now.
    return note_dirty(p);
  }
  (void)::shutdown(p.socket.fd(), SHUT_WR);
  if (p.ended) fail(p, has_gone(p.rank), true);
}

void TcpLink::update_watch(Peer& p) noexcept {
  if (!p.socket.is_open()) return;
  const bool wants_room = p.full && p.write_failure == 0;
  const std::uint32_t events =
      (p.ended ? 0U : std::uint32_t{EPOLLIN}) | (wants_room ? std::uint32_t{EPOLLOUT} : 0U);
  if (events == p.watched) return;
  p.watched = events;
  watch(EPOLL_CTL_MOD, p.socket.fd(), events, Watch::kPeer, static_cast<std::size_t>(p.rank));
}

void TcpLink::read(Peer& p, FrameSink& sink, int& events) noexcept {
  Error failure;
  const auto outcome = p.reader.read(p.socket.fd(), p.rank, sink, {staging_.get(), kStagingBytes},
                                     counters_, failure, events);
  if (p.reader.peer_said_goodbye()) p.life.leave();
  if (p.state != Peer::State::kLive || outcome == FrameReader::Outcome::kDrained) return;
  if (outcome == FrameReader::Outcome::kBroken) return broke(p, failure);
  if (p.write_failure != 0) return broke(p, socket_error("write", p.write_failure));
  ended(p);
}

// The peer writes no more.
void TcpLink::ended(Peer& p) noexcept {
  if (!p.life.has_left()) {
    return fail(p,
                error(ESP_ERR_PEER_DIED, "it has closed the connection without a goodbye", p.rank));
  }
  // Told a second time, it does not read any more, either.
  if (std::exchange(p.ended, true) || (p.life.has_said_goodbye() && p.writer.empty())) {
    return broke(p, has_gone(p.rank));
  }
  update_watch(p);
}

// The connection is of no use any more. Nothing is lost by that if the peer has said goodbye and
// all that is left to be written is this rank's.
void TcpLink::broke(Peer& p, const Error& failure) noexcept {
  const bool protocol = failure.status.code() == ESP_ERR_NETWORK;
  if (!protocol && p.life.has_left()) {
    return fail(p, has_gone(p.rank), p.writer.count() <= (p.life.has_said_goodbye() ? 1U : 0U));
  }
  fail(p, error(protocol ? ESP_ERR_NETWORK : ESP_ERR_PEER_DIED, failure.text, p.rank,
                failure.status.error_number()));
}

// Nothing more goes either way.
void TcpLink::fail(Peer& p, Error why, bool owes_nothing) noexcept {
  if (!p.life.lose(p.rank, std::move(why), owes_nothing)) return;
  drop_attempt(p);
  p.state = Peer::State::kOver;
  close(p.socket);
  p.reader.stop();
  p.writer.fail(p.life.why(), finished_);
  std::erase(unsettled_, &p);
  news_.push_back(&p);
}

void TcpLink::lose(Rank rank, Error why) noexcept {
  fail(peer(rank), std::move(why));
}

void TcpLink::withdraw(Rank rank, Completion& completion) noexcept {
  Peer& p = peer(rank);
  for (Finished& f : finished_) {
    if (f.completion == &completion) f.completion = nullptr;
  }
  bool found = false;
  if (!p.writer.withdraw(completion, found)) {
    fail(p, error(ESP_ERR_NO_MEMORY, "no memory to end a send that was cancelled", rank));
  }
}

void TcpLink::redirect(Rank from, std::byte* payload) noexcept {
  peer(from).reader.redirect(payload);
}

void TcpLink::reach(Rank rank) noexcept {
  Peer& p = peer(rank);
  if (p.life.miss()) news_.push_back(&p);
  if (p.life.takes_posts() && p.state == Peer::State::kApart) connect(p);
}

bool TcpLink::arm() noexcept {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    Peer& p = *dirty_[i];
    if (p.state == Peer::State::kLive && !p.full) return false;
  }
  unlooked_ = kLonelyLooks;
  guesses_ = kGuesses;
  const bool looks_late = pace_.next_ns() != 0;  // Something may be there already.
  pace_.hurry();
  if (looks_late) return false;
  return news_.empty() && finished_.empty();
}

// What is posted meanwhile waits for the next time.
bool TcpLink::flush() noexcept {
  ++round_;
  if (!dirty_.empty()) {
    writing_.swap(dirty_);
    for (Peer* p : writing_) {
      p->dirty = false;
      if (p->state == Peer::State::kLive && !p->full) write(*p);
    }
    writing_.clear();
  }
  return early_.flushed(clock_, [](const Peer& p) { return p.state == Peer::State::kConnecting; });
}

int TcpLink::progress(FrameSink& sink) noexcept {
  (void)flush();
  in_progress_ = true;
  int events = handle_events(sink);
  if (next_deadline_ns_ != kNever) {
    const std::uint64_t now = clock_.now_ns();
    if (now >= next_deadline_ns_) run_deadlines(now);
  }
  free_meetings_.insert(free_meetings_.end(), freed_meetings_.begin(), freed_meetings_.end());
  freed_meetings_.clear();
  if (!news_.empty() || !finished_.empty()) events += tell(sink);
  in_progress_ = false;
  (void)flush();  // of callbacks
  return events;
}

// Who has been heard several times and nobody else in between is probably waited for: it is read
// without asking first whether there is something (half a round trip of 8 bytes: 6.4 us, not 7.2).
// False: ask; also in a stream, while meetings are under way, whose deadlines count what epoll has
// told, and when room for writing is waited for.
bool TcpLink::guess(FrameSink& sink, int& events) noexcept {
  const bool one = heard_ != nullptr && heard_times_ >= kGuessFrom && guesses_ < kGuesses;
  const bool readable = one && !pace_.in_stream() && meetings_under_way() == 0 && !heard_->full &&
                        heard_->state == Peer::State::kLive && !heard_->ended;
  guesses_ = readable ? guesses_ + 1 : 0;
  if (readable) read(*heard_, sink, events);
  return readable;
}

void TcpLink::hear(Peer& p, FrameSink& sink, int& events) noexcept {
  heard_times_ = heard_ == &p ? heard_times_ + 1 : 0;
  heard_ = &p;
  const bool streams = !std::exchange(p.answered, false);
  read(p, sink, events);
  if (streams && p.reader.in_small_frames()) {
    pace_.stream(!p.reader.is_in_payload(), clock_.now_ns());
  } else {
    pace_.other();
  }
}

// Between two nodes broadcasts of 8 bytes took 2.4 us with a distance, 2.9 without; of 4 KiB 3.2,
// not 4.2 (virtual Ethernet pair). Meetings have their own times and are looked at always.
bool TcpLink::keeps_distance() noexcept {
  const std::uint64_t next_ns = pace_.next_ns();
  if (next_ns == 0 || meetings_under_way() > 0) [[likely]]
    return false;
  if (clock_.now_ns() < next_ns) return true;
  pace_.hurry();
  return false;
}

int TcpLink::handle_events(FrameSink& sink) noexcept {
  int events = 0;
  if (keeps_distance() || guess(sink, events)) return events;
  // Only strangers can come: others than the first ranks of nodes hardly ever talk by TCP.
  if (unsettled_.empty() && meetings_under_way() == 0 && ++unlooked_ < kLonelyLooks) return 0;
  unlooked_ = 0;
  epoll_event found[kEventsMax];
  const int count = ::epoll_wait(epoll_.fd(), found, kEventsMax, 0);
  ++counters_.socket_calls;
  for (int i = 0; i < count; ++i) {
    const auto kind = static_cast<Watch>(found[i].data.u64 >> 32);
    const auto index = static_cast<std::size_t>(found[i].data.u64 & 0xffffffff);
    if (kind == Watch::kListener) {
      accept(index);
      ++events;
    } else if (kind == Watch::kMeeting) {
      if (meetings_[index] != nullptr) step(*meetings_[index]);
      ++events;
    } else if (Peer& p = peer(static_cast<Rank>(index)); p.state == Peer::State::kLive) {
      if ((found[i].events & EPOLLOUT) != 0 && p.write_failure == 0) {
        p.full = false;
        write(p);
      }
      const bool broken = (found[i].events & (EPOLLERR | EPOLLHUP)) != 0;
      if (p.state == Peer::State::kLive && ((found[i].events & EPOLLIN) != 0 || broken)) {
        hear(p, sink, events);
      }
    }
  }
  return events;
}

// Who is lost, then what has ended. Either may post, and so add to both.
int TcpLink::tell(FrameSink& sink) noexcept {
  int events = 0;
  while (!news_.empty() || !finished_.empty()) {
    for (Peer* p : std::exchange(news_, {})) {
      if (!p->life.take_news()) continue;
      log_.info("rank {} is lost: {}", p->rank, p->life.text());
      sink.lost(p->rank, p->life.why());
      ++events;
    }
    for (std::size_t i = 0; i < finished_.size(); ++i) {
      const Finished f = std::exchange(finished_[i], {});
      if (f.completion == nullptr) continue;
      f.completion->complete(f.status);
      ++events;
    }
    finished_.clear();
  }
  return events;
}

std::string TcpLink::describe(Rank rank) const {
  const Peer* p = find(rank);
  if (p == nullptr) return "not connected";
  switch (p->state) {
    case Peer::State::kApart:
      return "not connected";
    case Peer::State::kConnecting:
      return p->tried.empty() ? "connecting" : fmt::format("connecting ({})", p->tried);
    case Peer::State::kLive:
      return text(p->reached);
    case Peer::State::kOver:
      return p->life.went_quietly() ? "has left the job" : "lost: " + p->life.text();
  }
  return "";
}

std::string TcpLink::listeners_text() const {
  std::string all;
  for (std::size_t i = 0; i < interfaces_.size(); ++i) {
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", text(contact_.addresses[i]),
                       interfaces_[i].name);
  }
  return all;
}

std::string TcpLink::interface() const {
  return interfaces_.empty() ? "" : interfaces_.front().name;
}

int TcpLink::socket_of(Rank rank) const noexcept {
  const Peer* p = find(rank);
  return p != nullptr ? p->socket.fd() : -1;
}

}  // namespace espalier::net
