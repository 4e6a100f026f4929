// What travels on a connection: messages with a head of 8 bytes; frames without any, whose
// immediate data say which header they follow; and writes whose immediate data say what has been
// placed.
//
//   0  kind        MessageKind
//   1  keep        frames: 1 + the slot where the header of the one frame that this is is kept
//                  (known_headers.hpp); 0: nowhere
//   2  credits     packets of the other direction that were posted again
//   4  number      of a counted message, modulo 2^32; others have numbers of their own, from 0
//
// Counted are messages that must arrive once, whatever becomes of connections: frames, with a head
// or without, placements and puts (of the number immediate data have 8 bits), and
//   goodbye   expected 8: the sender has got the counted messages before this one
//   fetched   slot 4, how 4: 1: the frame that could be read has been read; 2: send it
// The others speak of one connection and end with it, and so do their numbers:
//   announce  once to four times: slot 4, 0 4, address 8, key 4, 0 4, frame header 28: where this
//             frame may be placed
//   retire    slot 4: the frame came otherwise
//   readable  slot 4, serial 4, address 8, key 4, 0 4, frame header 28: this frame may be read
//   there;
//             address and key 0: it may be asked for (pulls.hpp)
//   credits   the head alone
//
// Numbers are little-endian. Values. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/frame.hpp"
#include "net/rdma/connection_port.hpp"
#include "net/rdma/known_headers.hpp"

namespace espalier::rdma {

enum class MessageKind : std::uint8_t {
  kFrames = 1,
  kGoodbye,
  kAnnounce,
  kRetire,
  kCredits,
  kReadable,
  kFetched,
};

struct MessageHead {
  MessageKind kind = MessageKind::kCredits;
  std::uint8_t keep = 0;
  std::uint16_t credits = 0;
  std::uint32_t number = 0;

  static constexpr std::size_t kBytes = 8;
};
void write_head(const MessageHead& head, std::byte* at) noexcept;
// Bytes from elsewhere: an error names what is wrong.
Result<MessageHead> parse_head(std::span<const std::byte> message) noexcept;

// A place for one frame, as its receiver announces it; or one where it may be read.
struct Announcement {
  std::uint32_t slot = 0;
  std::uint32_t serial = 0;  // of what may be read
  RemoteMemory memory;
  net::FrameHeader frame;

  static constexpr std::size_t kBytes = 24 + net::kFrameHeaderBytes;
  static constexpr std::size_t kMax = 4;  // in a message
};
void write_announcement(const Announcement& announcement, std::byte* at) noexcept;
Result<Announcement> parse_announcement(std::span<const std::byte, Announcement::kBytes> bytes,
                                        std::uint64_t payload_max) noexcept;

// A frame has been placed in the memory announced with this slot.
struct Placement {
  static constexpr std::uint32_t kSlotMax = (1U << 7) - 1, kCreditsMax = 0xffff;
  static constexpr std::uint32_t kPutSlot = kSlotMax;  // not a frame: a put is complete

  constexpr Placement(std::uint32_t slot_, std::uint64_t number_, bool synchronous_,
                      std::uint32_t credits_) noexcept
      : slot(slot_),
        number(static_cast<std::uint8_t>(number_)),
        synchronous(synchronous_),
        credits(credits_) {}
  constexpr explicit Placement(std::uint32_t immediate) noexcept
      : slot(immediate >> 25),
        number(static_cast<std::uint8_t>(immediate >> 17)),
        synchronous((immediate >> 16 & 1) != 0),
        credits(immediate & 0xffff) {}
  constexpr std::uint32_t immediate() const noexcept {
    return slot << 25 | std::uint32_t{number} << 17 | (synchronous ? 1U : 0U) << 16 | credits;
  }

  std::uint32_t slot;
  std::uint8_t number;  // the last bits
  bool synchronous;
  std::uint32_t credits;
};

// A whole segment whose header is the one that follows, by `step`, what is kept in `slot`. The
// message is its payload. There is a meaning to all 32 bits.
struct Headless {
  static constexpr std::uint32_t kCreditsMax = 0xff;

  constexpr Headless(std::uint32_t slot_, std::uint32_t step_, std::uint64_t number_,
                     bool synchronous_, std::uint32_t credits_) noexcept
      : slot(slot_),
        step(step_),
        number(static_cast<std::uint8_t>(number_)),
        synchronous(synchronous_),
        credits(credits_) {}
  constexpr explicit Headless(std::uint32_t immediate) noexcept
      : slot(immediate >> 29),
        step(immediate >> 17 & KnownHeaders::kStepMax),
        number(static_cast<std::uint8_t>(immediate >> 9)),
        synchronous((immediate >> 8 & 1) != 0),
        credits(immediate & 0xff) {}
  constexpr std::uint32_t immediate() const noexcept {
    return slot << 29 | step << 17 | std::uint32_t{number} << 9 | (synchronous ? 1U : 0U) << 8 |
           credits;
  }

  std::uint32_t slot, step;
  std::uint8_t number;  // the last bits
  bool synchronous;
  std::uint32_t credits;
};
static_assert(KnownHeaders::kSlots == 1U << 3 && KnownHeaders::kStepMax == (1U << 12) - 1);

}  // namespace espalier::rdma
