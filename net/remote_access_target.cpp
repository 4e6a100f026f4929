// RemoteAccess, the target's half: regions, what comes for them, replies. path: data
#include <fmt/format.h>

#include "net/remote_access_state.hpp"

namespace espalier::net {
namespace {

// How much of the region a request means.
std::uint64_t extent(const FrameHeader& header) noexcept {
  if (header.kind == FrameKind::kPut) return header.bytes;
  return header.kind == FrameKind::kGet ? header.total : sizeof(std::uint64_t);
}

}  // namespace

std::uint32_t RemoteAccess::offer(std::byte* memory, std::uint64_t bytes) {
  Region region = {memory, bytes, {}};
  for (FrameWire* one : routes_.all_frames()) {
    if (region.exposed.address == 0) region.exposed = one->link().expose(memory, bytes);
  }
  regions_.push_back(region);
  return static_cast<std::uint32_t>(regions_.size() - 1);
}

// Adapters do not touch it any more.
void RemoteAccess::conceal(Region& region) noexcept {
  if (std::exchange(region.exposed, {}).address == 0) return;
  for (FrameWire* one : routes_.all_frames()) one->link().conceal(region.memory);
}

void RemoteAccess::retract(std::uint32_t region) noexcept {
  conceal(regions_[region]);
  regions_[region].memory = nullptr;
  peers_.for_each([&](Rank, Peer& p) {
    const bool puts = p.header.kind == FrameKind::kPut;
    const bool writes = puts || p.header.kind == FrameKind::kAtomic;
    if (p.coming && writes && p.header.ordinal == region && !std::exchange(p.stale, true)) {
      // What an atomic brings lands beside the region.
      std::byte* elsewhere = puts ? land(p, p.header.bytes) : nullptr;
      if (elsewhere != nullptr) link(p.rank).redirect(p.rank, elsewhere);
    }
    for (Reply* r = p.replies.front(); r != nullptr;) {
      Reply* next = p.replies.after(*r);
      if (r->region == region + 1 && r->frame.waits()) {
        r->frame.payload = nullptr;
        r->frame.header.bytes = 0;
        r->frame.header.total = 1;
      } else if (r->region == region + 1) {
        (void)wire(p.rank).withdraw(p.rank, r->frame);
        on_reply_sent(*r, {});
      }
      r = next;
    }
  });
}

// There is one way to each rank, or none over a network. What comes otherwise comes from a rank
// that lies, and touches nothing that belongs to the way on which it may be in the middle of a
// frame.
std::byte* RemoteAccess::begin_frame(FrameWire& by, Rank from, const FrameHeader& header) noexcept {
  if (!is_way(by, from)) {
    by.link().lose(
        from, error(ESP_ERR_NETWORK, fmt::format("rank {} came by a way that is not its own", from),
                    from));
    return nullptr;
  }
  Peer& p = peer(from);
  p.header = header;
  p.stale = false;
  switch (header.kind) {
    case FrameKind::kMessage:
      p.coming = true;
      return land(p, header.bytes);
    case FrameKind::kRefused:
      p.coming = true;
      return nullptr;
    case FrameKind::kAnswer:
      return begin_answer(p, header);
    default:
      return begin_request(p, header);
  }
}

// What is asked for must have been offered: the sizes of regions are known to all who may ask.
std::byte* RemoteAccess::begin_request(Peer& p, const FrameHeader& header) noexcept {
  if (header.ordinal >= regions_.size()) return refuse(p, "names a region that there is not");
  const Region& region = regions_[header.ordinal];
  const std::uint64_t bytes = extent(header);
  if (bytes > region.bytes || header.flow > region.bytes - bytes) {
    return refuse(p, "reaches beyond a region");
  }
  const bool atomic = header.kind == FrameKind::kAtomic;
  if (atomic && header.flow % sizeof(std::uint64_t) != 0) {
    return refuse(p, "asks for an atomic on a word that is not aligned");
  }
  p.coming = true;
  p.stale = region.memory == nullptr;
  if (atomic) return reinterpret_cast<std::byte*>(p.words.data());
  if (header.kind == FrameKind::kGet) return nullptr;
  return p.stale ? land(p, header.bytes) : region.memory + header.flow;
}

void RemoteAccess::end_frame(FrameWire& by, Rank from, const FrameHeader& header,
                             std::byte* payload) noexcept {
  if (!is_way(by, from)) return;
  Peer& p = peer(from);
  if (!std::exchange(p.coming, false)) return;  // It has been given up.
  switch (header.kind) {
    case FrameKind::kMessage:
      end_message(p, header, payload);
      break;
    case FrameKind::kRefused:
      p.refused |= std::uint64_t{1} << header.ordinal;
      break;
    case FrameKind::kPut:
      end_put(p);
      break;
    case FrameKind::kGet:
      end_get(p, header);
      break;
    case FrameKind::kAtomic:
      end_atomic(p, header);
      break;
    default:
      clear_landing(p);
      return end_answer(p, header);
  }
  clear_landing(p);
}

void RemoteAccess::end_message(Peer& p, const FrameHeader& header,
                               const std::byte* payload) noexcept {
  if (taker_.take(p.rank, {header.ordinal, header.flow, payload, header.bytes, header.total})) {
    return;
  }
  const std::uint64_t bit = std::uint64_t{1} << header.ordinal;
  if ((p.refused_here & bit) != 0) return;
  p.refused_here |= bit;
  if (Reply* refusal = make_reply(p, FrameKind::kRefused)) {
    refusal->frame.header.ordinal = header.ordinal;
    post(p, *refusal);
  }
}

void RemoteAccess::end_put(Peer& p) noexcept {
  if (Reply* answer = make_reply(p, FrameKind::kAnswer)) post(p, *answer);
}

void RemoteAccess::end_get(Peer& p, const FrameHeader& header) noexcept {
  Reply* answer = make_reply(p, FrameKind::kAnswer);
  if (answer == nullptr) return;
  if (!p.stale) {
    answer->frame.payload = regions_[header.ordinal].memory + header.flow;
    answer->frame.header.bytes = header.total;
    answer->region = header.ordinal + 1;
  }
  post(p, *answer);
}

void RemoteAccess::end_atomic(Peer& p, const FrameHeader& header) noexcept {
  Reply* answer = make_reply(p, FrameKind::kAnswer);
  if (answer == nullptr) return;
  if (!p.stale) {
    std::byte* at = regions_[header.ordinal].memory + header.flow;
    answer->value = apply_atomic(static_cast<AtomicKind>(header.total), at, p.words);
    answer->frame.payload = &answer->value;
    answer->frame.header.bytes = sizeof answer->value;
  }
  post(p, *answer);
}

RemoteAccess::Reply* RemoteAccess::make_reply(Peer& p, FrameKind kind) noexcept {
  Reply* made = replies_.allocate(*this);
  if (made == nullptr) {
    link(p.rank).lose(p.rank, error(ESP_ERR_NO_MEMORY, "no memory for its answers", p.rank));
    return nullptr;
  }
  made->frame.header.kind = kind;
  if (kind == FrameKind::kAnswer && p.stale) made->frame.header.total = 1;
  return made;
}

// The link may be done with an answer after the origin has asked for more: those that wait for the
// link are counted. An origin that keeps to its window has no more of them.
void RemoteAccess::post(Peer& p, Reply& reply) noexcept {
  if (wire(p.rank).post_frame(p.rank, reply.frame) == Posted::kDone) {
    return replies_.release(&reply);
  }
  p.replies.push_back(reply);
  if (!reply.frame.waits()) return;
  std::uint32_t waiting = 0;
  for (Reply* r = p.replies.front(); r != nullptr; r = p.replies.after(*r)) {
    waiting += r->frame.waits() && r->frame.header.kind == FrameKind::kAnswer ? 1 : 0;
  }
  if (waiting > kWindow) (void)refuse(p, "has more requests open than it may");
}

void RemoteAccess::on_reply_sent(Completion& completion, Status) noexcept {
  auto& reply = static_cast<Reply&>(completion);
  RemoteAccess& access = reply.access;
  reply.unlink();
  access.replies_.release(&reply);
}

// Memory of the pool for the payload that is coming.
std::byte* RemoteAccess::land(Peer& p, std::uint64_t bytes) noexcept {
  if (bytes == 0) return nullptr;
  p.landing = wire(p.rank).buffers().take(bytes);
  if (p.landing == nullptr) [[unlikely]] {
    p.coming = false;
    link(p.rank).lose(
        p.rank, error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes", bytes), p.rank));
  }
  return p.landing;
}

void RemoteAccess::clear_landing(Peer& p) noexcept {
  if (std::byte* landed = std::exchange(p.landing, nullptr)) wire(p.rank).buffers().give(landed);
}

std::byte* RemoteAccess::refuse(Peer& p, const char* what) noexcept {
  link(p.rank).lose(p.rank,
                    error(ESP_ERR_NETWORK, fmt::format("rank {} {}", p.rank, what), p.rank));
  return nullptr;
}

}  // namespace espalier::net
