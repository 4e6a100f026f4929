// DatagramLink: what comes in.
// path: data
#include <utility>

#include "core/plant.hpp"
#include "net/rdma/datagram_link.hpp"

namespace espalier::rdma {

void DatagramLink::arrived(Packet& packet) noexcept {
  ++counts_.packets_received;
  PacketHeader header;
  const std::span<const std::byte> bytes(packet.data, packet.bytes);
  const Refused refused = parse_packet(bytes, me_, header);
  if (refused != Refused::kNo) {
    ++counts_.refused[static_cast<std::size_t>(refused)];
    return port_.give(packet);
  }
  Peer& peer = peer_of(header.from);
  if (peer.life.lost()) {
    if (header.flags != kRefusal) refuse(peer);
    return port_.give(packet);
  }
  peer.heard_ns = now_ns_;
  peer.probing = false;
  peer.life.heard();
  if (header.flags == kRefusal) {
    give_up(peer, error(ESP_ERR_PEER_DIED, "it has given this rank up, or has gone"));
    return port_.give(packet);
  }
  take_acknowledgement(peer, header.ack);
  if (header.flags == kLetter) {
    if (box_ != nullptr) box_->letter(peer.rank, payload_of(bytes));
  }
  if ((header.flags & kProbe) != 0) {
    peer.receive.answer_at_once();
    make_ready(peer);
  }
  if ((header.flags & kData) != 0) {
    take_data(peer, header, packet);
  } else {
    port_.give(packet);
  }
  set_alarm(peer);
}

void DatagramLink::take_acknowledgement(Peer& peer, const Acknowledgement& ack) noexcept {
  release(peer.send.acknowledge(ack, now_ns_, options_.round_trip));
  const bool waits = peer.has_posts() || peer.life.goodbye_due();
  if ((waits && peer.send.open()) || peer.send.lost() != nullptr) make_ready(peer);
}

void DatagramLink::release(Flight* done) noexcept {
  while (done != nullptr) {
    Flight* flight = std::exchange(done, done->next);
    port_.give(*flight->packet);
    flights_.release(flight);
  }
}

void DatagramLink::take_data(Peer& peer, const PacketHeader& header, Packet& packet) noexcept {
  const Sequence before = peer.receive.expected();
  switch (peer.receive.arrived(header.sequence, packet, now_ns_, options_.answer_delay_ns)) {
    case ReceiveWindow::Verdict::kRefuse:
      ++counts_.useless;
      if (!header.sequence.before(peer.receive.limit())) ++counts_.forbidden;
      port_.give(packet);
      break;
    case ReceiveWindow::Verdict::kHeld:
      ++counts_.held;
      if (ESP_PLANT(49, false, true)) port_.give(packet);
      break;
    case ReceiveWindow::Verdict::kNext:
      hand_on(peer, packet);
      while (Packet* held = peer.life.lost() ? nullptr : peer.receive.pop_held()) {
        hand_on(peer, *held);
      }
      break;
  }
  budget_.use(static_cast<std::uint32_t>(peer.receive.expected() - before));
  if (peer.life.lost() || peer.receive.answer_ns() == kNever) return;
  if (peer.receive.answer_ns() <= now_ns_) {
    make_ready(peer);
  } else if (!peer.answer.linked()) {
    answers_.push_back(peer.answer);
  }
}

// A packet whose turn it is.
void DatagramLink::hand_on(Peer& peer, Packet& packet) noexcept {
  const std::span<const std::byte> bytes(packet.data, packet.bytes);
  if (peer.life.has_left()) {
    lose(peer.rank, error(ESP_ERR_NETWORK, "bad packet: it follows a goodbye", peer.rank));
  } else if (!says_goodbye(bytes)) {
    const std::span<const std::byte> payload = payload_of(bytes);
    copied(counts_.copied_out_bytes, payload.size());
    const auto wrong = peer.reader.take(peer.rank, payload, options_.payload_max, *sink_);
    if (wrong) lose(peer.rank, *wrong);
  } else if (peer.reader.inside()) {
    lose(peer.rank, error(ESP_ERR_NETWORK, "bad packet: a goodbye inside a frame", peer.rank));
  } else {
    peer.life.leave();
    peer.receive.answer_at_once();
  }
  port_.give(packet);
}

}  // namespace espalier::rdma
