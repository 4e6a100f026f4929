// VerbsDatagramPort: net/rdma/datagram_port.hpp on a UD queue pair (datagram_queue.hpp), with paths
// to its peers. Ownership: borrows the adapter; owns packets and paths. Threads: owner. path: data
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "net/verbs/datagram_queue.hpp"

namespace espalier::verbs {

class VerbsDatagramPort final : public rdma::DatagramPort {
 public:
  static Result<std::unique_ptr<rdma::DatagramPort>> create(VerbsAdapter& adapter,
                                                            const DatagramOptions& options);

  rdma::PortAddress address() const noexcept override { return datagram_address(own_); }
  std::uint32_t packet_bytes() const noexcept override { return own_.mtu_bytes; }
  // The ICRC of InfiniBand and RoCE: 32 bits over all that no switch changes.
  bool intact() const noexcept override { return true; }
  std::uint32_t receive_depth() const noexcept override { return queue_->receive_depth(); }
  Result<rdma::PathId> open_path(const rdma::PortAddress& to) override;
  rdma::Packet* take() noexcept override { return queue_->take(); }
  void give(rdma::Packet& packet) noexcept override { queue_->give(packet); }
  bool send(rdma::PathId to, rdma::Packet& packet, bool more) noexcept override;
  void flush() noexcept override { queue_->flush(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override {
    return queue_->poll(sink, budget);
  }
  const Status& fault() const noexcept override { return adapter_.fault(); }
  bool link_up() const noexcept override { return adapter_.link_up(); }
  int descriptor() const noexcept override { return queue_->descriptor(); }
  bool arm() noexcept override { return queue_->arm(); }

 private:
  // A port is the destination of several queue pairs, of all ranks of a node: one handle. Where it
  // could not be had: why, and when to ask again.
  struct KnownPort {
    AddressHandle handle;
    Error refused;
    std::uint64_t next_try_ns = 0;
  };
  struct PortKey {
    GidBytes gid;
    std::uint16_t lid;
    friend auto operator<=>(const PortKey&, const PortKey&) = default;
  };

  explicit VerbsDatagramPort(VerbsAdapter& adapter) noexcept : adapter_(adapter) {}
  Outcome find(KnownPort& port, const Endpoint& peer);

  VerbsAdapter& adapter_;
  Endpoint own_;
  std::unique_ptr<DatagramQueue> queue_;
  std::map<PortKey, KnownPort> ports_;
  std::vector<DatagramQueue::Destination> paths_;
};

}  // namespace espalier::verbs
