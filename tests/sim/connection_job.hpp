// ConnectionJob: ranks of a simulated World that talk over ConnectionLinks, each sending drawn
// frames to each other, while the world breaks what it may. Every byte is checked, their order, and
// that each comes once; every completion fires once; nothing is left behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connection_accesses.hpp"
#include "core/prng.hpp"
#include "letters.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/sim/connection_net.hpp"
#include "net/sim/sim_connection_port.hpp"

namespace espalier::test {

struct ConnectionJobOptions {
  std::uint64_t seed = 1;
  std::uint32_t ranks = 2;
  std::string faults;
  sim::ConnectionLimits limits;
  rdma::ConnectionOptions link;
  std::uint32_t frames = 40;  // of each rank to each other
  std::uint64_t bytes_max = 40'000;
  double announced = 0.5;      // share of the frames that their receiver announces
  double registered = 0.5;     // of the payloads that lie in registered memory
  double calm = 0.3;           // share of looks at which a sender does not post yet
  double whims = 0;            // share of frames that are withdrawn, retracted or redirected
  std::uint32_t accesses = 0;  // puts and gets of each rank to each other
  std::uint64_t limit_ns = 1'000'000'000;
};
inline ConnectionJobOptions seeded(std::uint64_t seed) {
  ConnectionJobOptions options;
  options.seed = seed;
  return options;
}

class ConnectionJob {
 public:
  explicit ConnectionJob(const ConnectionJobOptions& options);
  ~ConnectionJob();
  ConnectionJob(const ConnectionJob&) = delete;
  ConnectionJob& operator=(const ConnectionJob&) = delete;

  // Until all has arrived and all have said goodbye. Empty, or what was wrong.
  std::string run();

  sim::World& world() noexcept { return *world_; }
  sim::ConnectionNet& net() noexcept { return *net_; }
  rdma::ConnectionLink& link(Rank rank);
  sim::SimConnectionPort& port(Rank rank);
  std::uint32_t lost(Rank at, Rank peer) const;  // how often `at` was told
  esp_status why(Rank at, Rank peer) const;
  std::uint32_t arrived(Rank at, Rank from) const;
  // Ranks that nothing is expected of.
  void excuse(Rank rank);

 private:
  struct Frame;
  struct Stream;
  struct Node;

  static void on_turn(void* job, Rank rank) noexcept;
  static void on_sent(Completion& completion, Status status) noexcept;
  void make_node(Rank rank);
  void draw_frames(Node& receiver, Rank from);
  void place_frames();
  void turn(Node& node);
  bool announce(Node& node);
  bool post(Node& node);
  bool reach_over(Node& node);
  void part(Node& node);
  bool all_arrived() const;
  bool all_parted() const;
  std::string check_end();
  void fail(std::string what);

  const ConnectionJobOptions options_;
  Prng prng_;
  sim::Machine machine_;
  std::unique_ptr<sim::Map> map_;
  std::unique_ptr<sim::World> world_;
  std::unique_ptr<sim::ConnectionNet> net_;
  std::unique_ptr<Letters> letters_;
  ConnectionAccesses accesses_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::string failure_;
};

}  // namespace espalier::test
