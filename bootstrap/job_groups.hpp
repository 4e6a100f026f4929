// JobGroups: multicast groups of the network for the teams of a job, by RDMA, or over UDP where
// ranks are connected by TCP. Addresses are computed alike by all members: nobody hands them out.
//
// Ownership: borrows the RDMA stack. Threads: owner. path: setup
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/group_terms.hpp"
#include "core/log.hpp"
#include "net/groups/group_host.hpp"
#include "net/multicast/group_port.hpp"
#include "net/tcp/interfaces.hpp"

namespace espalier {

class RdmaStack;

// In 239.0.0.0/8, with a key: of a team of a job, whose first member tells teams of one split
// apart.
multicast::GroupAddress group_address_of(std::uint64_t epoch, std::uint32_t team, Rank first);
// Of the lane of a source in it.
multicast::GroupAddress lane_address_of(std::uint64_t epoch, std::uint32_t team, Rank first,
                                        Rank source);

class JobGroups final : public net::GroupPorts {
 public:
  static std::unique_ptr<JobGroups> by_rdma(RdmaStack& stack);
  // By the first of these that has an IPv4 address.
  static std::unique_ptr<JobGroups> by_udp(const std::vector<net::Interface>& interfaces,
                                           const Log& log);

  // What this rank can do; of kind kNone: why_none() says why.
  const GroupTerms& terms() const noexcept { return terms_; }
  const std::string& why_none() const noexcept { return why_none_; }
  std::string adapter() const;  // for this machine, by name: the device's port, or the interface
  void use(std::uint64_t epoch, const GroupTerms& of_job) noexcept {
    epoch_ = epoch;
    agreed_ = of_job;
  }
  Result<std::unique_ptr<multicast::GroupPort>> open(std::uint32_t team, Rank first) override;
  // By RDMA alone.
  Result<std::unique_ptr<multicast::PlacingPort>> open_lane(std::uint32_t team, Rank first,
                                                            Rank source) override;
  rdma::Lease lease(const void* memory, std::uint64_t bytes, rdma::Use use) noexcept override;
  void end(rdma::Lease& lease) noexcept override;
  const rdma::Region* hold_away(const std::byte* memory, std::uint64_t bytes) noexcept override;
  void drop_away(const std::byte* memory) noexcept override;

 private:
  JobGroups() = default;
  Result<std::unique_ptr<multicast::GroupPort>> open_udp(const multicast::GroupAddress& address);

  RdmaStack* stack_ = nullptr;  // nullptr: over UDP
  net::Interface interface_;
  Log log_;
  GroupTerms terms_, agreed_;
  std::string why_none_;
  std::uint64_t epoch_ = 0;
};

}  // namespace espalier
