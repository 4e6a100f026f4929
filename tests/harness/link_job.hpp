// LinkJob: ranks of a simulated World that talk over RDMA links (rdma_ranks.hpp), each sending
// drawn frames to each other, while the world does what its faults say. Every byte is checked,
// their order, and that each comes once; every completion fires once; nothing is left behind.
// Memory is overwritten as soon as it is the ranks' again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/attended_clock.hpp"
#include "tests/harness/accesses.hpp"
#include "tests/harness/rdma_ranks.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {

struct LinkJobOptions : RdmaRanksOptions {
  std::uint64_t seed = 1;
  std::uint32_t ranks = 2;
  std::string faults;
  rdma::DatagramLinkOptions datagrams;
  rdma::ConnectionOptions connections;
  std::uint32_t frames = 40;  // of each rank to each other
  std::uint64_t bytes_max = 40'000;
  double announced = 0.5;      // share of the frames that their receiver announces
  double registered = 0.5;     // of the payloads that lie in registered memory
  double calm = 0.3;           // share of looks at which a sender does not post yet
  double whims = 0;            // share of frames that are withdrawn, retracted or redirected
  double replies = 0;          // share of arrivals that cause a frame from inside the sink
  std::uint32_t accesses = 0;  // puts and gets of each rank to each other
  std::uint64_t limit_ns = 1'000'000'000;
  // All ranks are stopped, and go on one after the other; by the clock of the links of a job they
  // were not there meanwhile (of each distance it counts `attended_ns`).
  std::uint64_t stop_ns = kNever, stopped_ns = 0, apart_ns = 0, attended_ns = kNever;
};

// Of connections alone, and of datagrams alone with times that fit them.
LinkJobOptions connection_job(std::uint64_t seed = 1);
LinkJobOptions datagram_job(std::uint64_t seed = 1);

class LinkJob {
 public:
  explicit LinkJob(const LinkJobOptions& options);
  ~LinkJob();
  LinkJob(const LinkJob&) = delete;
  LinkJob& operator=(const LinkJob&) = delete;

  // Until all has arrived and all have said goodbye. Empty, or what was wrong.
  std::string run();
  // Without goodbyes: until nothing happens any more but keepalives, or this time. True: all
  // between ranks that live and have not lost each other has arrived and is acknowledged, and
  // nothing was wrong.
  bool run_until(std::uint64_t time_ns);
  bool complete() const;
  // Of ranks that live: what is held yet, though all is complete.
  std::string leftovers() const;

  // What a test makes happen at this time of the world.
  void at(std::uint64_t time_ns, std::function<void()> what);

  sim::World& world() noexcept { return bed_.world; }
  sim::DatagramNet& datagram_net() noexcept { return ranks_.datagram_net(); }
  sim::ConnectionNet& connection_net() noexcept { return ranks_.connection_net(); }
  rdma::DatagramLink& datagrams(Rank rank) noexcept { return *ranks_[rank].datagrams; }
  rdma::ConnectionLink& connections(Rank rank) noexcept { return *ranks_[rank].connections; }
  sim::SimDatagramPort& datagram_port(Rank rank) noexcept { return *ranks_[rank].datagram_port; }
  sim::SimConnectionPort& connection_port(Rank rank) noexcept {
    return *ranks_[rank].connection_port;
  }
  bool lost(Rank at, Rank peer) const { return !why(at, peer).ok(); }
  // How `at` was told that it has lost this peer; ESP_OK: it was not.
  const Status& why(Rank at, Rank peer) const;
  std::size_t losses(Rank at) const;
  std::uint32_t arrived(Rank at, Rank from) const;
  // When the last frame did.
  std::uint64_t last_arrival_ns() const noexcept { return last_arrival_ns_; }
  // The first thing that was wrong.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Frame;
  struct Stream;
  struct Node;
  struct Event final : sim::Happening {
    explicit Event(std::function<void()> what_) : what(std::move(what_)) {}
    void happen() noexcept override { what(); }
    std::uint64_t mark() const noexcept override { return 1; }
    std::function<void()> what;
  };

  static void on_sent(Completion& completion, Status status) noexcept;
  void make_node(Rank rank);
  void draw_frames(Node& receiver, Rank from);
  void place_frames();
  void turn(Node& node);
  bool is_stopped(const Node& node);
  bool announce(Node& node);
  bool post(Node& node);
  bool post_to(Node& node, Rank to);
  bool reach_over(Node& node);
  void part(Node& node);
  bool all_parted() const;
  std::string check_end() const;
  std::string story() const;
  void fail(std::string what) noexcept;

  Node& node(Rank rank) const noexcept { return *nodes_[static_cast<std::size_t>(rank)]; }
  Stream& stream(Rank from, Rank to) const noexcept;
  bool lives(const Node& node) const noexcept;

  const LinkJobOptions options_;
  const Rank size_;
  Prng prng_;
  SimBed bed_;
  RdmaRanks ranks_;
  Accesses accesses_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Event>> events_;
  bool parts_ = false;  // who has sent and got all says goodbye
  std::uint64_t last_arrival_ns_ = 0;
  std::string failure_;
};

}  // namespace espalier::test
