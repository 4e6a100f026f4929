// VerbsConnectionPort: net/rdma/connection_port.hpp on RC queue pairs with one shared receive queue
// and one completion queue.
//
// Posts become a list of work requests that one doorbell hands over. The device is asked for a
// completion where the caller asks, and at least every half send queue, so that the queue drains
// whatever the caller asks. The completion queue has room for everything that may be posted, so it
// cannot overrun; this bounds the number of connections.
//
// Credits promise that there are receive_depth() packets in the shared receive queue or with the
// caller. A queue pair that ends may hold one of them: its device is given a millisecond to tell
// that it does not (IBV_EVENT_QP_LAST_WQE_REACHED), and where it says nothing, as Soft-RoCE of
// Linux 6.1, a spare packet takes the place of the one that may be lost (spare_packets.hpp); when
// they are used up, receive_depth() falls.
//
// Ownership: borrows the adapter; owns packets, connections and registrations. Threads: owner.
// path: data
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/verbs/completion_queue.hpp"
#include "net/verbs/connection.hpp"
#include "net/verbs/packet_memory.hpp"
#include "net/verbs/spare_packets.hpp"

namespace espalier::verbs {

class VerbsConnectionPort final : public rdma::ConnectionPort, private EventTarget {
 public:
  static constexpr std::uint32_t kInlineMax = 256;

  static Result<std::unique_ptr<rdma::ConnectionPort>> create(VerbsAdapter& adapter,
                                                              const ConnectionOptions& options);

  std::uint32_t inline_bytes() const noexcept override { return options_.inline_bytes; }
  std::uint32_t packet_bytes() const noexcept override { return options_.packet_bytes; }
  std::uint32_t send_depth() const noexcept override { return options_.send_depth; }
  std::uint32_t receive_depth() const noexcept override {
    const std::uint32_t others = std::min(uncounted_ + lost_, options_.receive_packets);
    return options_.receive_packets - others;
  }
  void provide(std::uint32_t packets) noexcept override;

  Result<rdma::ConnectionId> create() override;
  rdma::ConnectionAddress address(rdma::ConnectionId which) const noexcept override;
  Outcome connect(rdma::ConnectionId which, const rdma::ConnectionAddress& to) override;
  void stop(rdma::ConnectionId which) noexcept override;
  void destroy(rdma::ConnectionId which) noexcept override;

  Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) override;
  Result<rdma::Region> enroll_file(int file, const std::byte* begin, std::uint64_t bytes) override;
  void withdraw(const rdma::Region& region) noexcept override;

  bool send(rdma::ConnectionId on, const rdma::Transfer& what) noexcept override;
  bool send_immediate(rdma::ConnectionId on, const rdma::Transfer& what,
                      std::uint32_t immediate) noexcept override;
  bool write(rdma::ConnectionId on, const rdma::Transfer& what, rdma::RemoteMemory to,
             bool with_immediate, std::uint32_t immediate) noexcept override;
  bool read(rdma::ConnectionId on, const rdma::Transfer& what,
            rdma::RemoteMemory from) noexcept override;
  bool atomic(rdma::ConnectionId on, const rdma::Transfer& result, rdma::RemoteMemory at,
              rdma::Atomic kind, std::uint64_t operand, std::uint64_t compare) noexcept override;
  void repost(rdma::Packet& packet) noexcept override;

  int poll(rdma::ConnectionSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return adapter_.fault(); }
  int descriptor() const noexcept override { return completions_->descriptor(); }
  bool arm() noexcept override;

 private:
  static constexpr std::size_t kBatch = 16;
  static constexpr std::uint32_t kSpares = 32;
  static constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;  // ids of packets; and an index

  VerbsConnectionPort(VerbsAdapter& adapter, const ConnectionOptions& options)
      : adapter_(adapter), options_(options) {}
  Outcome open();
  Outcome fit_options();
  Outcome fit_inline_bytes();
  Result<QueuePair> make_queue_pair();
  Result<QueuePair> make_distinct_queue_pair();

  Connection& at(rdma::ConnectionId which) noexcept;
  const Connection& at(rdma::ConnectionId which) const noexcept;
  std::uint32_t index(const Connection& connection) const noexcept;

  void post(rdma::ConnectionId on, const rdma::Transfer& what, ibv_send_wr& request) noexcept;
  void fill(ibv_send_wr& request, const rdma::Transfer& what) noexcept;
  void copy_to_slot(ibv_send_wr& request) noexcept;
  ibv_send_wr* next_request(rdma::ConnectionId on) noexcept;
  void ring() noexcept;

  void queue_broken(std::uint32_t queue_pair) noexcept override;
  void receives_back(std::uint32_t queue_pair) noexcept override;
  void finish(ibv_wc completion, rdma::ConnectionSink& sink) noexcept;
  void finish_arrival(const ibv_wc& completion, rdma::ConnectionSink& sink) noexcept;
  void finish_send(const ibv_wc& completion, rdma::ConnectionSink& sink) noexcept;
  void halt_failed(Connection& connection, bool inlined, ibv_wc_status status) noexcept;
  void halt(Connection& connection, rdma::Fault why) noexcept;
  void await_receives(const Connection& connection) noexcept;
  int tell_halted(rdma::ConnectionSink& sink, int budget) noexcept;

  VerbsAdapter& adapter_;
  ConnectionOptions options_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<PacketMemory> packets_;
  // For small sends of a device that refuses them inline (inline_sends.hpp): one packet for each
  // connection, with a slot for each position of its send queue.
  std::unique_ptr<PacketMemory> slots_;
  SharedReceives shared_;
  std::unique_ptr<ReceivePoster> receives_;
  std::uint32_t late_ = 0;       // packets that may be posted again late
  std::uint32_t uncounted_ = 0;  // those, and those of packets_each
  std::uint32_t provided_ = 0;   // packets that have been posted
  std::uint32_t lost_ = 0;       // packets that queue pairs may have taken along
  SparePackets spares_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by ConnectionId
  std::unordered_map<std::uint32_t, std::uint32_t> by_queue_pair_;
  std::pair<std::uint32_t, std::uint32_t> heard_ = {};  // of those, the last that had an arrival
  // Halted ones whose end has not been told in full.
  std::vector<std::uint32_t> halted_;

  // Requests that wait for the doorbell, all for one connection; inline data is copied, because
  // the caller may change it after a post.
  std::array<ibv_send_wr, kBatch> batch_ = {};
  std::array<ibv_sge, kBatch> places_;
  std::array<std::array<std::byte, kInlineMax>, kBatch> copies_;
  std::uint32_t batched_ = 0;
  Connection* batch_of_ = nullptr;
  unsigned idle_polls_ = 0;
  bool has_told_ = false;     // of a queue pair's end; the device may never do it
  std::uint32_t untold_ = 0;  // ends that it has not told
};

}  // namespace espalier::verbs
