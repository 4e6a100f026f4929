// GroupReceiver: what has come of one source's packets, what is missing, and when to ask for it.
//
//   expected ............ known
//      arrived or missing     not heard of
//
// A packet is missing from the moment that a later one, or a probe, has told of it. It is asked for
// when the reorder window is over, and again each time that `again_ns` (doubled each time, up to 8
// times) has passed and it was asked for before that; meanwhile nobody asks.
//
// Knows neither port nor clock, and holds no packets (History does). Threads: owner. path: data
#pragma once

#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/histogram.hpp"
#include "net/multicast/sequence_set.hpp"

namespace espalier::multicast {

struct AskTimes {
  std::uint64_t reorder_ns = 20'000;   // a later packet may overtake by so much
  std::uint64_t again_ns = 1'000'000;  // longer than a repair takes
};

class GroupReceiver {
 public:
  GroupReceiver(Sequence first, std::uint32_t window);

  enum class Verdict : std::uint8_t {
    kNew,
    kDuplicate,
    kForbidden,  // no sender has been permitted to send it
  };
  Verdict arrived(Sequence sequence, std::uint64_t now_ns, Histogram& repair_ns) noexcept;
  // Everything before `next` has been sent. False: it can not have been.
  bool hear(Sequence next, std::uint64_t now_ns) noexcept;
  // The next in order is here: hand it on, then advance().
  bool ready() const noexcept { return early_.has(expected_) && expected_.before(known_); }
  void advance() noexcept {
    early_.remove(expected_);
    expected_ = expected_ + 1;
  }

  Sequence expected() const noexcept { return expected_; }
  Sequence known() const noexcept { return known_; }
  std::uint32_t missing() const noexcept { return missing_; }
  // Packets that came after they had been asked for, since the beginning.
  std::uint32_t missed() const noexcept { return missed_; }
  bool has(Sequence sequence) const noexcept {
    return sequence.before(expected_) || (sequence.before(known_) && early_.has(sequence));
  }
  bool asked(Sequence sequence) const noexcept { return asked_.has(sequence); }
  // Bit i: packet expected() + 1 + i is here.
  rdma::ArrivalBits early() const noexcept;

  // When something is to be asked for; kNever: nothing is.
  std::uint64_t ask_ns(const AskTimes& times) const noexcept;
  // What is to be asked for now; counts as asked for. Returns how many ranges.
  std::uint32_t ask(std::uint64_t now_ns, const AskTimes& times, std::span<Range> ranges) noexcept;
  // A question could not be sent, or whoever was asked is gone.
  void unask(const Range& range) noexcept;
  void unask_all() noexcept;
  // Nothing from `end` on will come: what is here of it does not count as arrived any more.
  void end_at(Sequence end, std::uint64_t now_ns) noexcept;

 private:
  static constexpr std::uint32_t kBackoffMax = 3;

  std::uint64_t& since(Sequence sequence) noexcept {
    return since_ns_[sequence.value & (since_ns_.size() - 1)];
  }
  std::uint64_t since(Sequence sequence) const noexcept {
    return since_ns_[sequence.value & (since_ns_.size() - 1)];
  }
  bool misses(Sequence sequence) const noexcept { return !early_.has(sequence); }

  Sequence expected_, known_;
  const std::uint32_t window_;
  std::uint32_t missing_ = 0, missed_ = 0, backoff_ = 0;
  SequenceSet early_;        // arrived, of [expected, known)
  SequenceSet asked_, old_;  // missing, and asked for; before the last time
  std::uint64_t again_at_ns_ = kNever;
  std::vector<std::uint64_t> since_ns_;  // when a missing packet was told of
};

}  // namespace espalier::multicast
