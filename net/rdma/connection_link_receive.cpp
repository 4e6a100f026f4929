// ConnectionLink: what comes from the adapter.
// path: data
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {

// Between the reader and the protocol above: a frame that comes closes its landing.
class ConnectionLink::Intake final : public net::FrameSink {
 public:
  Intake(ConnectionLink& link, Peer& peer) noexcept : link_(link), peer_(peer) {}

  std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override {
    link_.frame_begun(peer_, header);
    peer_.arriving = true;
    return link_.sink_->begin(from, header);
  }
  void end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept override {
    peer_.arriving = false;
    link_.sink_->end(from, header, payload);
    if (peer_.read_waits && !peer_.life.lost()) link_.deliver_read(peer_);
  }
  void lost(Rank, const Status&) noexcept override {}  // readers lose nobody

 private:
  ConnectionLink& link_;
  Peer& peer_;
};

ConnectionLink::Peer* ConnectionLink::on(ConnectionId connection) const noexcept {
  const auto index = static_cast<std::size_t>(connection);
  return index < by_connection_.size() ? by_connection_[index] : nullptr;
}

void ConnectionLink::violation(Peer& peer, std::string what) noexcept {
  lose(peer.rank,
       error(ESP_ERR_NETWORK,
             fmt::format("rank {} sent what no rank of this version sends: {}", peer.rank, what),
             peer.rank));
}

std::uint64_t ConnectionLink::most_bytes(net::FrameKind kind) const noexcept {
  return options_.payload_max + (kind == net::FrameKind::kRelayed ? net::kRelayPrefixBytes : 0);
}

// Something has come on the peer's connection, with credits. False: it is not to be looked at.
bool ConnectionLink::heard(Peer& peer, std::uint32_t credits) noexcept {
  const bool waited = !peer.handshake.up();
  peer.life.heard();
  if (!peer.broken) peer.handshake.heard();
  if (waited && peer.handshake.up()) go(peer);
  peer.rebuilds = 0;
  if (!peer.credits.earn(credits)) {
    violation(peer, fmt::format("{} credits too many", credits));
    return false;
  }
  if (!peer.credits.consumed()) {
    violation(peer, "more messages than it was granted");
    return false;
  }
  if (peer.wants_to_send()) mark(peer);
  return true;
}

// Adapters deliver once and in order, but Soft-RoCE repeats and skips when acknowledgements are
// late (docs/verbs.md). A repetition is left out. After a gap, which the next arrival shows, the
// connection is made anew, and both sides say how far they have come.
bool ConnectionLink::in_order(Peer& peer, int ahead) noexcept {
  if (ahead == 0) return true;
  ++statistics_.out_of_order;
  if (ahead > 0 && !peer.broken) {
    port_.stop(*peer.connection);
    broken(*peer.connection, Fault::kOutOfSequence);
  }
  return ESP_PLANT(69, false, ahead < 0);
}

void ConnectionLink::received(ConnectionId from, Packet& packet) noexcept {
  Peer* peer = on(from);
  if (peer != nullptr && !peer->life.lost()) {
    take(*peer, {packet.data, packet.bytes});
  }
  port_.repost(packet);
}

void ConnectionLink::received_immediate(ConnectionId from, Packet& packet,
                                        std::uint32_t immediate) noexcept {
  Peer* peer = on(from);
  if (peer != nullptr && !peer->life.lost()) {
    take_headless(*peer, Headless(immediate), {packet.data, packet.bytes});
  }
  port_.repost(packet);
}

void ConnectionLink::take(Peer& peer, std::span<const std::byte> message) noexcept {
  auto head = parse_head(message);
  if (!head) return violation(peer, head.error().text);
  const bool counted = head->kind == MessageKind::kFrames || head->kind == MessageKind::kGoodbye ||
                       head->kind == MessageKind::kFetched;
  const auto expected = counted ? static_cast<std::uint32_t>(peer.expected) : peer.remark_expected;
  if (!in_order(peer, static_cast<std::int32_t>(head->number - expected))) return;
  if (!heard(peer, head->credits)) return;
  peer.expected += counted ? 1 : 0;
  peer.remark_expected += counted ? 0 : 1;
  const auto body = message.subspan(MessageHead::kBytes);
  switch (head->kind) {
    case MessageKind::kFrames:
      return take_frames(peer, body, head->keep);
    case MessageKind::kGoodbye:
      return take_goodbye(peer, body);
    case MessageKind::kAnnounce:
      return take_offers(peer, body);
    case MessageKind::kRetire:
      return take_retirement(peer, body);
    case MessageKind::kReadable:
      return take_readable(peer, body);
    case MessageKind::kFetched:
      return take_answer(peer, body);
    case MessageKind::kCredits:
      return;
  }
}

void ConnectionLink::take_goodbye(Peer& peer, std::span<const std::byte> body) noexcept {
  if (peer.arriving) return violation(peer, "a goodbye inside a frame");
  if (body.size() != sizeof peer.got) return violation(peer, "a goodbye of another length");
  std::uint64_t got = 0;
  std::memcpy(&got, body.data(), sizeof got);
  if (got == 0 || got > peer.next) {
    return violation(peer, fmt::format("a goodbye that awaits message {} of {}", got, peer.next));
  }
  peer.life.leave();
  peer.got = got;
}

// `keep`: as in a head.
void ConnectionLink::take_frames(Peer& peer, std::span<const std::byte> frames,
                                 std::uint32_t keep) noexcept {
  Intake intake(*this, peer);
  if (peer.life.has_left()) return violation(peer, "a frame after its goodbye");
  const bool begins = !peer.arriving;
  copied_out(frames.size());
  if (auto wrong = peer.reader.take(peer.rank, frames, options_.payload_max, intake)) {
    return violation(peer, std::move(wrong->text));
  }
  if (keep == 0 || peer.life.lost()) return;
  const net::FrameHeader& header = peer.reader.last();
  const bool alone = begins && frames.size() == net::kFrameHeaderBytes + header.bytes;
  if (!alone || header.kind != net::FrameKind::kSegment) {
    return violation(peer, "a header to keep that is not a segment's of its own");
  }
  peer.heard.keep(keep - 1, header);
}

// A segment without its header.
void ConnectionLink::take_headless(Peer& peer, const Headless& what,
                                   std::span<const std::byte> payload) noexcept {
  const auto ahead = what.number - static_cast<std::uint8_t>(peer.expected);
  if (!in_order(peer, static_cast<std::int8_t>(ahead))) return;
  if (!heard(peer, what.credits)) return;
  ++peer.expected;
  auto header = peer.heard.follow(what.slot, what.step);
  if (!header || peer.arriving || peer.life.has_left() ||
      payload.size() > most_bytes(header->kind)) {
    return violation(peer,
                     fmt::format("{} bytes that follow header {}", payload.size(), what.slot));
  }
  header->bytes = payload.size();
  header->synchronous = what.synchronous;
  copied_out(payload.size());
  Intake intake(*this, peer);
  std::byte* to = intake.begin(peer.rank, *header);
  if (peer.life.lost()) return;
  ESP_ASSERT(to != nullptr || payload.empty());
  if (!payload.empty()) copy_bytes(to, payload.data(), payload.size());
  intake.end(peer.rank, *header, to);
}

void ConnectionLink::take_offers(Peer& peer, std::span<const std::byte> body) noexcept {
  if (body.empty() || body.size() % Announcement::kBytes != 0) {
    return violation(peer, fmt::format("announcements of {} bytes", body.size()));
  }
  for (; !body.empty(); body = body.subspan(Announcement::kBytes)) {
    auto offer = parse_announcement(body.first<Announcement::kBytes>(), options_.payload_max);
    if (!offer) return violation(peer, offer.error().text);
    const bool useful = offer->frame.bytes > 0 && offer->serial == 0 &&
                        offer->frame.kind == net::FrameKind::kSegment;
    if (!useful || !peer.offers.put(*offer)) {
      return violation(peer, fmt::format("slot {} announced twice, or for nothing", offer->slot));
    }
  }
}

void ConnectionLink::take_retirement(Peer& peer, std::span<const std::byte> body) noexcept {
  std::uint32_t slot = 0;
  if (body.size() != sizeof slot) return violation(peer, "a retirement of another length");
  std::memcpy(&slot, body.data(), sizeof slot);
  if (!peer.offers.retire(slot)) violation(peer, fmt::format("slot {} was not announced", slot));
}

void ConnectionLink::placed(ConnectionId from, std::uint32_t immediate, std::uint32_t) noexcept {
  Peer* known_peer = on(from);
  if (known_peer == nullptr || known_peer->life.lost()) return;
  Peer& peer = *known_peer;
  const Placement placement(immediate);
  const auto ahead = placement.number - static_cast<std::uint8_t>(peer.expected);
  if (!in_order(peer, static_cast<std::int8_t>(ahead))) return;
  if (!heard(peer, placement.credits)) return;
  if (placement.slot == Placement::kPutSlot) {
    if (peer.life.has_left()) return violation(peer, "a put after its goodbye");
    ++peer.expected;
    ++statistics_.puts_taken;
    return;
  }
  Landing* landing = peer.landings == nullptr ? nullptr : peer.landings->at(placement.slot);
  const bool awaited = landing != nullptr && (landing->state == Landing::State::kAnnounced ||
                                              landing->state == Landing::State::kRetracted);
  if (!awaited || peer.arriving || peer.life.has_left()) {
    return violation(peer, fmt::format("a placement in slot {}", placement.slot));
  }
  ++peer.expected;
  net::FrameHeader header = landing->frame;
  header.synchronous = placement.synchronous;
  // Where it was retracted, what came before is in the copy.
  const std::byte* stands = landing->copy ? landing->copy.get() : landing->memory;
  const auto copy = std::move(landing->copy);
  close_landing(peer, *landing);
  if (peer.landings->due()) mark(peer);
  deliver(peer, header, stands);
}

// A whole frame that the adapter has brought.
void ConnectionLink::deliver(Peer& peer, const net::FrameHeader& header,
                             const std::byte* stands) noexcept {
  peer.arriving = true;
  std::byte* payload = sink_->begin(peer.rank, header);
  if (peer.life.lost()) return;
  if (payload != stands) copy_bytes(payload, stands, header.bytes);
  peer.arriving = false;
  sink_->end(peer.rank, header, payload);
}

void ConnectionLink::completed(ConnectionId on_connection, std::uint64_t cookie) noexcept {
  Peer* peer = on(on_connection);
  if (peer == nullptr) return;
  peer->rebuilds = 0;
  mark(*peer);
  const bool known_cookie = peer->sent.complete(cookie, [&](Record record) {
    if (record.number != 0) peer->acknowledged = record.number + 1;
    peer->part.passed(record.bytes);
    complete(*peer, record);
  });
  ESP_ASSERT(known_cookie);
}

void ConnectionLink::broken(ConnectionId which, Fault why) noexcept {
  Peer* peer = on(which);
  if (peer == nullptr || peer->broken) return;
  peer->broken = true;
  peer->why = why;
  statistics_.not_ready += why == Fault::kReceiverNotReady ? 1 : 0;
  bool large = false;
  peer->sent.for_each([&](const Record& one) { large = large || one.bytes > PartSize::kLeast; });
  if (large) peer->part.broke();
  if (!peer->owes_nothing()) early_.note(*peer, clock_);
  trouble(*peer);
}

// What failed is kept until the peer says how far it has come.
void ConnectionLink::failed(ConnectionId, std::uint64_t, Fault) noexcept {}

// The frame comes as a message: its place is not needed.
void ConnectionLink::frame_begun(Peer& peer, const net::FrameHeader& header) noexcept {
  const bool segment =
      header.kind == net::FrameKind::kSegment || header.kind == net::FrameKind::kAway;
  if (peer.landings == nullptr || !segment) return;
  Landing* landing = peer.landings->find(header.flow, header.ordinal);
  if (landing == nullptr) return;
  if (landing->state == Landing::State::kPulled) return violation(peer, "a frame to be read");
  const bool offered =
      landing->state == Landing::State::kAnnounced || landing->state == Landing::State::kRetracted;
  if (ESP_PLANT(65, offered, false)) peer.retired.push_back(peer.landings->slot(*landing));
  mark(peer);
  close_landing(peer, *landing);
}

void ConnectionLink::came_otherwise(Rank from, const net::FrameHeader& header) noexcept {
  if (Peer* peer = known(from)) frame_begun(*peer, header);
}

void ConnectionLink::close_landing(Peer& peer, Landing& landing) noexcept {
  memory_.end(landing.lease);
  peer.landings->become(landing, Landing::State::kFree);
}

}  // namespace espalier::rdma
