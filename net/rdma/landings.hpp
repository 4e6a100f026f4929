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
#include <cstdint>
#include <memory>
#include <utility>

#include "net/frame.hpp"
#include "net/rdma/connection_message.hpp"

namespace espalier::rdma {

inline constexpr std::uint32_t kLandingSlots = 64;
static_assert(kLandingSlots <= Placement::kSlotMax);

struct Landing {
  enum class State : std::uint8_t {
    kFree,
    kWanted,     // to be announced
    kAnnounced,  // the peer may write
    kRetracted,  // what it still wrote before its connection was stopped stands in `copy`
  };
  State state = State::kFree;  // changed by Landings
  bool own_region = false;     // registered for this landing alone
  net::FrameHeader frame;
  std::byte* memory = nullptr;
  Region region;
  std::unique_ptr<std::byte[]> copy;
};

class Landings {
 public:
  // A free one, or nullptr.
  Landing* open() noexcept {
    for (Landing& landing : slots_) {
      if (landing.state == Landing::State::kFree) return &landing;
    }
    return nullptr;
  }
  Landing* find(std::uint64_t flow, std::uint32_t ordinal) noexcept {
    for (Landing& landing : slots_) {
      const bool here = landing.state != Landing::State::kFree && landing.frame.flow == flow &&
                        landing.frame.ordinal == ordinal;
      if (here) return &landing;
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
    if (state == State::kWanted) {
      mixed_ = wanted_++ > 0 && (mixed_ || flow != wanted_flow_);
      wanted_flow_ = flow;
    } else if (state == State::kAnnounced) {
      told_ = flow == std::exchange(told_flow_, flow) ? told_ + 1 : 1;
    }
    landing.state = state;
    if (state == State::kFree) landing = Landing{};
  }
  // What is wanted is announced without waiting for more.
  void hurry() noexcept { mixed_ = wanted_ > 0; }
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
    for (Landing& landing : slots_) {
      if (landing.state != Landing::State::kFree) visit(landing);
    }
  }

 private:
  static constexpr std::uint32_t kBatch = 4;

  std::array<Landing, kLandingSlots> slots_;
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
    if (offer.slot >= kLandingSlots || live_[offer.slot]) return false;
    offers_[offer.slot] = offer;
    live_[offer.slot] = true;
    ++count_;
    return true;
  }
  [[nodiscard]] bool retire(std::uint32_t slot) noexcept {
    if (slot >= kLandingSlots || !live_[slot]) return false;
    live_[slot] = false;
    --count_;
    return true;
  }
  // The place for this frame, if its receiver expects just this one.
  const Announcement* find(const net::FrameHeader& frame) const noexcept {
    for (std::uint32_t slot = 0; count_ > 0 && slot < kLandingSlots; ++slot) {
      if (live_[slot] && suits(offers_[slot].frame, frame)) return &offers_[slot];
    }
    return nullptr;
  }
  void clear() noexcept {
    live_.fill(false);
    count_ = 0;
  }
  std::uint32_t count() const noexcept { return count_; }

 private:
  static bool suits(const net::FrameHeader& expected, const net::FrameHeader& frame) noexcept {
    return expected.flow == frame.flow && expected.ordinal == frame.ordinal &&
           expected.bytes == frame.bytes && expected.signature == frame.signature &&
           expected.total == frame.total && expected.kind == frame.kind;
  }

  std::array<Announcement, kLandingSlots> offers_;
  std::array<bool, kLandingSlots> live_ = {};
  std::uint32_t count_ = 0;
};

}  // namespace espalier::rdma
