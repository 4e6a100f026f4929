// DatagramLink: what goes out.
// path: data
#include <algorithm>
#include <cstring>
#include <utility>

#include "net/rdma/datagram_link.hpp"

namespace espalier::rdma {

// Everybody once, with one doorbell for all: who has more than it may send comes back with an
// acknowledgement, whom the port has no room for stays.
void DatagramLink::send_ready() noexcept {
  if (!std::exchange(untried_, false) && ready_.empty()) return port_.flush();
  IntrusiveList<Peer> refused;
  while (Peer* peer = ready_.pop_front()) {
    if (send_all(*peer)) {
      set_alarm(*peer);
    } else {
      refused.push_back(*peer);
    }
  }
  while (Peer* peer = refused.pop_front()) ready_.push_back(*peer);
  port_.flush();
}

bool DatagramLink::send_all(Peer& peer) noexcept {
  if (peer.life.lost()) {
    if (std::exchange(peer.refuse, false)) (void)send_bare(peer, kRefusal, {});
    return true;
  }
  if (!peer.reachable) return true;  // It is ready again when there is a path.
  const bool sent = send_lost(peer) && send_frames(peer) && send_goodbye(peer);
  return send_answer(peer) && sent;
}

bool DatagramLink::send_lost(Peer& peer) noexcept {
  while (Flight* flight = peer.send.lost()) {
    Packet& packet = *flight->packet;
    const bool goodbye = says_goodbye({packet.data, packet.bytes});
    const auto flags = static_cast<std::uint8_t>(kData | (goodbye ? kGoodbye : 0));
    packet.bytes = static_cast<std::uint32_t>(kPacketHeaderBytes +
                                              payload_of({packet.data, packet.bytes}).size());
    const std::uint64_t now_ns = now();
    if (!launch(peer, packet, flags, flight->sequence, now_ns)) return false;
    peer.send.sent_again(*flight, now_ns);
    ++counts_.data_again;
  }
  return true;
}

bool DatagramLink::send_frames(Peer& peer) noexcept {
  while (peer.has_posts() && peer.send.open()) {
    if (!fill(peer) || !send_filling(peer)) return false;
  }
  return true;
}

// The packet that is being filled. Who sends the last that it may send waits for an
// acknowledgement, and asks for it.
bool DatagramLink::send_filling(Peer& peer) noexcept {
  const auto flags = static_cast<std::uint8_t>(peer.send.closing() ? kData | kProbe : kData);
  if (!send_new(peer, *peer.filling, flags)) return false;
  peer.filling = nullptr;
  return true;
}

// False: there is no packet to fill.
bool DatagramLink::begin_packet(Peer& peer) noexcept {
  if (peer.filling != nullptr) return true;
  peer.filling = port_.take();
  if (peer.filling == nullptr) return false;
  peer.filling->bytes = kPacketHeaderBytes;
  return true;
}

// Packs what waits, as far as one packet goes. False: there is no packet.
bool DatagramLink::fill(Peer& peer) noexcept {
  if (!begin_packet(peer)) return false;
  if (peer.posts == nullptr) return true;
  const std::uint32_t before = peer.filling->bytes;
  while (peer.posts != nullptr && peer.posts->pack(*peer.filling, sizeof(ArrivalBits))) {
    FramePost& post = *std::exchange(peer.posts, peer.posts->next);
    finish(post);
  }
  copied(counts_.copied_bytes, peer.filling->bytes - before);
  return true;
}

// A small frame that nothing waits before goes straight into the packet that is being filled.
// False: there is no room, and nothing has been begun.
bool DatagramLink::pack_now(Peer& peer, const net::FrameHeader& header,
                            const void* payload) noexcept {
  if (peer.posts != nullptr || (peer.filling == nullptr && !peer.send.open())) return false;
  const std::uint64_t bytes = net::kFrameHeaderBytes + header.bytes;
  if (kPacketOverhead + bytes > packet_bytes_ || !begin_packet(peer)) return false;
  Packet& packet = *peer.filling;
  if (packet.capacity - packet.bytes < bytes + sizeof(ArrivalBits)) return false;
  const net::FrameBytes head = net::frame_bytes(header);
  std::memcpy(packet.data + packet.bytes, head.data(), head.size());
  if (header.bytes > 0) {
    std::memcpy(packet.data + packet.bytes + head.size(), payload, header.bytes);
  }
  packet.bytes += static_cast<std::uint32_t>(bytes);
  copied(counts_.copied_bytes, bytes);
  return true;
}

// All bytes of the post are in packets.
void DatagramLink::finish(FramePost& post) noexcept {
  if (Completion* done = post.completion) {
    done->next = nullptr;
    (complete_ == nullptr ? complete_ : last_complete_->next) = done;
    last_complete_ = done;
  }
  ++events_;  // there is room for another post
  posts_.release(&post);
}

bool DatagramLink::send_goodbye(Peer& peer) noexcept {
  if (!peer.life.goodbye_due() || peer.has_posts() || !peer.send.open()) return true;
  Packet* packet = port_.take();
  if (packet == nullptr) return false;
  packet->bytes = kPacketHeaderBytes;
  const bool sent = send_new(peer, *packet, kData | kGoodbye);
  sent ? peer.life.goodbye_said() : port_.give(*packet);
  return sent;
}

bool DatagramLink::send_new(Peer& peer, Packet& packet, std::uint8_t flags) noexcept {
  Flight* flight = flights_.allocate();
  if (flight == nullptr) return false;
  const std::uint64_t now_ns = now();
  if (!launch(peer, packet, flags, peer.send.next(), now_ns)) {
    flights_.release(flight);
    return false;
  }
  flight->packet = &packet;
  peer.send.sent(*flight, now_ns, options_.round_trip);
  ++counts_.data_sent;
  set_alarm(peer);
  return true;
}

// An acknowledgement that found no data to travel with, or a question.
bool DatagramLink::send_answer(Peer& peer) noexcept {
  const bool due = peer.receive.answer_ns() <= now();
  if (!due && !peer.ask) return true;
  if (!send_bare(peer, peer.ask ? kProbe : 0, {})) return false;
  ++(peer.ask ? counts_.probes_sent : counts_.answers_sent);
  peer.ask = false;
  return true;
}

// A packet without a number, which nobody keeps.
bool DatagramLink::send_bare(Peer& peer, std::uint8_t flags,
                             std::span<const std::byte> payload) noexcept {
  Packet* taken = port_.take();
  Packet* packet = taken != nullptr ? taken : idle_spare();
  if (packet == nullptr) return false;
  packet->bytes = static_cast<std::uint32_t>(kPacketHeaderBytes + payload.size());
  if (!payload.empty()) {
    std::memcpy(packet->data + kPacketHeaderBytes, payload.data(), payload.size());
  }
  const bool sent = launch(peer, *packet, flags, {}, now());
  if (taken != nullptr) port_.give(*taken);
  return sent;
}

// All others may be waiting for acknowledgements themselves.
Packet* DatagramLink::idle_spare() noexcept {
  for (Packet* spare : spares_) {
    if (spare != nullptr && spare->in_flight == 0) return spare;
  }
  return nullptr;
}

// The packet's bytes are header and payload; a selective acknowledgement is added to them.
bool DatagramLink::launch(Peer& peer, Packet& packet, std::uint8_t flags, Sequence sequence,
                          std::uint64_t now_ns) noexcept {
  ESP_ASSERT(packet.in_flight == 0);
  if (!peer.reachable) return false;
  peer.receive.permit(peer.life.lost() ? 0 : budget_.renew(peer.receive.outstanding()));
  PacketHeader header;
  header.flags = static_cast<std::uint8_t>(me_.intact ? flags | kUnsummed : flags);
  header.bytes = static_cast<std::uint16_t>(packet.bytes - kPacketHeaderBytes);
  header.epoch = me_.epoch;
  header.from = me_.rank;
  header.to = peer.rank;
  header.sequence = sequence;
  header.ack = peer.receive.acknowledgement(now_ns);
  packet.bytes = static_cast<std::uint32_t>(packet_length(header));
  write_packet(header, {packet.data, packet.bytes});
  if (!port_.send(peer.path, packet, true)) {  // its caller flushes
    packet.bytes = static_cast<std::uint32_t>(kPacketHeaderBytes + header.bytes);
    return false;
  }
  ++counts_.packets_sent;
  peer.receive.answered();
  if (peer.answer.linked()) peer.answer.unlink();
  return true;
}

void DatagramLink::post(Rank to, std::span<const std::byte> letter) noexcept {
  ESP_ASSERT(letter.size() <= kLetterBytes);
  Peer& peer = peer_of(to);
  if (peer.life.lost()) return miss(peer);
  peer.life.seek();
  (void)send_bare(peer, kLetter, letter);
  port_.flush();
  set_alarm(peer);
}

}  // namespace espalier::rdma
