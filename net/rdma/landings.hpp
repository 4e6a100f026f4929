// Landings: the places that a receiver has announced for frames of one peer; offers: the same, as
// the sender knows them.
//
// A place is named by its slot, which the receiver chooses. It is free again when the frame has
// been placed there, or has come otherwise and the slot was retired (a message that arrives before
// any that uses the slot anew). Both tables speak of one connection: a new one starts with no
// offers, and places that are still wanted are announced again.
//
// Places of a stream are announced four at a time, while its sender has more of them than are
// wanted anew (due()) and is not permitted more frames (hurry()): a window of receives costs few
// doorbells and messages, and the sender has most of it, or at least half of a small one.
//
// Small tables, searched by (flow, ordinal) from the front. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "net/frame.hpp"
#include "net/rdma/connection_message.hpp"
#include "net/rdma/direct_memory.hpp"

namespace espalier::rdma {

inline constexpr std::uint32_t kLandingSlots = 64;
static_assert(kLandingSlots <= Placement::kPutSlot);
static_assert(kLandingSlots == 64, "a bit of a word for each");

struct Landing {
  enum class State : std::uint8_t {
    kFree,
    kWanted,     // to be announced
    kAnnounced,  // the peer may write
    kPulled,     // this side reads the frame into it, or will
    kRetracted,  // what it still wrote before its connection was stopped stands in `copy`
  };
  State state = State::kFree;  // changed by Landings
  net::FrameHeader frame;
  std::byte* memory = nullptr;
  Lease lease;
  std::unique_ptr<std::byte[]> copy;
};

class Landings {
 public:
  // A free one, or nullptr.
  Landing* open() noexcept { return ~used_ != 0 ? &slots_[std::countr_one(used_)] : nullptr; }
  Landing* find(std::uint64_t flow, std::uint32_t ordinal) noexcept {
    for (std::uint64_t rest = used_; rest != 0; rest &= rest - 1) {
      Landing& landing = slots_[std::countr_zero(rest)];
      if (landing.frame.flow == flow && landing.frame.ordinal == ordinal) return &landing;
    }
    return nullptr;
  }
  Landing* at(std::uint32_t slot) noexcept {
    return slot < kLandingSlots ? &slots_[slot] : nullptr;
  }
  // Its frame must be known. To kFree: all that it was is forgotten.
  void become(Landing& landing, Landing::State state) noexcept {
    using State = Landing::State;
    const std::uint64_t flow = landing.frame.flow;
    if (landing.state == State::kWanted && --wanted_ == 0) mixed_ = false;
    if (landing.state == State::kAnnounced && flow == told_flow_ && told_ > 0) --told_;
    if (landing.state == State::kRetracted) --retracted_;
    if (state == State::kRetracted) ++retracted_;
    if (state == State::kWanted) {
      mixed_ = wanted_++ > 0 && (mixed_ || flow != wanted_flow_);
      wanted_flow_ = flow;
    } else if (state == State::kAnnounced) {
      told_ = flow == std::exchange(told_flow_, flow) ? told_ + 1 : 1;
    }
    landing.state = state;
    const std::uint64_t bit = std::uint64_t{1} << slot(landing);
    used_ |= bit;
    if (state != State::kFree) return;
    used_ &= ~bit;
    landing = Landing{};
  }
  // What is wanted is announced without waiting for more.
  void hurry() noexcept { mixed_ = wanted_ > 0; }
  // There is one for this frame that was retracted, until its connection is closed: a second one
  // would be left over when the frame comes.
  bool awaits_end(std::uint64_t flow, std::uint32_t ordinal) noexcept {
    return retracted_ > 0 && find(flow, ordinal) != nullptr;
  }
  // It is time to announce what is wanted.
  bool due() const noexcept {
    return wanted_ > 0 &&
           (mixed_ || wanted_flow_ != told_flow_ || wanted_ >= std::min(told_, kBatch));
  }
  std::uint32_t slot(const Landing& landing) const noexcept {
    return static_cast<std::uint32_t>(&landing - slots_.data());
  }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (std::uint64_t rest = used_; rest != 0; rest &= rest - 1) {
      visit(slots_[std::countr_zero(rest)]);
    }
  }

 private:
  static constexpr std::uint32_t kBatch = 4;

  std::uint64_t used_ = 0;  // a bit for each that is not free
  std::array<Landing, kLandingSlots> slots_;
  std::uint32_t retracted_ = 0;
  std::uint32_t wanted_ = 0;
  std::uint64_t wanted_flow_ = 0;  // of the last
  bool mixed_ = false;             // not of all; or there is another reason not to wait
  // Of the flow that was announced last: at most so many as its sender has.
  std::uint32_t told_ = 0;
  std::uint64_t told_flow_ = 0;
};

class Offers {
 public:
  // False: the slot is taken, or there is none of this number.
  [[nodiscard]] bool put(const Announcement& offer) noexcept {
    if (offer.slot >= kLandingSlots || (live_ >> offer.slot & 1) != 0) return false;
    offers_[offer.slot] = offer;
    live_ |= std::uint64_t{1} << offer.slot;
    return true;
  }
  [[nodiscard]] bool retire(std::uint32_t slot) noexcept {
    if (slot >= kLandingSlots || (live_ >> slot & 1) == 0) return false;
    live_ &= ~(std::uint64_t{1} << slot);
    return true;
  }
  // The place for this frame, if its receiver expects just this one.
  const Announcement* find(const net::FrameHeader& frame) const noexcept {
    for (std::uint64_t rest = live_; rest != 0; rest &= rest - 1) {
      const Announcement& offer = offers_[std::countr_zero(rest)];
      if (suits(offer.frame, frame)) return &offer;
    }
    return nullptr;
  }
  void clear() noexcept { live_ = 0; }

 private:
  static bool suits(const net::FrameHeader& expected, const net::FrameHeader& frame) noexcept {
    return expected.flow == frame.flow && expected.ordinal == frame.ordinal &&
           expected.bytes == frame.bytes && expected.signature == frame.signature &&
           expected.total == frame.total && expected.kind == frame.kind;
  }

  std::uint64_t live_ = 0;  // a bit for each slot that is taken
  std::array<Announcement, kLandingSlots> offers_;
};

}  // namespace espalier::rdma
