#include "net/verbs/group_port.hpp"

#include <fmt/format.h>

#include "net/multicast/group_address.hpp"
#include "net/verbs/address.hpp"

namespace espalier::verbs {

using multicast::Joined;
static_assert(multicast::kGroupKeyMax == kQKeyMask);

Result<std::unique_ptr<multicast::GroupPort>> VerbsGroupPort::create(
    VerbsAdapter& adapter, const multicast::GroupAddress& group, const DatagramOptions& options) {
  const Outcome right = check_group(group);
  if (!right) {
    return error(right.error().status.code(),
                 fmt::format("{}: {}", adapter.info().name(), right.error().text));
  }
  std::unique_ptr<VerbsGroupPort> port(new VerbsGroupPort(adapter, group.key));
  auto queue = DatagramQueue::create(adapter, options, group.key, port->counts_);
  if (!queue) return queue.error();
  port->queue_ = std::move(*queue);
  auto membership = join_group(adapter, group, port->queue_->queue_pair());
  if (!membership) return membership.error();
  port->membership_ = std::move(*membership);
  const Outcome watched = port->queue_->also_wake_for(port->membership_->descriptor());
  if (!watched) return watched.error();
  return std::unique_ptr<multicast::GroupPort>(std::move(port));
}

Joined VerbsGroupPort::joined() noexcept {
  if (!adapter_.fault().ok()) return Joined::kFailed;
  if (membership_->joined() == Joined::kNotYet) (void)membership_->look();
  to_all_.handle = membership_->handle();
  return membership_->joined();
}

bool VerbsGroupPort::send(rdma::Packet& packet, bool more) noexcept {
  if (to_all_.handle == nullptr) return false;  // joined() has not been kYes.
  return queue_->send(to_all_, packet, more);
}

const Status& VerbsGroupPort::fault() const noexcept {
  return adapter_.fault().ok() ? membership_->fault() : adapter_.fault();
}

bool VerbsGroupPort::arm() noexcept {
  const Joined before = membership_->joined();
  return membership_->look() == before && queue_->arm();
}

}  // namespace espalier::verbs
