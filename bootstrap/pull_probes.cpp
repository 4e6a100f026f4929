#include "bootstrap/pull_probes.hpp"

#include <fmt/format.h>

#include "shm/cma.hpp"

namespace espalier {

Outcome PullProbes::begin() {
  if (mode_ == CmaMode::kOff) {
    text_ = "off: ESPALIER_CMA=off";
    return Unit{};
  }
  for (const Rank rank : parts_.nodes.locals) {
    if (parts_.processes.in_own_namespace(rank)) {
      ask(rank);
    } else {
      later_.push_back(rank);
    }
  }
  if (mode_ != CmaMode::kOn) return Unit{};
  finish();
  if (!denied_) return Unit{};
  return error(ESP_ERR_UNSUPPORTED, "ESPALIER_CMA=on, but CMA is " + text_);
}

void PullProbes::finish() {
  while (!done()) (void)progress();
}

int PullProbes::progress() noexcept {
  if (done()) return 0;
  ask(later_[next_++]);
  return 0;  // Nobody waits for it.
}

void PullProbes::ask(Rank rank) {
  const Card& card = parts_.nodes.card(rank);
  const VisiblePid pid = parts_.processes.pid(rank);
  const auto [access, number] = shm::probe_pull(pid, card.nonce_address, card.nonce);
  parts_.wire.set_process(rank, pid);
  auto& flag = parts_.segment.may_pull(parts_.segment.index(), parts_.wire.local(rank));
  flag.store(static_cast<std::uint8_t>(access), std::memory_order_relaxed);
  if (access == shm::PullAccess::kYes || denied_) return;
  denied_ = true;
  text_ = fmt::format("denied for rank {}: {}", rank, shm::explain_denied(number));
}

}  // namespace espalier
