// SimConnectionPort: one rank's ConnectionPort in a simulated World; see connection_net.hpp for
// what operations cost and how they fail.
//
// Misuse that an adapter would punish by silent damage is found here: keys and ranges are checked,
// send queues are counted as adapters count them (an unsignaled operation keeps its place until a
// later completion was polled), completion queues overrun.
//
// Ownership: borrows the net; owns its packets. Threads: owner. path: data
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "net/sim/connection_net.hpp"

namespace espalier::sim {

class SimConnectionPort final : public rdma::ConnectionPort {
 public:
  SimConnectionPort(ConnectionNet& net, Rank rank);
  ~SimConnectionPort() override;
  SimConnectionPort(const SimConnectionPort&) = delete;
  SimConnectionPort& operator=(const SimConnectionPort&) = delete;

  std::uint32_t inline_bytes() const noexcept override { return net_.limits().inline_bytes; }
  std::uint32_t packet_bytes() const noexcept override { return net_.limits().packet_bytes; }
  std::uint32_t send_depth() const noexcept override { return net_.limits().send_depth; }
  std::uint32_t receive_depth() const noexcept override {
    return net_.limits().receive_depth - lost_;
  }

  void provide(std::uint32_t packets) noexcept override;

  Result<rdma::ConnectionId> create() override;
  rdma::ConnectionAddress address(rdma::ConnectionId which) const noexcept override;
  Outcome connect(rdma::ConnectionId which, const rdma::ConnectionAddress& to) override;
  void stop(rdma::ConnectionId which) noexcept override;
  void destroy(rdma::ConnectionId which) noexcept override;

  Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) override;
  // What is called memory of a device is the host's here.
  Result<rdma::Region> enroll_file(int, const std::byte* begin, std::uint64_t bytes) override {
    return enroll(begin, bytes);
  }
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
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return queue_.empty() && fault_.ok(); }

  // Regions enrolled, connections that were not destroyed: for tests.
  std::size_t regions() const noexcept { return regions_.size(); }
  std::size_t connections() const noexcept;
  std::size_t packets_posted() const noexcept { return idle_packets_.size(); }
  std::size_t packets_provided() const noexcept { return provided_; }

 private:
  friend class ConnectionNet;
  struct Completion {
    enum class Kind : std::uint8_t {
      kReceived,
      kReceivedImmediate,
      kPlaced,
      kCompleted,
      kBroken,
      kFailed
    };
    Kind kind = Kind::kReceived;
    rdma::Fault why = rdma::Fault::kLocal;
    ConnectionNet::End* end = nullptr;
    rdma::Packet* packet = nullptr;
    std::uint64_t cookie = 0;
    std::uint32_t immediate = 0, bytes = 0;
    std::uint32_t slots = 0;  // free again when this has been polled
  };

  ConnectionNet::End& end(rdma::ConnectionId which) const noexcept;
  bool post(rdma::ConnectionId on, const rdma::Transfer& what, ConnectionNet::Operation*& made);
  void hand_over(const Completion& completion, rdma::ConnectionSink& sink) noexcept;
  // The net's.
  void push(const Completion& completion) noexcept;
  void fail(Status status) noexcept;
  void lose_packet(std::uint32_t& takers) noexcept;
  bool covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
              bool remote) const noexcept;

  ConnectionNet& net_;
  const Rank rank_;
  Status fault_;
  std::vector<ConnectionNet::End*> ends_;  // by id; nullptr: free
  std::map<std::uint64_t, rdma::Region> regions_;
  std::uint64_t next_region_ = 1;
  std::vector<std::byte> memory_;  // of the packets
  std::vector<rdma::Packet> packets_;
  std::deque<rdma::Packet*> idle_packets_;
  std::size_t provided_ = 0;  // of packets_
  std::uint32_t lost_ = 0;    // of those
  std::deque<Completion> queue_;
};

}  // namespace espalier::sim
