// VerbsDatagramPort: net/rdma/datagram_port.hpp on a UD queue pair.
//
// Sends become a list of work requests that one doorbell hands over, with at most one completion
// per doorbell; small ones travel inline and ask for none. A send that fails (the link is down,
// say) puts a UD queue pair into an error state, from which the port takes it out again: such
// datagrams are lost, like any other. Work requests carry the generation of the queue pair, so
// completions of the time before are told apart.
//
// The device's length check is not relied on: Soft-RoCE sends more than an MTU without a word.
//
// Ownership: borrows the adapter; owns packets and paths. Threads: owner. path: data
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "net/verbs/completion_queue.hpp"
#include "net/verbs/packet_memory.hpp"

namespace espalier::verbs {

class VerbsDatagramPort final : public rdma::DatagramPort, private EventTarget {
 public:
  static Result<std::unique_ptr<rdma::DatagramPort>> create(VerbsAdapter& adapter,
                                                            const DatagramOptions& options);

  rdma::PortAddress address() const noexcept override { return datagram_address(own_); }
  std::uint32_t packet_bytes() const noexcept override { return own_.mtu_bytes; }
  // The ICRC of InfiniBand and RoCE: 32 bits over all that no switch changes.
  bool intact() const noexcept override { return true; }
  std::uint32_t receive_depth() const noexcept override { return options_.receive_packets; }
  Result<rdma::PathId> open_path(const rdma::PortAddress& to) override;
  rdma::Packet* take() noexcept override;
  void give(rdma::Packet& packet) noexcept override;
  bool send(rdma::PathId to, rdma::Packet& packet, bool more) noexcept override;
  void flush() noexcept override { ring(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return adapter_.fault(); }
  bool link_up() const noexcept override { return adapter_.link_up(); }
  int descriptor() const noexcept override { return completions_->descriptor(); }
  bool arm() noexcept override;

 private:
  static constexpr std::size_t kBatch = 32;

  struct Path {
    ibv_ah* handle = nullptr;
    std::uint32_t queue_pair = 0, key = 0;
  };
  // A port is the destination of several queue pairs, of all ranks of a node: one handle. Where it
  // could not be had: why, and when to ask again.
  struct Destination {
    AddressHandle handle;
    Error refused;
    std::uint64_t next_try_ns = 0;
  };
  struct PortKey {
    GidBytes gid;
    std::uint16_t lid;
    friend auto operator<=>(const PortKey&, const PortKey&) = default;
  };

  VerbsDatagramPort(VerbsAdapter& adapter, const DatagramOptions& options)
      : adapter_(adapter), options_(options), in_queue_(options.send_depth) {}
  // What stands at this position of the send queue, whose depth is a power of two.
  rdma::Packet*& queued(std::uint32_t position) noexcept {
    return in_queue_[position & (options_.send_depth - 1)];
  }
  Outcome open();
  Outcome create_queue_pair();
  Outcome start_queue_pair();
  void post_receives();
  Outcome find(Destination& destination, const Endpoint& peer);

  void queue_broken(std::uint32_t queue_pair) noexcept override;
  std::uint64_t send_id(std::uint32_t position) const noexcept;
  std::uint64_t receive_id(const rdma::Packet& packet) const noexcept;
  void ring() noexcept;
  void finish(ibv_wc completion, rdma::DatagramSink& sink) noexcept;
  void finish_failed(const ibv_wc& completion) noexcept;
  void retire(std::uint32_t end) noexcept;
  void release(rdma::Packet& packet) noexcept;
  void revive() noexcept;

  VerbsAdapter& adapter_;
  const DatagramOptions options_;
  Endpoint own_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<PacketMemory> packets_;  // for arrivals, then for sending
  QueuePair queue_pair_;
  std::unique_ptr<ReceivePoster> receives_;
  std::map<PortKey, Destination> destinations_;
  std::vector<Path> paths_;

  rdma::Packet* free_ = nullptr;
  // The send queue: positions [head_, tail_) wait for completions, the last batched_ of them for
  // the doorbell. Slots of inline sends hold no packet after it.
  std::vector<rdma::Packet*> in_queue_;
  std::uint32_t head_ = 0, tail_ = 0;
  std::array<ibv_send_wr, kBatch> batch_ = {};
  std::array<ibv_sge, kBatch> places_;
  std::uint32_t batched_ = 0;
  std::uint32_t unsignaled_ = 0;  // sends since the last that asked for a completion
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t generation_ = 0;
  bool broken_ = false;
  unsigned idle_polls_ = 0;
};

}  // namespace espalier::verbs
