// DatagramLink: posts, progress, timers.
// path: data
#include "net/rdma/datagram_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/plant.hpp"

namespace espalier::rdma {
namespace {

// How often a peer is asked before its silence counts.
constexpr std::uint32_t kAttemptsMin = 5;
// When both have said goodbye, the one that waits for the last acknowledgement does not wait long:
// the other may be gone.
constexpr std::uint32_t kLastAttempts = 4;
constexpr std::uint64_t kProbesPerGiveUp = 8;
// Who has said goodbye is about to end and computes no more: silent for so long, it has gone.
constexpr std::uint64_t kLeftNs = 10'000'000'000;
// Between looks for a path: doubled each time.
constexpr std::uint64_t kPathFirstNs = 1'000'000, kPathDoublings = 10;

}  // namespace

DatagramPeer::Alarm::Alarm(DatagramPeer& owner) noexcept
    : Timer([](Timer& self, std::uint64_t now_ns) noexcept {
        DatagramPeer& rung = static_cast<Alarm&>(self).peer;
        rung.link.on_alarm(rung, now_ns);
      }),
      peer(owner) {}

DatagramLink::DatagramLink(DatagramPort& port, Clock& clock, const AddressBook& book,
                           const DatagramLinkOptions& options)
    : port_(port),
      clock_(clock),
      book_(book),
      options_(options),
      me_{options.me.epoch, options.me.rank, options.me.ranks, port.intact()},
      packet_bytes_(port.packet_bytes()),
      budget_(port.receive_depth()),
      posts_({64, options.posts_max}) {
  ESP_ASSERT(port.packet_bytes() >= kPacketOverhead + net::kFrameHeaderBytes);
  ESP_ASSERT(port.packet_bytes() <= kPacketOverhead + UINT16_MAX);
  for (Packet*& spare : spares_) spare = port_.take();
}

DatagramLink::~DatagramLink() {
  peers_.for_each([&](Rank, Peer& peer) {
    if (peer.linked()) peer.unlink();
    timers_.cancel(peer.alarm);
    if (peer.answer.linked()) peer.answer.unlink();
    while (FramePost* post = peer.posts) {
      peer.posts = post->next;
      posts_.release(post);
    }
    drop_contents(peer);
  });
  for (Packet* spare : spares_) {
    if (spare != nullptr) port_.give(*spare);
  }
}

net::LinkCaps DatagramLink::caps(Rank) const noexcept {
  net::LinkCaps caps;
  caps.inline_bytes = FramePost::kInlineBytes;
  return caps;
}

DatagramLink::Peer& DatagramLink::peer_of(Rank rank) noexcept {
  if (Peer* peer = known(rank)) return *peer;
  Peer& peer = add(rank);
  open(peer);
  return peer;
}

DatagramLink::Peer& DatagramLink::add(Rank rank) noexcept {
  Peer& peer = peers_.meet(rank, std::make_unique<Peer>(*this, rank, options_.first));
  budget_.add_peer();
  peer.heard_ns = now();
  const bool parted = std::find(parted_.begin(), parted_.end(), rank) != parted_.end();
  if (parts_ || parted) peer.life.part();
  return peer;
}

void DatagramLink::open(Peer& peer) noexcept {
  if (!port_fault_.ok()) return give_up(peer, adapter_failed());
  peer.probing_since_ns = peer.heard_ns;
  find_path(peer);
  if (peer.life.goodbye_due()) make_ready(peer);
}

// What the system refuses now it may grant later. Where no call has failed it is the address that
// is wrong, and stays so.
void DatagramLink::find_path(Peer& peer) noexcept {
  const auto path = path_to(peer);
  const std::uint64_t now_ns = now();
  if (path) {
    peer.path = path.value();
    peer.reachable = true;
    peer.probes = 0;
    peer.heard_ns = now_ns;  // Its silence begins.
    return set_alarm(peer);
  }
  ++counts_.no_path;
  const int number = path.error().status.error_number();
  const std::uint64_t waited_ns = elapsed_ns(peer.probing_since_ns, now_ns);
  if (number == 0 || waited_ns >= options_.give_up_ns) {
    return give_up(peer,
                   error(ESP_ERR_NETWORK, "no path: " + path.error().text, peer.rank, number));
  }
  peer.life.note(path.error().text);
  if (peer.probes < kPathDoublings) ++peer.probes;
  peer.next_probe_ns = now_ns + (kPathFirstNs << (peer.probes - 1));
  set_alarm(peer);
}

Result<PathId> DatagramLink::path_to(Peer& peer) noexcept {
  peer.tried = true;
  const auto address = book_.address_of(peer.rank);
  if (!address) return error(ESP_ERR_NETWORK, address.error().text);
  return port_.open_path(address.value());
}

void DatagramLink::make_ready(Peer& peer) noexcept {
  untried_ = true;
  if (!peer.linked()) ready_.push_back(peer);
}

Posted DatagramLink::post(Rank rank, const net::FrameHeader& header, const void* payload,
                          Completion& completion) noexcept {
  Peer& peer = peer_of(rank);
  if (peer.life.lost()) miss(peer);
  if (!peer.life.takes_posts()) return Posted::kDone;
  if (header.bytes <= FramePost::kInlineBytes && pack_now(peer, header, payload)) {
    send_unless_in_company(peer);
    return Posted::kDone;
  }
  FramePost* post = posts_.allocate(header, payload);
  if (post == nullptr) return Posted::kRetry;
  const bool first = peer.posts == nullptr;
  (first ? peer.posts : peer.last_post->next) = post;
  peer.last_post = post;
  const bool filled = first && (peer.filling != nullptr || peer.send.open()) && fill(peer);
  if (filled) {
    send_unless_in_company(peer);
  } else {
    make_ready(peer);
  }
  if (first && peer.posts == nullptr) return Posted::kDone;
  if (post->bytes - post->packed <= FramePost::kInlineBytes) {
    post->keep_inline();
    return Posted::kDone;
  }
  post->completion = &completion;
  return Posted::kPending;
}

// A packet that is full goes at once, and so does one that nothing in flight can wait for (Nagle,
// RFC 896); others wait for company until the next progress().
void DatagramLink::send_unless_in_company(Peer& peer) noexcept {
  if (peer.posts != nullptr || peer.send.idle()) {
    // Most often one small frame.
    (void)(peer.posts == nullptr && peer.send.open() ? send_filling(peer) : send_frames(peer));
    if (sink_ == nullptr) port_.flush();
  }
  if (peer.has_posts()) make_ready(peer);
}

void DatagramLink::withdraw(Rank rank, Completion& completion) noexcept {
  Peer* peer = known(rank);
  if (peer == nullptr) return;
  for (FramePost* post = peer->posts; post != nullptr; post = post->next) {
    if (post->completion != &completion) continue;
    post->completion = nullptr;
    if (!ESP_PLANT(48, post->keep_copy(), true)) {
      give_up(*peer, error(ESP_ERR_NETWORK, "no memory for a frame that was taken back"));
    }
    return;
  }
  Completion* before = nullptr;
  for (Completion* done = complete_; done != nullptr; before = done, done = done->next) {
    if (done != &completion) continue;
    (before == nullptr ? complete_ : before->next) = done->next;
    if (last_complete_ == done) last_complete_ = before;
    return;
  }
}

void DatagramLink::redirect(Rank from, std::byte* payload) noexcept {
  peer_of(from).reader.redirect(payload);
}

// From now on its silence is noticed.
void DatagramLink::reach(Rank rank) noexcept {
  Peer& peer = peer_of(rank);
  if (peer.life.lost()) return miss(peer);
  if (peer.life.parts()) return;
  peer.life.seek();
  if (peer.life.has_left()) set_alarm(peer);
}

int DatagramLink::progress_at(std::uint64_t now_ns, net::FrameSink& sink) noexcept {
  now_ns_ = now_ns;
  sink_ = &sink;
  events_ = 0;
  const int polled = port_fault_.ok() ? port_.poll(*this, kPollBudget) : 0;
  if (polled < 0) {
    port_fault_ = port_.fault();
    give_up_all();
  } else {
    events_ += polled;
  }
  // Answers that have come already count before the timers that wait for them.
  if (polled < kPollBudget) events_ += static_cast<int>(timers_.run_expired(now_ns_));
  run_answers();
  send_ready();
  if (complete_ != nullptr) run_completions();
  if (!dying_.empty()) bury(sink);
  sink_ = nullptr;
  return events_;
}

bool DatagramLink::arm() noexcept {
  if (untried_ || !dying_.empty() || complete_ != nullptr) return false;
  // A broken port has nothing more to tell.
  return !port_fault_.ok() || port_.arm();
}

std::uint64_t DatagramLink::deadline_ns() const noexcept {
  if (untried_ || !dying_.empty() || complete_ != nullptr) return 1;
  const Peer::Answer* answer = answers_.front();
  const std::uint64_t answer_ns = answer != nullptr ? answer->peer.receive.answer_ns() : kNever;
  const std::uint64_t next = std::min(timers_.next_deadline_ns(), answer_ns);
  return next == kNever ? 0 : std::max<std::uint64_t>(next, 1);
}

// The alarm rings when anything is due; what is later now is looked at when it rings.
void DatagramLink::set_alarm(Peer& peer) noexcept {
  if (peer.life.lost()) return;
  std::uint64_t due = peer.reachable ? peer.send.deadline_ns() : peer.next_probe_ns;
  if (peer.reachable && peer.send.idle() && peer.life.silence_is_a_fault()) {
    due = std::min(due, peer.probing ? peer.next_probe_ns : peer.heard_ns + options_.keepalive_ns);
  }
  if (!peer.alarm.idle()) {
    if (peer.alarm.deadline_ns() <= due) return;
    timers_.cancel(peer.alarm);
  }
  if (due != kNever) timers_.add(peer.alarm, due);
}

std::uint64_t DatagramLink::patience_ns(const Peer& peer) const noexcept {
  return peer.life.has_left() ? std::min(options_.give_up_ns, kLeftNs) : options_.give_up_ns;
}

// A job sets the limit by RDMA_SILENCE.
void DatagramLink::give_up_silent(Peer& peer) noexcept {
  const std::uint64_t limit_ns = patience_ns(peer);
  std::string why = fmt::format(
      "it has answered nothing for {} s ({})", static_cast<double>(limit_ns) * 1e-9,
      peer.life.has_left() && limit_ns == kLeftNs ? "it had left the job" : "RDMA_SILENCE");
  // Whose fault that is.
  if (!port_.link_up()) why += "; this rank's own port is down";
  peer.refuse = true;
  give_up(peer, error(ESP_ERR_PEER_DIED, std::move(why), peer.rank));
}

void DatagramLink::on_alarm(Peer& peer, std::uint64_t now_ns) noexcept {
  if (!peer.reachable) {
    if (now_ns < peer.next_probe_ns) return set_alarm(peer);
    find_path(peer);
    return peer.reachable ? make_ready(peer) : void();
  }
  if (peer.send.deadline_ns() <= now_ns) {
    ++counts_.time_outs;
    peer.send.time_out(now_ns, options_.round_trip);
    const std::uint32_t attempts = peer.send.attempts();
    const bool last_word =
        peer.life.has_left() && peer.life.has_said_goodbye() && peer.send.reach() == 1;
    const bool long_enough = now_ns - peer.send.unanswered_since_ns() >= patience_ns(peer);
    if ((attempts >= kAttemptsMin && long_enough) || (last_word && attempts >= kLastAttempts)) {
      return give_up_silent(peer);
    }
    make_ready(peer);
  }
  if (peer.send.idle() && peer.life.silence_is_a_fault()) ask_whether_alive(peer, now_ns);
  set_alarm(peer);
}

// Acknowledgements that have found no company.
void DatagramLink::run_answers() noexcept {
  while (Peer::Answer* first = answers_.front()) {
    if (first->peer.receive.answer_ns() > now_ns_) return;
    first->unlink();
    make_ready(first->peer);
  }
}

// Nothing is under way to the peer whose acknowledgement would say that it lives.
void DatagramLink::ask_whether_alive(Peer& peer, std::uint64_t now_ns) noexcept {
  if (!peer.probing) {
    if (now_ns < peer.heard_ns + options_.keepalive_ns) return;
    peer.probing = true;
    peer.probes = 0;
    peer.probing_since_ns = now_ns;
  } else if (now_ns < peer.next_probe_ns) {
    return;
  }
  const std::uint64_t patience = patience_ns(peer);
  if (peer.probes >= kAttemptsMin && now_ns - peer.probing_since_ns >= patience) {
    return give_up_silent(peer);
  }
  if (peer.probes < UINT8_MAX) ++peer.probes;
  peer.next_probe_ns = now_ns + patience / kProbesPerGiveUp + 1;
  peer.ask = true;
  make_ready(peer);
}

void DatagramLink::run_completions() noexcept {
  while (complete_ != nullptr) {
    Completion& done = *std::exchange(complete_, complete_->next);
    done.next = nullptr;
    ++events_;
    done.complete({});
  }
}

std::string DatagramLink::describe(Rank rank) const {
  const Peer* peer = known(rank);
  if (peer == nullptr) return "datagrams, not used yet";
  if (peer->life.lost()) return "datagrams, lost: " + peer->life.text();
  if (!peer->reachable) return "datagrams, no path yet: " + peer->life.text();
  return fmt::format("datagrams of {} bytes, round trip {:.1f} us, {} packets at a time",
                     port_.packet_bytes(),
                     static_cast<double>(peer->send.round_trip().smoothed_ns()) * 1e-3,
                     peer->send.congestion().window());
}

}  // namespace espalier::rdma
