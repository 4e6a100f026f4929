// RdmaStack: one RDMA device of this machine and all that makes a link of it: ports, reliable
// datagrams, connections, and RdmaLink over both.
//
// Opened before the cards are exchanged, because they carry the address of its datagrams; the links
// are made when all cards are known. Connections need datagrams, which carry their letters.
//
// Ownership: borrows the clock. Threads: the owner of the worker. path: setup (its link: data)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/card.hpp"
#include "bootstrap/group_terms.hpp"
#include "bootstrap/wire_choice.hpp"
#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/descriptor_set.hpp"
#include "core/log.hpp"
#include "core/memory_watch.hpp"
#include "net/multicast/placing_port.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/rdma/rdma_link.hpp"

namespace espalier::verbs {
class Adapter;
struct Options;
struct PortInfo;
}  // namespace espalier::verbs

namespace espalier {

class RdmaStack final : private rdma::AddressBook {
 public:
  // `connections`: as many at most, of both ranks' making; 0: none are wanted. The best port that
  // can be opened; `log` is told of those before it. An error of code ESP_ERR_CONFIG: a setting
  // asks for what is not there; else this machine, or what this process may do, is the reason.
  static Result<std::unique_ptr<RdmaStack>> open(const Config& config, std::uint32_t connections,
                                                 int node_rank, const Log& log);
  ~RdmaStack();
  RdmaStack(const RdmaStack&) = delete;
  RdmaStack& operator=(const RdmaStack&) = delete;

  // For the own card: kUd with the address of the datagrams, kRc if there can be connections.
  std::vector<CardAddress> addresses() const;
  std::string device() const;        // its name
  std::string port_name() const;     // "rxe0:1"
  std::uint32_t port_mbits() const;  // per second; 0: not known
  // Of multicast; kNone: why_no_groups() says why.
  GroupTerms group_terms() const;
  std::string why_no_groups() const;
  Result<std::unique_ptr<multicast::GroupPort>> open_group(const multicast::GroupAddress& group);
  Result<std::unique_ptr<multicast::PlacingPort>> open_lane(const multicast::GroupAddress& group);
  // Why there are no connections although they are wanted; empty: there are.
  const std::string& why_no_connections() const noexcept { return why_no_connections_; }

  // `wires`: what was chosen for each rank; it and the directory outlive this. `connections_max`:
  // peers that get a connection.
  Outcome connect(const Config& config, const Directory& directory, Rank me,
                  const std::vector<WireKind>& wires, std::uint32_t connections_max, Clock& clock,
                  Counters& counters, const Log& log);

  // From here on: connected.
  net::Link& link() noexcept { return *link_; }
  // "rc by rxe0:1, connection 3, ..."
  std::string describe(Rank rank) const;
  const char* why_datagrams(Rank rank) const noexcept { return link_->why_datagrams(rank); }
  std::string describe() const;  // the device
  // Memory that large frames are sent from and placed into without a copy, until let_go(). Where
  // it cannot be registered it is used like any other.
  void hold(const void* memory, std::uint64_t bytes) noexcept;
  // No effect on what is not held.
  void let_go(const void* memory) noexcept;
  // Such memory, or what the cache of registrations has or makes, until end(). Without bytes: none.
  rdma::Lease lease(const void* memory, std::uint64_t bytes, rdma::Use use) noexcept;
  void end(rdma::Lease& lease) noexcept;
  // Memory of a device that the adapter writes, until drop_away(). nullptr: it does not.
  const rdma::Region* hold_away(const std::byte* memory, std::uint64_t bytes) noexcept;
  void drop_away(const std::byte* memory) noexcept;

 private:
  RdmaStack() = default;
  Result<rdma::PortAddress> address_of(Rank rank) const override;
  bool has_connections(Rank rank) const override;
  Outcome open_ports(const verbs::PortInfo& port, const verbs::Options& options,
                     std::uint32_t connections, const Log& log);
  Outcome open_connections(std::uint32_t connections);
  void watch_memory(const Config& config, const Log& log);
  Outcome make_connections(const Config& config, const Log& log, Rank me, std::uint32_t ranks,
                           Clock& clock, Counters& counters);

  // In the order of dependence; they go in the reverse one.
  std::unique_ptr<verbs::Adapter> adapter_;
  std::unique_ptr<rdma::DatagramPort> datagram_port_;
  std::unique_ptr<rdma::ConnectionPort> connection_port_;  // nullptr: datagrams alone
  std::unique_ptr<rdma::SendPackets> packets_;  // of the connections, until they are made
  std::unique_ptr<MemoryWatch> watch_;          // nullptr: no cache of registrations
  std::unique_ptr<DescriptorSet> descriptors_;  // of both ports
  std::string why_no_connections_;
  const Directory* directory_ = nullptr;
  const std::vector<WireKind>* wires_ = nullptr;
  std::unique_ptr<rdma::DatagramLink> datagrams_;
  std::unique_ptr<rdma::ConnectionLink> connections_;
  std::unique_ptr<rdma::RdmaLink> link_;
};

}  // namespace espalier
