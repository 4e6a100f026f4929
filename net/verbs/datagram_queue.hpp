// DatagramQueue: a UD queue pair with its packets: what ports of datagrams to one peer
// (datagram_port.hpp) and to a group (group_port.hpp) are made of.
//
// Sends become a list of work requests that one doorbell hands over, with at most one completion
// per doorbell; small ones travel inline and ask for none. A send that fails (the link is down,
// say) puts a UD queue pair into an error state, from which the queue takes it out again: such
// datagrams are lost, like any other. Work requests carry the generation of the queue pair, so
// completions of the time before are told apart.
//
// The device's length check is not relied on: Soft-RoCE sends more than an MTU without a word.
//
// Ownership: borrows the adapter and the counts; owns packets. Threads: owner. path: data
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "net/verbs/completion_queue.hpp"
#include "net/verbs/packet_memory.hpp"

namespace espalier::verbs {

class DatagramQueue final : private EventTarget {
 public:
  struct Destination {
    ibv_ah* handle = nullptr;
    std::uint32_t queue_pair = 0, key = 0;
  };

  // `key`: the Q_Key of packets that it takes.
  static Result<std::unique_ptr<DatagramQueue>> create(VerbsAdapter& adapter,
                                                       const DatagramOptions& options,
                                                       std::uint32_t key, rdma::PortCounts& counts);

  ibv_qp* queue_pair() const noexcept { return queue_pair_.get(); }
  std::uint32_t receive_depth() const noexcept { return options_.receive_packets; }

  // As those of rdma::DatagramPort.
  rdma::Packet* take() noexcept;
  void give(rdma::Packet& packet) noexcept;
  bool send(const Destination& to, rdma::Packet& packet, bool more) noexcept;
  void flush() noexcept { ring(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept;
  int descriptor() const noexcept { return completions_->descriptor(); }
  bool arm() noexcept;
  // The descriptor wakes for this source, too.
  Outcome also_wake_for(int source) { return completions_->also_wake_for(source); }

 private:
  static constexpr std::size_t kBatch = 32;

  DatagramQueue(VerbsAdapter& adapter, const DatagramOptions& options, std::uint32_t key,
                rdma::PortCounts& counts)
      : adapter_(adapter),
        options_(options),
        key_(key),
        counts_(counts),
        in_queue_(options.send_depth) {}
  // What stands at this position of the send queue, whose depth is a power of two.
  rdma::Packet*& queued(std::uint32_t position) noexcept {
    return in_queue_[position & (options_.send_depth - 1)];
  }
  Outcome open();
  Outcome create_queue_pair();
  Outcome start_queue_pair();
  void post_receives();

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
  const std::uint32_t key_;
  rdma::PortCounts& counts_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<PacketMemory> packets_;  // for arrivals, then for sending
  QueuePair queue_pair_;
  std::unique_ptr<ReceivePoster> receives_;

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
