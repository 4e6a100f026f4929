#include "net/multicast/inheritance.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {

bool Inheritance::Report::holds(Sequence sequence) const noexcept {
  if (sequence.before(expected)) return true;
  const std::int32_t beyond = sequence - expected;
  return beyond > 0 && ESP_PLANT(101, early.test(static_cast<std::uint32_t>(beyond) - 1), false);
}

bool Inheritance::complete(std::uint64_t view, const DeadMembers& dead) const noexcept {
  for (std::uint32_t i = 0; i < reports_.size(); ++i) {
    if (!dead.has(i) && !(reports_[i].known && reports_[i].view == view)) return false;
  }
  return true;
}

Sequence Inheritance::end(const DeadMembers& dead) const noexcept {
  Sequence end;
  bool any = false;
  for (std::uint32_t i = 0; i < reports_.size(); ++i) {
    if (dead.has(i)) continue;
    if (!any || end.before(reports_[i].expected)) end = reports_[i].expected;
    any = true;
  }
  while (holder(end, kNobody, dead) != kNobody) end = end + 1;
  return end;
}

std::uint32_t Inheritance::holder(Sequence sequence, std::uint32_t me,
                                  const DeadMembers& dead) const noexcept {
  for (std::uint32_t i = 0; i < reports_.size(); ++i) {
    if (i != me && !dead.has(i) && reports_[i].holds(sequence)) return i;
  }
  return kNobody;
}

void Inheritance::owe_all(std::uint32_t me, const DeadMembers& dead) {
  for (std::uint32_t i = 0; i < owed_.size(); ++i) owed_[i] = i != me && !dead.has(i);
}

std::uint32_t Inheritance::next_owed() noexcept {
  for (std::uint32_t i = 0; i < owed_.size(); ++i) {
    if (owed_[i]) return i;
  }
  return kNobody;
}

}  // namespace espalier::multicast
