#include "net/multicast/group_sender.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {

bool GroupSender::open() const noexcept {
  const std::uint32_t window = ESP_PLANT(99, window_, window_ + 1);
  return next_ - stable_ < static_cast<std::int32_t>(window);
}

void GroupSender::sent(std::uint64_t now_ns) noexcept {
  next_ = next_ + 1;
  announced_ = stable_;
  moved_ns_ = now_ns;
  if (!open()) shut_since_ns_ = now_ns;
}

bool GroupSender::settle(Sequence stable, std::uint64_t now_ns) noexcept {
  if (!stable_.before(stable)) return false;
  ESP_ASSERT(!next_.before(stable));
  stable_ = stable;
  probes_ = 0;
  repetitions_ = 0;
  moved_ns_ = now_ns;
  shut_since_ns_ = kNever;
  return true;
}

std::uint64_t GroupSender::probe_ns(const ProbeTimes& times) const noexcept {
  // When all is stable the members are told once, who keep packets until then.
  if (idle() && announced_ == stable_) return kNever;
  if (ESP_PLANT(102, false, probes_ >= kProbesToAll)) return kNever;
  const std::uint32_t doubled = std::min(probes_, 20U);
  return moved_ns_ + std::min(times.probe_ns << doubled, std::max(times.max_ns, times.probe_ns));
}

GroupSender::Probe GroupSender::probe_due(std::uint64_t now_ns,
                                          const ProbeTimes& times) const noexcept {
  if (now_ns < probe_ns(times)) return Probe::kNone;
  return probes_ < kProbesToAll ? Probe::kToAll : Probe::kByMail;
}

void GroupSender::probed(std::uint64_t now_ns) noexcept {
  ++probes_;
  announced_ = stable_;
  moved_ns_ = now_ns;
}

}  // namespace espalier::multicast
