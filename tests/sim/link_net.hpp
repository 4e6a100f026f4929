// LinkNet: ranks with DatagramLinks over simulated ports, and traffic whose every byte is checked.
//
// Each rank posts numbered frames to some others, in its turns, and checks what comes: each frame
// once, in order, whole. Payloads are spoiled as soon as they are the rank's again.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/attended_clock.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/sim/sim_datagram_port.hpp"
#include "sim_world.hpp"

namespace espalier::test {

struct LinkNetOptions {
  std::uint32_t ranks = 2;
  std::uint64_t seed = 1;
  std::string faults;
  sim::PortOptions port;
  std::uint32_t frames = 50;  // from each rank to each other, on average
  std::uint64_t bytes_max = 3000;
  std::uint32_t first_sequence = 0;
  std::uint64_t give_up_ns = 20'000'000;
  std::uint64_t keepalive_ns = 5'000'000;
  bool withdraws = false;  // some pending posts are taken back
  bool replies = false;    // some arrivals cause a frame from inside the sink
  // All ranks are stopped, and go on one after the other; by the clock of the links of a job they
  // were not there meanwhile (of each distance it counts `attended_ns`; 0: the world's clock).
  std::uint64_t stop_ns = kNever, stopped_ns = 0, apart_ns = 0, attended_ns = 0;
};

class LinkNet {
 public:
  explicit LinkNet(const LinkNetOptions& options);
  ~LinkNet();

  // Until nothing happens any more but keepalives, or this time. Returns whether all have what they
  // should, and everybody is drained.
  bool run_until(std::uint64_t time_ns);
  // Everything is posted, arrived and acknowledged.
  bool complete() const;
  // Then: nothing is held, nothing under way.
  void say_goodbye();
  bool drained() const;
  std::string leftovers() const;

  sim::World& world() noexcept { return *world_; }
  sim::DatagramNet& net() noexcept { return *net_; }
  rdma::DatagramLink& link(Rank r) noexcept;
  sim::SimDatagramPort& port(Rank r) noexcept;
  const std::map<Rank, Status>& lost(Rank r) const noexcept;
  // The first thing that was wrong.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Node;
  struct Sending;
  static std::size_t index(Rank r) noexcept { return static_cast<std::size_t>(r); }
  static void on_turn(void* self, Rank rank);
  void take_turn(Node& node);
  bool post_some(Node& node);
  bool post_one(Node& node, Rank to);
  bool is_stopped(const Node& node);
  void fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
  }

  const LinkNetOptions options_;
  const sim::Machine machine_;
  std::unique_ptr<sim::Map> map_;
  std::unique_ptr<sim::World> world_;
  std::unique_ptr<sim::DatagramNet> net_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::string failure_;
};

}  // namespace espalier::test
