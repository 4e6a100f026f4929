// End: one of the two processes of esp-verbs: a port of an RDMA device, the links over it and the
// wire, exactly as a rank of a job has them. Addresses are exchanged through files of a folder.
//
// Ownership: everything. Threads: one. path: setup
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/memory_watch.hpp"
#include "net/frame_wire.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/rdma/rdma_link.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier::bench {

// What was made, or its error as an exception.
template <typename T>
T must(Result<T> made) {
  if (!made) throw std::runtime_error(made.error().text);
  return std::move(*made);
}

enum class Over { kConnections, kDatagrams };

struct EndOptions {
  Over over = Over::kConnections;
  std::string device;              // "" : the nearest
  std::filesystem::path exchange;  // both processes see it
  Rank rank = 0;
  bool cache = false;  // registrations are kept (RDMA_CACHE_BYTES)
  bool read = true;    // large late segments are read by their receiver (RDMA_PULL_BYTES)
};

// Everything that is counted per segment; cumulative.
struct Tally {
  rdma::PortCounts port;  // of the port that carries the frames
  std::uint64_t packets_sent = 0, answers = 0, repeated = 0;
  std::uint64_t copied_bytes = 0;  // into packets and out of them
  std::uint64_t registrations = 0;
  std::uint64_t placed = 0;  // segments written by the adapter into the receiver's memory
};

class End final : private rdma::AddressBook {
 public:
  // Throws std::runtime_error: no device, or the other process did not come.
  explicit End(const EndOptions& options);
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  Rank rank() const noexcept { return options_.rank; }
  Rank peer() const noexcept { return 1 - options_.rank; }
  net::FrameWire& wire() noexcept { return *wire_; }
  net::Link& link() noexcept { return *link_; }
  bool reads() const noexcept { return options_.read; }
  // What is sent now goes by the connection, if there are to be any.
  bool connected() const noexcept {
    return connections_ == nullptr || (link_->connected(peer()) && !link_->holds());
  }
  rdma::ConnectionLink* connections() noexcept { return connections_.get(); }
  rdma::ConnectionPort* connection_port() noexcept { return connection_port_.get(); }
  std::uint32_t packet_bytes() const noexcept { return datagram_port_->packet_bytes(); }
  std::uint64_t now_ns() noexcept { return clock_.now_ns(); }
  Tally tally() const noexcept;

 private:
  Result<rdma::PortAddress> address_of(Rank rank) const override { return addresses_[rank]; }
  void exchange_addresses();
  std::filesystem::path file(const char* name, Rank rank) const;
  void wait_for(const std::filesystem::path& file) const;

  const EndOptions options_;
  SteadyClock clock_;
  Counters counters_;
  rdma::PortAddress addresses_[2];
  std::unique_ptr<MemoryWatch> watch_;
  std::unique_ptr<verbs::Adapter> adapter_;
  std::unique_ptr<rdma::DatagramPort> datagram_port_;
  std::unique_ptr<rdma::ConnectionPort> connection_port_;
  std::unique_ptr<rdma::DatagramLink> datagrams_;
  std::unique_ptr<rdma::ConnectionLink> connections_;
  std::unique_ptr<rdma::RdmaLink> link_;
  std::unique_ptr<net::FrameWire> wire_;
};

}  // namespace espalier::bench
