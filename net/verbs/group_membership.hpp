// GroupMembership: a UD queue pair in a multicast group. The kernel's connection manager is asked,
// which lets the host join the IP group, so that the network delivers; and the device, which lets
// the queue pair hear. One without the other receives nothing.
//
// The answer comes later: look() asks without waiting. Ownership: borrows adapter and queue pair,
// which outlive it; leaves when it ends. Threads: owner. path: setup
#pragma once

#include <memory>

#include "net/verbs/adapter.hpp"

namespace espalier::verbs {

class GroupMembership {
 public:
  virtual ~GroupMembership() = default;

  virtual multicast::Joined look() noexcept = 0;
  virtual multicast::Joined joined() const noexcept = 0;
  // Of what is sent to the group; from kYes on.
  virtual ibv_ah* handle() const noexcept = 0;
  // After kFailed. The text is in the log.
  virtual const Status& fault() const noexcept = 0;
  // Readable when there is something to look at.
  virtual int descriptor() const noexcept = 0;
};

// `group` has been checked.
Result<std::unique_ptr<GroupMembership>> join_group(VerbsAdapter& adapter,
                                                    const multicast::GroupAddress& group,
                                                    ibv_qp* queue_pair);

}  // namespace espalier::verbs
