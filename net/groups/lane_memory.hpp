// LaneMemory: a segment's memory while a lane's port may touch it; and the port of who has none.
//
// Memory that is registered anyhow (GroupPorts::lease) is used as it is, else it is registered for
// this segment. Ownership: registrations, not memory; end() takes them back. Threads: owner.
// path: data
#pragma once

#include <utility>

#include "net/groups/group_host.hpp"

namespace espalier::net {

class LaneMemory {
 public:
  // False: it is no memory for lanes.
  bool begin(GroupPorts& ports, multicast::PlacingPort& port, Counters& counters,
             const void* memory, std::uint64_t bytes, rdma::Use use) {
    lease_ = ports.lease(memory, bytes, use);
    if (lease_) return true;
    auto made = port.enroll(memory, bytes);
    if (!made) return false;
    if (use == rdma::Use::kWrite && !made->writable) {
      port.withdraw(*made);
      return false;
    }
    ++counters.registrations;
    lease_.region = *made;
    own_ = true;
    return true;
  }
  // The port does not touch it any more.
  void end(GroupPorts& ports, multicast::PlacingPort& port) noexcept {
    if (!lease_) return;
    if (std::exchange(own_, false)) {
      port.withdraw(std::exchange(lease_, {}).region);
    } else {
      ports.end(lease_);
    }
  }
  explicit operator bool() const noexcept { return bool(lease_); }
  std::uint32_t key() const noexcept { return lease_.region.local_key; }

 private:
  rdma::Lease lease_;
  bool own_ = false;
};

// Of a receiver that has no port for a lane: all comes by repairs.
class NoPlacingPort final : public multicast::PlacingPort {
 public:
  multicast::Joined joined() noexcept override { return multicast::Joined::kFailed; }
  std::uint32_t payload_bytes() const noexcept override { return ~std::uint32_t{0}; }
  std::uint32_t depth() const noexcept override { return ~std::uint32_t{0}; }
  Result<rdma::Region> enroll(const void*, std::uint64_t) override {
    return error(ESP_ERR_UNSUPPORTED, "there is no port");
  }
  void withdraw(const rdma::Region&) noexcept override {}
  bool post_place(std::byte*, std::uint32_t, std::uint32_t, std::uint64_t) noexcept override {
    return false;
  }
  void show_places() noexcept override {}
  void flush_places(multicast::PlacingSink&) noexcept override {}
  bool send(multicast::LaneHeader, const std::byte*, std::uint32_t, std::uint32_t,
            bool) noexcept override {
    return false;
  }
  std::uint32_t sending() const noexcept override { return 0; }
  int poll(multicast::PlacingSink&, int) noexcept override { return 0; }
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }

 private:
  Status fault_;
};

}  // namespace espalier::net
