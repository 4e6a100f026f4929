// What the parts of TagMessages share: its operations, peers and what its messages say.
#pragma once

#include <cstdlib>
#include <map>

#include "core/copy.hpp"
#include "tags/tag_messages.hpp"

namespace espalier {

// What an eager message costs its receiver besides its bytes.
inline constexpr std::uint64_t kTagOverhead = sizeof(TagArrival) + 16;

// Payload of kTagAnnounced; `argument` is the tag, `context` the team. kTagReady: `argument` is
// bytes | name << 48, `context` name >> 16.
struct TagAnnouncement {
  std::uint64_t bytes;
  std::uint64_t name;  // of the send: slot << 16 | uses of that slot, its lower 16 bits
};
static_assert(sizeof(TagAnnouncement) <= MessageSender::kCopiedBytes);
inline constexpr unsigned kNameUseBits = 16, kTagBytesBits = 48;
inline constexpr std::uint64_t kTagBytesMax = (std::uint64_t{1} << kTagBytesBits) - 1;

// Of a key or pattern: its team is a number besides.
inline constexpr std::uint32_t kAside = 1U << 31;
inline std::uint32_t tag_team(const Team& team, bool aside) noexcept {
  return team.id | (aside ? kAside : 0);
}
inline bool is_announced(const ActiveMessage& message) noexcept {
  return message.id == kTagAnnounced || message.id == kAsideAnnounced;
}

struct TagMessages::Peer {
  std::uint64_t untaken = 0;  // of this rank's eager messages to it, as far as it has said
  std::uint64_t taken = 0;    // of its messages to this rank, which has not said so
};

struct TagMessages::Operation : ListNode {
  Operation(TagMessages& messages, Team& on, const TagBlock& what, const Finish& end,
            bool sending) noexcept
      : owner(messages), team(on), block(what), finish(end), sends(sending) {}
  ~Operation() { std::free(packed); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  TagMessages& owner;
  Team& team;
  const TagBlock block;
  const Finish finish;
  const bool sends;
  // Its bytes are the engine's to move, or its message is a sender's: not looked after here.
  bool moves = false;
  Rank rank = kNoRank;          // the other side; kNoRank: any
  std::uint64_t tag = 0;        // a receive: of what has come, once something has
  std::uint64_t bytes = 0;      // likewise
  std::byte* packed = nullptr;  // of what does not lie in one piece
  std::uint64_t since_ns = 0;   // of the first look at it
  std::uint64_t gone_ns = 0;    // of the first that found its other side in finalize
  std::uint64_t changes = 0;    // of the lives of ranks, at the last
  Status outcome;               // in ended_
};

struct TagMessages::Send : Operation {
  Send(TagMessages& messages, const TagSending& sending, const Finish& end) noexcept
      : Operation(messages, sending.team, sending.block, end, true), to(sending.to) {
    tag = sending.tag;
    bytes = sending.block.bytes;
    rank = sending.team.members[static_cast<std::size_t>(sending.to)];
  }
  const int to;
  std::uint32_t slot = kNone;
  static constexpr std::uint32_t kNone = UINT32_MAX;
};

struct TagMessages::Receive : Operation, PostedReceive {
  Receive(TagMessages& messages, const TagReceiving& receiving, const TagPattern& asked,
          const Finish& end) noexcept
      : Operation(messages, receiving.team, receiving.block, end, false),
        PostedReceive(asked),
        info(receiving.info) {
    rank = asked.source;
    tag = asked.tag;
  }
  bool is_posted() const noexcept { return queue != nullptr; }
  esp_tag_info* info;
};

// Bytes on their way between memory of devices and that of the host.
struct TagMessages::Carried {
  Receive& receive;
  Send* send;  // nullptr: what came is in `memory` already
  Mover& mover;
  std::byte* memory;
  std::uint64_t bytes;
};

// Where a flow finds so many bytes of the block's beginning: in one piece, or where they lie on a
// device. nullptr: no memory.
inline std::byte* tag_packed(TagBlock block, std::uint64_t bytes, std::byte*& room) noexcept {
  if (block.pattern == nullptr || block.device != nullptr) {
    return static_cast<std::byte*>(block.memory);
  }
  room = static_cast<std::byte*>(std::malloc(bytes));
  return room;
}

inline Engine::Flow tag_flow(Engine::Direction direction, const TagBlock& block, std::byte* packed,
                             std::uint64_t bytes, int peer) noexcept {
  Engine::Flow flow{direction, packed, bytes, peer, kTagChannel};
  if (block.device != nullptr) {
    flow.mover = &block.device->mover();
    flow.pattern = block.pattern;
  }
  return flow;
}

inline void tag_pack(std::byte* packed, const TagBlock& block, std::uint64_t bytes) noexcept {
  const auto* memory = static_cast<const std::byte*>(block.memory);
  if (block.pattern == nullptr) {
    copy_bytes(packed, memory, bytes);
  } else {
    block.pattern->pack(packed, memory, 0, bytes);
  }
}

inline void tag_unpack(const TagBlock& block, const void* packed, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  auto* memory = static_cast<std::byte*>(block.memory);
  if (block.pattern == nullptr) {
    copy_bytes(memory, packed, bytes);
  } else {
    block.pattern->unpack(memory, static_cast<const std::byte*>(packed), 0, bytes);
  }
}

inline void tag_ignore(void*, Status) noexcept {}

}  // namespace espalier
