// Pulls: large frames that their receiver reads out of the sender's memory (RDMA read), when its
// receive is posted. For frames that are posted before their receiver has announced a place.
//
//   sender                                    receiver
//   kReadable: slot, serial, where, header -> waits for the receive; reads; delivers
//                  answered: slot, how     <- kFetched: it has been read; or: send it
//
// The sender keeps the memory until the answer. "Send it" is the answer where the receive's memory
// is none that the adapter may write, and to a sender that needs its memory back or leaves, which
// says so by a kReadable without a key. The answer is counted, so it arrives once, whatever becomes
// of connections; kReadable speaks of one connection: what is not answered is told again on the
// next. The serial tells a frame that was answered when the connection broke from the next one in
// its slot.
//
// Both tables are small, and searched from the front. Threads: owner. path: data
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "net/rdma/connection_message.hpp"

namespace espalier::rdma {

struct Landing;

inline constexpr std::uint32_t kPullSlots = 32;

// What the sender keeps. `Post` is the link's.
template <typename Post>
class Readables {
 public:
  struct Slot {
    Post* post = nullptr;
    std::uint32_t serial = 0;
    bool readable = false;  // else the peer is to ask for it
  };

  bool empty() const noexcept { return used_ == 0; }
  bool any_untold() const noexcept { return untold_ != 0; }
  // False: all slots are taken.
  bool put(Post& post) noexcept {
    if (~used_ == 0) return false;
    const auto index = static_cast<std::uint32_t>(std::countr_one(used_));
    slots_[index] = {&post, slots_[index].serial + 1, true};
    used_ |= bit(index);
    untold_ |= bit(index);
    return true;
  }
  // The post of an answered slot, or nullptr: nothing is there.
  Post* take(std::uint32_t index) noexcept {
    if (index >= kPullSlots || (used_ & bit(index)) == 0) return nullptr;
    used_ &= ~bit(index);
    untold_ &= ~bit(index);
    return slots_[index].post;
  }
  // Of the next that the peer does not know.
  std::uint32_t untold() const noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(untold_));
  }
  Slot& told(std::uint32_t index) noexcept {
    untold_ &= ~bit(index);
    return slots_[index];
  }
  // On a new connection.
  void untell() noexcept { untold_ = used_; }
  // The peer is to ask for this one, which it is told (again).
  void make_unreadable(std::uint32_t index) noexcept {
    slots_[index].readable = false;
    untold_ |= bit(index);
  }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t rest = used_; rest != 0; rest &= rest - 1) {
      const auto index = static_cast<std::uint32_t>(std::countr_zero(rest));
      visit(index, slots_[index]);
    }
  }

 private:
  static constexpr std::uint32_t bit(std::uint32_t index) noexcept { return 1U << index; }

  std::uint32_t used_ = 0, untold_ = 0;
  std::array<Slot, kPullSlots> slots_;
};
static_assert(kPullSlots == 32, "a bit of a word for each");

// A frame that the receiver may read.
struct Pull {
  enum class State : std::uint8_t {
    kAnswered,  // nothing is there, or its answer is on its way
    kOffered,   // waits for its receive
    kStale,     // ... and to be told again on this connection
    kWanted,    // it has a landing, and is to be read
    kReading,
    kRead,  // waits until another frame of the peer has ended
  };
  State state = State::kAnswered;
  bool known = false;  // `serial` means something
  std::uint32_t serial = 0;
  RemoteMemory memory;
  net::FrameHeader frame;
  Landing* landing = nullptr;  // kStale: of one that was being read
};

class Pulls {
 public:
  Pull& at(std::uint32_t slot) noexcept { return pulls_[slot]; }
  std::uint32_t slot(const Pull& pull) const noexcept {
    return static_cast<std::uint32_t>(&pull - pulls_.data());
  }
  // One that is not answered, or nullptr.
  Pull* find(std::uint64_t flow, std::uint32_t ordinal) noexcept {
    return search([&](const Pull& p) {
      return p.state != Pull::State::kAnswered && p.frame.flow == flow &&
             p.frame.ordinal == ordinal;
    });
  }
  Pull* find(const Landing* landing) noexcept {
    return search([&](const Pull& p) { return p.landing == landing; });
  }
  Pull* find(Pull::State state) noexcept {
    return search([&](const Pull& p) { return p.state == state; });
  }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (Pull& pull : pulls_) visit(pull);
  }

 private:
  template <typename Matches>
  Pull* search(Matches&& matches) noexcept {
    for (Pull& pull : pulls_) {
      if (matches(pull)) return &pull;
    }
    return nullptr;
  }
  std::array<Pull, kPullSlots> pulls_;
};

}  // namespace espalier::rdma
