// SimPlacingPort: one rank's end of a lane (net/multicast/placing_port.hpp) in a simulated
// GroupNet: a group port, from whose packets payload is put into the places, which costs nothing,
// as an adapter's writing does.
//
// Places are used up when poll() looks, so a packet may find one that was posted after it came. A
// packet carries a checksum, as on RoCE: damaged ones are dropped.
//
// Ownership: borrows the net. Threads: owner. path: data
#pragma once

#include <deque>

#include "net/multicast/placing_port.hpp"
#include "net/sim/sim_group_port.hpp"

namespace espalier::sim {

struct PlacingPortOptions {
  GroupPortOptions group;
  std::uint32_t places = 2048;
  bool enrolls = true;  // false: no memory is for lanes
};

class SimPlacingPort final : public multicast::PlacingPort, private rdma::DatagramSink {
 public:
  SimPlacingPort(GroupNet& net, Rank rank, const multicast::GroupAddress& address,
                 const PlacingPortOptions& options = {})
      : options_(options), port_(net, rank, address, options.group) {}
  ~SimPlacingPort() override;

  multicast::Joined joined() noexcept override { return port_.joined(); }
  std::uint32_t payload_bytes() const noexcept override {
    return port_.packet_bytes() - multicast::kLaneHeaderBytes - kSumBytes;
  }
  std::uint32_t depth() const noexcept override { return options_.places; }
  Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) override;
  void withdraw(const rdma::Region&) noexcept override {}

  bool post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t key,
                  std::uint64_t token) noexcept override;
  void show_places() noexcept override {}
  void flush_places(multicast::PlacingSink& sink) noexcept override;
  bool send(multicast::LaneHeader header, const std::byte* payload, std::uint32_t bytes,
            std::uint32_t key, bool more) noexcept override;
  void flush() noexcept override { port_.flush(); }
  std::uint32_t sending() const noexcept override {
    return static_cast<std::uint32_t>(sending_.size());
  }
  int poll(multicast::PlacingSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return port_.fault(); }
  int descriptor() const noexcept override { return port_.descriptor(); }
  bool arm() noexcept override { return port_.arm(); }

 private:
  static constexpr std::uint32_t kSumBytes = 4;

  struct Place {
    std::byte* memory = nullptr;
    std::uint32_t bytes = 0;
    std::uint64_t token = 0;
  };
  void arrived(rdma::Packet& packet) noexcept override;
  bool place(const rdma::Packet& packet);

  const PlacingPortOptions options_;
  SimGroupPort port_;
  std::deque<Place> places_;
  std::deque<rdma::Packet*> sending_;       // that have not left
  multicast::PlacingSink* sink_ = nullptr;  // during poll()
};

}  // namespace espalier::sim
