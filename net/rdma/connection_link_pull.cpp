// ConnectionLink: large frames that their receiver reads (net/rdma/pulls.hpp).
// path: data
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/plant.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {
namespace {

enum How : std::uint32_t { kHasBeenRead = 1, kSendIt = 2 };
struct Answer {
  std::uint32_t slot = 0, how = 0;
};

bool suits(const Landing& landing, const Pull& pull) noexcept {
  const net::FrameHeader &expected = landing.frame, &frame = pull.frame;
  const bool free =
      landing.state == Landing::State::kWanted || landing.state == Landing::State::kAnnounced;
  return free && expected.bytes == frame.bytes && expected.signature == frame.signature &&
         expected.total == frame.total;
}

}  // namespace

// ---- The sender

// This frame may be offered, as far as can be said without its memory.
bool ConnectionLink::may_be_pulled(const Peer& peer, const Post& post) const noexcept {
  return post.bytes >= options_.pull_from_bytes && !post.begun && !post.unreadable &&
         post.header.kind == net::FrameKind::kSegment && !peer.life.goodbye_due();
}

// The front of the queue is offered instead of sent. False: it has to be sent.
bool ConnectionLink::offer_reading(Peer& peer, Batch& batch) noexcept {
  Post& post = *peer.posts.front();
  if (!post.lease) post.lease = memory_.lease(post.payload, post.bytes, Use::kRead);
  if (!post.lease || !peer.readables.put(post)) {
    post.unreadable = true;
    return false;
  }
  (void)peer.posts.pop_front();
  tell_readables(peer, batch);
  return true;
}

// Of all that the peer does not know on this connection, as far as there are credits. Behind what
// is sent again: small frames are not overtaken.
void ConnectionLink::tell_readables(Peer& peer, Batch& batch) noexcept {
  if (!peer.resend.empty()) return;
  while (peer.readables.any_untold() && peer.credits.may_send() && !peer.sent.full()) {
    std::array<std::byte, MessageHead::kBytes + Announcement::kBytes> message;
    Announcement offer;
    offer.slot = peer.readables.untold();
    const auto& slot = peer.readables.told(offer.slot);
    offer.serial = slot.serial;
    offer.frame = slot.post->header;
    if (slot.readable) {
      offer.memory.address = reinterpret_cast<std::uint64_t>(slot.post->payload);
      offer.memory.key = slot.post->lease.region.remote_key;
    }
    write_announcement(offer, &message[MessageHead::kBytes]);
    send_small(peer, message, MessageKind::kReadable, batch);
    ++statistics_.offered;
  }
}

// The receiver is to ask for all of them: this rank leaves and waits for no receive.
void ConnectionLink::recall_readables(Peer& peer) noexcept {
  peer.readables.for_each([&](std::uint32_t index, auto& slot) {
    if (slot.readable) peer.readables.make_unreadable(index);
  });
}

void ConnectionLink::take_answer(Peer& peer, std::span<const std::byte> body) noexcept {
  Answer answer;
  if (body.size() != sizeof answer) return violation(peer, "an answer of another length");
  std::memcpy(&answer, body.data(), sizeof answer);
  Post* post = nullptr;
  if (answer.how == kHasBeenRead || answer.how == kSendIt) post = peer.readables.take(answer.slot);
  if (post == nullptr) {
    return violation(peer, fmt::format("answer {} for slot {}", answer.how, answer.slot));
  }
  mark(peer);
  if (answer.how == kHasBeenRead) {
    ++statistics_.frames;
    return finish(*post, {});
  }
  post->unreadable = true;
  peer.posts.push_back(*post);
}

// ---- The receiver

void ConnectionLink::take_readable(Peer& peer, std::span<const std::byte> body) noexcept {
  if (body.size() != Announcement::kBytes) return violation(peer, "an offer of another length");
  auto offer = parse_announcement(body.first<Announcement::kBytes>(), options_.payload_max);
  if (!offer) return violation(peer, offer.error().text);
  const net::FrameHeader& frame = offer->frame;
  const bool sense = offer->slot < kPullSlots && frame.kind == net::FrameKind::kSegment &&
                     frame.bytes > 0 && !peer.life.has_left();
  if (!sense) return violation(peer, fmt::format("an offer in slot {}", offer->slot));
  if (peer.pulls == nullptr) peer.pulls = std::make_unique<Pulls>();
  using State = Pull::State;
  Pull& pull = peer.pulls->at(offer->slot);
  const bool again = pull.known && pull.serial == offer->serial;
  // Answered before the connection broke: the sender hears of it yet.
  if (again && ESP_PLANT(76, pull.state == State::kAnswered, false)) return;
  if (!again && pull.state != State::kAnswered) {
    return violation(peer, fmt::format("slot {} offered twice", offer->slot));
  }
  if (again && !(pull.frame == frame)) return violation(peer, "another frame in its slot");
  const auto unanswered = [&](const Peer::PullAnswer& one) { return one.slot == offer->slot; };
  if (!again && std::any_of(peer.answers.begin(), peer.answers.end(), unanswered)) {
    return violation(peer, fmt::format("slot {} offered before its answer", offer->slot));
  }
  if (!again && peer.pulls->find(frame.flow, frame.ordinal) != nullptr) {
    return violation(peer, "a frame offered twice");
  }
  const bool under_way = pull.state == State::kReading || pull.state == State::kRead;
  if (under_way) return;
  pull.known = true;
  pull.serial = offer->serial;
  pull.frame = frame;
  pull.memory = offer->memory;
  if (!again) pull.landing = nullptr;
  pull.state = State::kOffered;
  consider(peer, pull);
}

// What becomes of an offer that waits: it is read into its landing, asked for, or waits on.
void ConnectionLink::consider(Peer& peer, Pull& pull) noexcept {
  if (pull.memory.key == 0 && pull.memory.address == 0) return answer_pull(peer, pull, kSendIt);
  if (pull.landing == nullptr) {
    Landing* landing = peer.landings == nullptr
                           ? nullptr
                           : peer.landings->find(pull.frame.flow, pull.frame.ordinal);
    if (landing == nullptr) {
      // A receive that has no landing: its memory is none for the adapter.
      if (sink_ != nullptr && sink_->expects(peer.rank, pull.frame)) {
        answer_pull(peer, pull, kSendIt);
      }
      return;
    }
    // A mismatch is told when the frame comes.
    if (!suits(*landing, pull)) return answer_pull(peer, pull, kSendIt);
    land(peer, pull, *landing);
  }
  pull.state = Pull::State::kWanted;
  mark(peer);
}

// The landing is the pull's from here on.
void ConnectionLink::land(Peer& peer, Pull& pull, Landing& landing) noexcept {
  if (landing.state == Landing::State::kAnnounced) {
    peer.retired.push_back(peer.landings->slot(landing));
  }
  peer.landings->become(landing, Landing::State::kPulled);
  pull.landing = &landing;
}

// A receive is posted, with a landing if the adapter may write its memory. If its frame is offered
// it is read or asked for.
void ConnectionLink::meet(Peer& peer, const net::FrameHeader& expected, Landing* landing) noexcept {
  Pull* pull = peer.pulls->find(expected.flow, expected.ordinal);
  if (pull == nullptr || pull->landing != nullptr) return;
  if (pull->state != Pull::State::kStale) {
    if (landing == nullptr) return answer_pull(peer, *pull, kSendIt);
    return consider(peer, *pull);
  }
  // When it has been told again.
  if (landing != nullptr && suits(*landing, *pull)) land(peer, *pull, *landing);
}

void ConnectionLink::answer_pull(Peer& peer, Pull& pull, std::uint32_t how) noexcept {
  if (Landing* landing = std::exchange(pull.landing, nullptr)) {
    // It may be announced now.
    if (how == kSendIt) peer.landings->become(*landing, Landing::State::kWanted);
  }
  pull.state = Pull::State::kAnswered;
  peer.answers.push_back({peer.pulls->slot(pull), how});
  mark(peer);
}

// Counted messages, each in a packet.
void ConnectionLink::send_answers(Peer& peer, Batch& batch) noexcept {
  std::size_t sent = 0;
  // Retirements first: what is sent again must not go to a place that is no more.
  const bool may = peer.retired.empty();
  while (may && sent < peer.answers.size() && peer.credits.may_send() && !peer.sent.full()) {
    Packet* packet = take_packet(peer);
    if (packet == nullptr) break;
    const auto [slot, how] = peer.answers[sent++];
    const Answer answer = {slot, how};
    std::memcpy(packet->data + MessageHead::kBytes, &answer, sizeof answer);
    packet->bytes = MessageHead::kBytes + sizeof answer;
    send_message(peer, *packet, MessageKind::kFetched, batch);
  }
  peer.answers.erase(peer.answers.begin(),
                     peer.answers.begin() + static_cast<std::ptrdiff_t>(sent));
}

// Reads what is wanted, a quarter of the queue at a time: other things want to go, too.
void ConnectionLink::read_wanted(Peer& peer, Batch& batch) noexcept {
  if (peer.pulls == nullptr) return;
  const std::uint32_t most = std::max(1U, port_.send_depth() / 4);
  while (!peer.sent.full() && peer.reads_open < most) {
    if (peer.reading == nullptr) {
      peer.reading = peer.pulls->find(Pull::State::kWanted);
      if (peer.reading == nullptr) return;
      peer.reading->state = Pull::State::kReading;
      peer.read_offset = 0;
    }
    Pull& pull = *peer.reading;
    Transfer what;
    what.bytes = std::min(pull.frame.bytes - peer.read_offset, peer.part.bytes());
    what.local = pull.landing->memory + peer.read_offset;
    what.region = &pull.landing->lease.region;
    const RemoteMemory from = {pull.memory.address + peer.read_offset, pull.memory.key};
    peer.read_offset += what.bytes;
    Record record;
    record.what = Record::What::kRead;
    record.bytes = static_cast<std::uint32_t>(what.bytes);
    if (peer.read_offset == pull.frame.bytes) {
      record.pull = &pull;
      peer.reading = nullptr;
    }
    ++peer.reads_open;
    // The last that may be under way is reported, or nobody would go on.
    track(peer, record, record.pull != nullptr || peer.reads_open == most, what);
    batch.read(what, from);
  }
}

// All of it stands there. Frames of a peer begin and end one after another.
void ConnectionLink::has_been_read(Peer& peer, Pull& pull) noexcept {
  if (pull.state != Pull::State::kReading) return;
  pull.state = Pull::State::kRead;
  peer.read_waits = true;
  if (ESP_PLANT(77, !peer.arriving, true)) deliver_read(peer);
}

void ConnectionLink::deliver_read(Peer& peer) noexcept {
  peer.read_waits = false;
  while (Pull* pull = peer.life.lost() ? nullptr : peer.pulls->find(Pull::State::kRead)) {
    Landing& landing = *std::exchange(pull->landing, nullptr);
    net::FrameHeader header = landing.frame;
    header.synchronous = pull->frame.synchronous;
    const std::byte* stands = landing.memory;
    close_landing(peer, landing);
    answer_pull(peer, *pull, kHasBeenRead);
    ++statistics_.pulled;
    tell(&Counters::segments_read);
    deliver(peer, header, stands);
  }
}

// The receive is cancelled: its memory is no place to read into any more. True: it was one, and
// nothing is read there from here on. The frame waits for another receive.
bool ConnectionLink::retract_pull(Peer& peer, Landing& landing) noexcept {
  Pull* pull = peer.pulls == nullptr ? nullptr : peer.pulls->find(&landing);
  if (pull == nullptr) return false;
  using State = Pull::State;
  if (pull->state == State::kReading) {
    stop(peer);
    trouble(peer);
  }
  pull->landing = nullptr;
  if (pull->state == State::kReading) pull->state = State::kStale;
  if (pull->state == State::kWanted) pull->state = State::kOffered;
  // Its sender may not wait for a next receive: what it has said of the offer since was not heeded.
  if (pull->state == State::kRead) answer_pull(peer, *pull, kSendIt);
  close_landing(peer, landing);
  return true;
}

// The connection is closed: offers are told again, and what was being read is read again.
void ConnectionLink::forget_reads(Peer& peer) noexcept {
  peer.readables.untell();
  peer.reading = nullptr;
  peer.reads_open = 0;
  if (peer.pulls == nullptr) return;
  peer.pulls->for_each([](Pull& pull) {
    const bool waits = pull.state != Pull::State::kAnswered && pull.state != Pull::State::kRead;
    if (waits) pull.state = Pull::State::kStale;
  });
}

}  // namespace espalier::rdma
