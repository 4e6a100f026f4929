// ConnectionLink: from posts to operations of the adapter.
// path: data
#include <algorithm>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "net/rdma/connection_peer.hpp"

namespace espalier::rdma {
namespace {

// What send_now() writes fits any packet.
static_assert(MessageHead::kBytes + net::kFrameHeaderBytes + FramePost::kInlineBytes <=
              ConnectionLink::kPacketMin);

// Where the payload of a packet's first frame stands.
constexpr std::size_t kFrameAt = MessageHead::kBytes + net::kFrameHeaderBytes;

}  // namespace

ConnectionLink::Post* ConnectionLink::make_post(const net::FrameHeader& header,
                                                const void* payload) noexcept {
  return posts_.allocate(header, payload);
}

// All of the frame has left, or never will.
void ConnectionLink::finish(Post& post, Status status) noexcept {
  memory_.end(post.lease);
  if (&post == posting_) {
    posting_ = nullptr;  // its poster learns it from the answer
  } else if (post.completion != nullptr) {
    finished_.emplace_back(post.completion, status);
  }
  posts_.release(&post);
}

Packet* ConnectionLink::take_packet(Peer& peer) noexcept {
  Packet* packet = packets_->take(!peer.resend.empty());
  if (packet != nullptr) return packet;
  starved_ = true;
  if (!std::exchange(peer.thirsty, true)) thirsty_.push_back(&peer);
  return nullptr;
}

// Outside of progress() at once; inside, what its callbacks post goes out together at its end.
void ConnectionLink::pump_soon(Peer& peer) noexcept {
  if (sink_ == nullptr) return pump(peer);
  mark(peer);
}

// There may be something to send: after posts, announcements, arrivals (credits), completions (room
// in the queue) and when a connection is up.
void ConnectionLink::mark(Peer& peer) noexcept {
  if (std::exchange(peer.ready, true)) return;
  ready_.push_back(&peer);
}

void ConnectionLink::pump_ready() noexcept {
  std::erase_if(thirsty_, [&](Peer* peer) {
    if (!packets_->any(!peer->resend.empty())) return false;
    peer->thirsty = false;
    mark(*peer);
    return true;
  });
  pumping_.swap(ready_);
  for (Peer* peer : pumping_) {
    peer->ready = false;
    pump(*peer);
  }
  pumping_.clear();
  // Packets come back with completions, which somebody has to ask for.
  if (!std::exchange(starved_, false)) return;
  std::erase_if(tailed_, [&](Peer* peer) {
    if (peer->sent.has_tail()) probe(*peer);
    peer->tailed = peer->sent.has_tail();
    return !peer->tailed;
  });
}

void ConnectionLink::pump(Peer& peer) noexcept {
  if (!peer.may_post()) return;
  Batch batch(port_, *peer.connection);
  const Tail before(peer);
  // First: the peer's next frame may be the answer to what goes out.
  tell(peer, batch);
  read_wanted(peer, batch);
  send_answers(peer, batch);
  while (advance(peer, batch)) {
  }
  tell_readables(peer, batch);
  const bool owes = ESP_PLANT(61, peer.credits.must_return(), false);
  if (owes && peer.credits.may_return() && !peer.sent.full()) {
    std::array<std::byte, MessageHead::kBytes> message;
    send_small(peer, message, MessageKind::kCredits, batch);
    ++statistics_.credit_messages;
  }
  ring(peer, batch, before);
}

// A small frame that nothing waits before goes straight into a packet. False: it must wait.
bool ConnectionLink::send_now(Peer& peer, const net::FrameHeader& header,
                              const void* payload) noexcept {
  if (!peer.clear() || peer.offers.find(header) != nullptr) return false;
  Packet* packet = take_packet(peer);
  if (packet == nullptr) return false;
  const net::FrameBytes head = net::frame_bytes(header);
  std::memcpy(packet->data + MessageHead::kBytes, head.data(), head.size());
  if (header.bytes > 0) std::memcpy(packet->data + kFrameAt, payload, header.bytes);
  packet->bytes = static_cast<std::uint32_t>(kFrameAt + header.bytes);
  copied_in(header.bytes);
  ++statistics_.frames;
  peer.life.seek();
  Batch batch(port_, *peer.connection);
  const Tail before(peer);
  send_frame(peer, *packet, header, batch);
  ring(peer, batch, before);
  return true;
}

// The doorbell for what has been posted, and who looks after it.
void ConnectionLink::ring(Peer& peer, Batch& batch, const Tail& before) noexcept {
  if (!batch.ring()) {
    peer.broken = true;
    peer.why = Fault::kLocal;
    return trouble(peer);
  }
  if (!peer.sent.has_tail()) return;
  if (!before.there || (peer.tail_matters() && !before.mattered)) {
    watch_tail(peer, clock_.now_ns());
  }
  if (!std::exchange(peer.tailed, true)) tailed_.push_back(&peer);
}

// What this side wants from the next frames: retired slots first, they may be announced anew.
void ConnectionLink::tell(Peer& peer, Batch& batch) noexcept {
  if (!peer.wants() && peer.retired.empty()) return;
  std::size_t told = 0;
  while (told < peer.retired.size() && peer.credits.may_send() && !peer.sent.full()) {
    std::array<std::byte, MessageHead::kBytes + 4> message;
    const std::uint32_t slot = peer.retired[told++];
    std::memcpy(&message[MessageHead::kBytes], &slot, sizeof slot);
    send_small(peer, message, MessageKind::kRetire, batch);
    ++statistics_.retired;
  }
  peer.retired.erase(peer.retired.begin(),
                     peer.retired.begin() + static_cast<std::ptrdiff_t>(told));
  if (peer.retired.empty() && peer.wants()) announce_wanted(peer, batch);
}

void ConnectionLink::announce_wanted(Peer& peer, Batch& batch) noexcept {
  std::array<std::byte, MessageHead::kBytes + Announcement::kMax * Announcement::kBytes> message;
  const std::size_t most = std::min<std::size_t>(message.size(), inline_bytes_);
  std::size_t bytes = MessageHead::kBytes;
  const auto send = [&] {
    if (bytes == MessageHead::kBytes) return;
    send_small(peer, std::span(message).first(bytes), MessageKind::kAnnounce, batch);
    bytes = MessageHead::kBytes;
  };
  peer.landings->for_each([&](Landing& landing) {
    if (landing.state != Landing::State::kWanted) return;
    if (!peer.credits.may_send() || peer.sent.full()) return;
    Announcement announcement;
    announcement.slot = peer.landings->slot(landing);
    announcement.memory.address = reinterpret_cast<std::uint64_t>(landing.memory);
    announcement.memory.key = landing.lease.region.remote_key;
    announcement.frame = landing.frame;
    write_announcement(announcement, &message[bytes]);
    bytes += Announcement::kBytes;
    peer.landings->become(landing, Landing::State::kAnnounced);
    ++statistics_.announced;
    if (bytes + Announcement::kBytes > most) send();
  });
  send();
}

// One operation more. False: nothing to do, or something is missing.
bool ConnectionLink::advance(Peer& peer, Batch& batch) noexcept {
  if (peer.held || peer.sent.full()) return false;
  if (!peer.accesses.empty() && reach_over(peer, batch)) return true;
  if (!peer.credits.may_send()) return false;
  if (!peer.resend.empty()) return repeat(peer, batch);
  if (peer.placing.post != nullptr) return place(peer, batch);
  if (!peer.posts.empty()) {
    Post& post = *peer.posts.front();
    if (!post.begun && peer.offers.find(post.header) != nullptr) {
      begin_placing(peer, post);
      return true;
    }
    if (may_be_pulled(peer, post) && offer_reading(peer, batch)) return true;
    return pack(peer, peer.posts, false, batch);
  }
  // A put that was under way when a connection broke is made again, behind what was said on it.
  const bool reached = peer.accesses.empty() && peer.asked.empty();
  const bool answered = peer.readables.empty() && peer.answers.empty() && reached;
  if (!peer.life.goodbye_due() || !answered) return false;
  Packet* packet = take_packet(peer);
  if (packet == nullptr) return false;
  // What it has come to know of the other's: a connection that ends now may not tell any more.
  std::memcpy(packet->data + MessageHead::kBytes, &peer.expected, sizeof peer.expected);
  packet->bytes = MessageHead::kBytes + sizeof peer.expected;
  peer.life.goodbye_said();
  send_message(peer, *packet, MessageKind::kGoodbye, batch);
  return true;
}

// What was on a connection that broke. Placements come as messages: their places were announced on
// that connection.
bool ConnectionLink::repeat(Peer& peer, Batch& batch) noexcept {
  const Record record = peer.resend.front();
  if (record.what == Record::What::kMessage) {
    peer.resend.pop_front();
    ++statistics_.repeated;
    send_message(peer, *record.packet, record.kind, batch);
    return true;
  }
  PostQueue one;
  one.push_back(*record.post);
  if (!pack(peer, one, true, batch)) return false;
  ++statistics_.repeated;
  if (one.empty()) peer.resend.pop_front();
  return true;
}

// A packet of what the queue holds, up to a frame that is to be placed.
bool ConnectionLink::pack(Peer& peer, PostQueue& queue, bool alone, Batch& batch) noexcept {
  Packet* packet = take_packet(peer);
  if (packet == nullptr) return false;
  packet->bytes = MessageHead::kBytes;
  const bool begins = !queue.front()->begun;
  const net::FrameHeader first = queue.front()->header;
  while (!queue.empty()) {
    Post& post = *queue.front();
    const bool begins_alone = peer.offers.find(post.header) != nullptr || may_be_pulled(peer, post);
    if (!alone && !post.begun && begins_alone) break;
    const std::uint64_t before = post.packed;
    const bool whole = post.pack(*packet);
    copied_in(post.packed - before);
    if (!whole) break;
    ++statistics_.frames;
    (void)queue.pop_front();
    finish(post, {});
  }
  if (begins && packet->bytes == kFrameAt + first.bytes) {
    send_frame(peer, *packet, first, batch);
  } else {
    send_message(peer, *packet, MessageKind::kFrames, batch);
  }
  return true;
}

void ConnectionLink::begin_placing(Peer& peer, Post& post) noexcept {
  const Announcement* offer = peer.offers.find(post.header);
  peer.placing.post = &post;
  peer.placing.at = *offer;
  peer.placing.offset = 0;
  const bool retired = peer.offers.retire(offer->slot);
  ESP_ASSERT(retired);
  if (!post.lease) post.lease = memory_.lease(post.payload, post.bytes, Use::kRead);
}

// The next part of a placement; the last one tells the peer.
bool ConnectionLink::place(Peer& peer, Batch& batch) noexcept {
  auto& placing = peer.placing;
  Post& post = *placing.post;
  const std::byte* from = post.payload + placing.offset;
  const std::uint64_t rest = post.bytes - placing.offset;
  Record record;
  Transfer what;
  if (post.lease) {
    what.bytes = std::min(rest, peer.part.bytes());
    what.local = from;
    what.region = &post.lease.region;
  } else {
    record.packet = take_packet(peer);
    if (record.packet == nullptr) return false;
    what.bytes = std::min<std::uint64_t>(rest, record.packet->capacity);
    copy_bytes(record.packet->data, from, what.bytes);
    copied_in(what.bytes);
    what.local = record.packet->data;
    what.region = &packets_->region();
  }
  const RemoteMemory to = {placing.at.memory.address + placing.offset, placing.at.memory.key};
  placing.offset += what.bytes;
  record.bytes = static_cast<std::uint32_t>(what.bytes);
  const bool last = placing.offset == post.bytes;
  record.what = last ? Record::What::kPlacement : Record::What::kPart;
  if (last) {
    record.post = &post;
    record.number = peer.next++;
    (void)peer.posts.pop_front();
    placing.post = nullptr;
  }
  track(peer, record, last, what);
  if (!last) {
    batch.write(what, to);
    return true;
  }
  peer.credits.spend();
  ++statistics_.placed;
  tell(&Counters::segments_placed);
  ++statistics_.frames;
  const Placement placement(placing.at.slot, record.number, post.header.synchronous,
                            peer.credits.take_owed());
  batch.write_immediate(what, to, placement.immediate());
  return true;
}

// Enters the operation in the queue of those that are not complete.
void ConnectionLink::track(Peer& peer, const Record& record, bool force, Transfer& what) noexcept {
  const auto ticket = peer.sent.add(record, force);
  peer.tail_holds = !ticket.signaled && (peer.tail_holds || record.packet != nullptr);
  what.cookie = ticket.cookie;
  what.signaled = ESP_PLANT(64, ticket.signaled, force);
  statistics_.signals += ticket.signaled ? 1 : 0;
}

// The packet is kept until it is known to have arrived.
void ConnectionLink::send_message(Peer& peer, Packet& packet, MessageKind kind,
                                  Batch& batch) noexcept {
  MessageHead head;
  head.kind = kind;
  send_counted(peer, packet, head, batch);
}

// A packet of one frame and no more. Without its header, if the peer can tell it; what is in the
// packet is whole, for a connection that breaks takes along what the peer knew.
void ConnectionLink::send_frame(Peer& peer, Packet& packet, const net::FrameHeader& header,
                                Batch& batch) noexcept {
  MessageHead head;
  head.kind = MessageKind::kFrames;
  const bool tells = header.kind == net::FrameKind::kSegment;
  if (!tells) return send_counted(peer, packet, head, batch);
  const std::uint32_t slot = KnownHeaders::slot_of(header);
  const auto step = peer.told.step_to(header);
  peer.told.keep(slot, header);
  if (!step) {
    head.keep = static_cast<std::uint8_t>(1 + slot);
    return send_counted(peer, packet, head, batch);
  }
  Transfer what;
  const std::uint64_t number = count(peer, packet, MessageKind::kFrames, what);
  const Headless frame(slot, *step, number, header.synchronous,
                       peer.credits.take_owed(Headless::kCreditsMax));
  set_bytes(what, packet, kFrameAt);
  ++statistics_.headless;
  batch.send_immediate(what, frame.immediate());
}

void ConnectionLink::send_counted(Peer& peer, Packet& packet, MessageHead head,
                                  Batch& batch) noexcept {
  Transfer what;
  head.number = static_cast<std::uint32_t>(count(peer, packet, head.kind, what));
  head.credits = peer.credits.take_owed();
  write_head(head, packet.data);
  set_bytes(what, packet, 0);
  batch.send(what);
}

// A message that must arrive once. Answers its number.
std::uint64_t ConnectionLink::count(Peer& peer, Packet& packet, MessageKind kind,
                                    Transfer& what) noexcept {
  Record record;
  record.what = Record::What::kMessage;
  record.kind = kind;
  record.packet = &packet;
  record.number = peer.next++;
  peer.credits.spend();
  track(peer, record, kind == MessageKind::kGoodbye, what);
  ++statistics_.messages;
  return record.number;
}

// What is in the packet from there on.
void ConnectionLink::set_bytes(Transfer& what, const Packet& packet,
                               std::size_t begin) const noexcept {
  what.local = packet.data + begin;
  what.bytes = packet.bytes - begin;
  what.region = what.bytes > inline_bytes_ ? &packets_->region() : nullptr;
}

// Not counted: it speaks of this connection.
void ConnectionLink::send_small(Peer& peer, std::span<std::byte> message, MessageKind kind,
                                Batch& batch) noexcept {
  peer.credits.spend();
  MessageHead head;
  head.kind = kind;
  head.credits = peer.credits.take_owed();
  head.number = peer.remarks++;
  write_head(head, message.data());
  Transfer what;
  track(peer, {}, false, what);
  ++statistics_.messages;
  batch.send_copy(message, what);
}

// An empty write: it takes no packet of the peer, and its completion stands for all before it.
void ConnectionLink::probe(Peer& peer) noexcept {
  if (!peer.may_post() || peer.sent.full()) return;
  Batch batch(port_, *peer.connection);
  Transfer what;
  track(peer, {}, true, what);
  batch.write(what, {});
  ++statistics_.probes;
  if (batch.ring()) return;
  peer.broken = true;
  peer.why = Fault::kLocal;
  trouble(peer);
}

// It is in the peer's memory; what was read, in this side's.
void ConnectionLink::complete(Peer& peer, Record& record) noexcept {
  if (record.access != nullptr) complete_access(record);
  if (record.packet != nullptr) packets_->give(*record.packet);
  if (record.what == Record::What::kPlacement) finish(*record.post, {});
  if (record.what == Record::What::kRead) --peer.reads_open;
  if (record.pull != nullptr) has_been_read(peer, *record.pull);
}

}  // namespace espalier::rdma
