#include "net/multicast/group_receiver.hpp"

#include <algorithm>
#include <bit>

#include "core/plant.hpp"

namespace espalier::multicast {

GroupReceiver::GroupReceiver(Sequence first, std::uint32_t window)
    : expected_(first), known_(first), window_(window), since_ns_(std::bit_ceil(window)) {
  ESP_ASSERT(window > 0 && window <= kWindowMax);
}

GroupReceiver::Verdict GroupReceiver::arrived(Sequence sequence, std::uint64_t now_ns,
                                              Histogram& repair_ns) noexcept {
  if (sequence.before(expected_)) return Verdict::kDuplicate;
  if (sequence - expected_ >= static_cast<std::int32_t>(window_)) return Verdict::kForbidden;
  if (!sequence.before(known_)) {
    (void)hear(sequence, now_ns);
    known_ = sequence + 1;
    early_.add(sequence);
    return Verdict::kNew;
  }
  if (ESP_PLANT(98, early_.has(sequence), false)) return Verdict::kDuplicate;
  early_.add(sequence);
  --missing_;
  if (asked_.has(sequence)) {
    ++missed_;
    repair_ns.record(elapsed_ns(since(sequence), now_ns));
  }
  asked_.remove(sequence);
  old_.remove(sequence);
  if (!asked_.any()) {
    again_at_ns_ = kNever;
    backoff_ = 0;
  }
  return Verdict::kNew;
}

bool GroupReceiver::hear(Sequence next, std::uint64_t now_ns) noexcept {
  if (next - expected_ > static_cast<std::int32_t>(window_)) return false;
  for (; known_.before(next); known_ = known_ + 1) {
    since(known_) = now_ns;
    ++missing_;
  }
  return true;
}

rdma::ArrivalBits GroupReceiver::early() const noexcept {
  rdma::ArrivalBits bits;
  for (Sequence at = expected_ + 1; at.before(known_); at = at + 1) {
    if (early_.has(at)) bits.set(static_cast<std::uint32_t>(at - expected_) - 1);
  }
  return bits;
}

std::uint64_t GroupReceiver::ask_ns(const AskTimes& times) const noexcept {
  if (missing_ == 0) return kNever;
  // What is told of later is later in number, too.
  for (Sequence at = expected_; at.before(known_); at = at + 1) {
    if (misses(at) && !asked_.has(at)) {
      return std::min(again_at_ns_, since(at) + times.reorder_ns);
    }
  }
  return again_at_ns_;
}

std::uint32_t GroupReceiver::ask(std::uint64_t now_ns, const AskTimes& times,
                                 std::span<Range> ranges) noexcept {
  if (missing_ == 0) return 0;
  const bool again = now_ns >= again_at_ns_;
  std::uint32_t used = 0;
  bool all = true;
  for (Sequence at = expected_; at.before(known_) && all; at = at + 1) {
    if (!misses(at)) continue;
    const bool first = !asked_.has(at) && now_ns >= since(at) + times.reorder_ns;
    if (!first && !(again && old_.has(at))) continue;
    if (used > 0 && ranges[used - 1].first + ranges[used - 1].count == at) {
      ++ranges[used - 1].count;
    } else if (used < ranges.size()) {
      ranges[used++] = {at, 1};
    } else {
      all = false;  // The rest follows at once: it is due as before.
      continue;
    }
    asked_.add(at);
    if (again) old_.remove(at);
  }
  if (again && all) {
    old_ = asked_;
    backoff_ = std::min(backoff_ + 1, kBackoffMax);
    again_at_ns_ = kNever;
  }
  if (again_at_ns_ == kNever && asked_.any()) {
    if (!again) old_ = asked_;
    again_at_ns_ = ESP_PLANT(103, now_ns + (times.again_ns << backoff_), kNever);
  }
  return used;
}

void GroupReceiver::unask(const Range& range) noexcept {
  for (std::uint32_t i = 0; i < range.count; ++i) {
    asked_.remove(range.first + i);
    old_.remove(range.first + i);
  }
  if (!asked_.any()) again_at_ns_ = kNever;
}

void GroupReceiver::unask_all() noexcept {
  asked_.clear();
  old_.clear();
  again_at_ns_ = kNever;
  backoff_ = 0;
}

void GroupReceiver::end_at(Sequence end, std::uint64_t now_ns) noexcept {
  ESP_ASSERT(!end.before(expected_));
  while (end.before(known_)) {
    known_ = known_ + ~std::uint32_t{0};
    if (misses(known_)) --missing_;
    early_.remove(known_);
    asked_.remove(known_);
    old_.remove(known_);
  }
  (void)hear(end, now_ns);
}

}  // namespace espalier::multicast
