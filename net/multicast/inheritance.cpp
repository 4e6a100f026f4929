#include "net/multicast/inheritance.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {

bool Inheritance::Report::holds(Sequence sequence) const noexcept {
  if (sequence.before(expected)) return true;
  const std::int32_t beyond = sequence - expected;
  return beyond > 0 && ESP_PLANT(101, early.test(static_cast<std::uint32_t>(beyond) - 1), false);
}

bool Inheritance::complete(std::uint64_t view, const std::vector<bool>& dead) const noexcept {
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (!dead[i] && !(reports_[i].known && reports_[i].view == view)) return false;
  }
  return true;
}

Sequence Inheritance::end(const std::vector<bool>& dead) const noexcept {
  Sequence end;
  bool any = false;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (dead[i]) continue;
    if (!any || end.before(reports_[i].expected)) end = reports_[i].expected;
    any = true;
  }
  while (holder(end, kNobody, dead) != kNobody) end = end + 1;
  return end;
}

std::uint32_t Inheritance::holder(Sequence sequence, std::uint32_t me,
                                  const std::vector<bool>& dead) const noexcept {
  for (std::uint32_t i = 0; i < reports_.size(); ++i) {
    if (i != me && !dead[i] && reports_[i].holds(sequence)) return i;
  }
  return kNobody;
}

void Inheritance::owe_all(std::uint32_t me, const std::vector<bool>& dead) {
  for (std::size_t i = 0; i < owed_.size(); ++i) owed_[i] = i != me && !dead[i];
}

std::uint32_t Inheritance::next_owed() noexcept {
  for (std::uint32_t i = 0; i < owed_.size(); ++i) {
    if (owed_[i]) return i;
  }
  return kNobody;
}

}  // namespace espalier::multicast
