// VerbsGroupPort: net/multicast/group_port.hpp on a UD queue pair (datagram_queue.hpp) that is in a
// multicast group (group_membership.hpp).
//
// One operation is one packet on the wire, whatever the number of members. It comes back where
// other queue pairs of the same port are members, and on Soft-RoCE to the sender, too.
//
// Ownership: borrows the adapter; leaves the group when it ends. Threads: owner. path: data
#pragma once

#include <memory>

#include "net/verbs/datagram_queue.hpp"
#include "net/verbs/group_membership.hpp"

namespace espalier::verbs {

class VerbsGroupPort final : public multicast::GroupPort {
 public:
  static Result<std::unique_ptr<multicast::GroupPort>> create(VerbsAdapter& adapter,
                                                              const multicast::GroupAddress& group,
                                                              const DatagramOptions& options);

  // Once it is kYes nothing is asked any more: what the connection manager tells later is looked at
  // when the port goes to sleep.
  multicast::Joined joined() noexcept override;
  std::uint32_t packet_bytes() const noexcept override { return adapter_.mtu_bytes(); }
  // The ICRC of RoCE, as of any datagram.
  bool intact() const noexcept override { return true; }
  std::uint32_t receive_depth() const noexcept override { return queue_->receive_depth(); }
  rdma::Packet* take() noexcept override { return queue_->take(); }
  void give(rdma::Packet& packet) noexcept override { queue_->give(packet); }
  bool send(rdma::Packet& packet, bool more) noexcept override;
  void flush() noexcept override { queue_->flush(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override {
    return queue_->poll(sink, budget);
  }
  const Status& fault() const noexcept override;
  int descriptor() const noexcept override { return queue_->descriptor(); }
  bool arm() noexcept override;

 private:
  static constexpr std::uint32_t kAllMembers = 0xFFFFFF;  // as a queue pair's number

  VerbsGroupPort(VerbsAdapter& adapter, std::uint32_t key) noexcept : adapter_(adapter) {
    to_all_.key = key;
  }

  VerbsAdapter& adapter_;
  std::unique_ptr<DatagramQueue> queue_;
  std::unique_ptr<GroupMembership> membership_;  // ends before the queue pair
  DatagramQueue::Destination to_all_ = {.queue_pair = kAllMembers};
};

}  // namespace espalier::verbs
