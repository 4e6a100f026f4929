// Cluster: a job of n simulated ranks in one thread. Each has the library's own counters, engine,
// team and plans, over a SimWire; they run one collective at a time and say when it was complete.
//
// With data (World's carry_data) every rank has buffers of its own and every result is checked.
// Without, all buffers are one mapping that nobody touches, and nothing is copied or combined; all
// of it costs the same virtual time.
//
// Figures are of the simulated machine, never of this one. Ownership: the machine and the map
// outlive the cluster. Threads: one. path: setup
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/engine/mover.hpp"
#include "coll/plan/plan.hpp"
#include "coll/team/team.hpp"
#include "core/counters.hpp"
#include "core/trace.hpp"
#include "net/sim/world.hpp"
#include "tools/esp-sim/application.hpp"
#include "tools/esp-sim/operation.hpp"
#include "tools/esp-sim/sim_mover.hpp"

namespace espalier::sim {

class Buffers;

struct ClusterOptions {
  WorldOptions world;
  Tuning tuning;
  std::shared_ptr<const Membership> around;  // localities that plans follow; nullptr: none
  Application application;                   // beside operations of one call
  Staging staging = Staging::kNone;
  Reducer reducer = Reducer::kHost;  // kPieces, kShared
};

struct RunResult {
  Status status;                            // the first failure
  std::string failure;                      // what it says
  std::uint64_t started_ns = 0;             // all ranks enter then
  std::vector<std::uint64_t> completed_ns;  // all calls, by rank, after the start; kNever: not
  std::uint64_t operation_ns = 0;           // until the last of those that completed
  std::uint64_t makespan_ns = 0;            // and until the applications of those were done
  std::uint64_t work_ns = 0;                // of the application that worked most
  std::uint32_t unfinished = 0;             // ranks, crashed ones included
  std::uint32_t wrong = 0;                  // ranks with a wrong result
  std::uint64_t events = 0;                 // of the simulation
  std::uint64_t unseed = 0;
  std::vector<std::uint64_t> counters;  // sums over all ranks, as in counter_table()
  std::string algorithm;

  bool ok() const noexcept { return status.ok() && unfinished == 0 && wrong == 0; }
  std::uint64_t counter(Counter Counters::*member) const noexcept;
};

class Cluster {
 public:
  Cluster(const Machine& machine, const Map& map, const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // ESP_ERR_ARGUMENT, _UNSUPPORTED: the operation does not exist. What goes wrong in virtual time
  // is in the result. After a run that is not ok() there can be no other.
  Result<RunResult> run(const Operation& operation);

  World& world() noexcept { return world_; }
  // For people who wait: told now and then how far a run is, as share of its calls and events.
  using Watch = std::function<void(double share, std::uint64_t events)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }
  // Bytes of this process's memory per rank that do not depend on what is run.
  static std::size_t bytes_per_rank() noexcept;

 private:
  struct Node;

  static void on_turn(void* cluster, Rank rank);
  static void on_finish(void* context, Status status) noexcept;
  void take_turn(Node& node);
  void start(Node& node);
  void start_call(Node& node);
  void stage(Node& node, Call& call);
  bool shares(const Call& call) const noexcept;
  Outcome check(const Operation& operation) const;
  void start_computing(Node& node);
  static bool on_portion(void* node, const Portion& portion) noexcept;
  std::uint64_t computed_ns(const Node& node) const noexcept;
  void add_times(Node& node);
  void run_world();
  void look_for_the_dead(Node& node);
  void finish(Node& node, Status status) noexcept;
  bool wake_waiting();
  std::vector<std::uint64_t> counter_sums() const;
  RunResult collect();

  ClusterOptions options_;
  std::unique_ptr<Mover> mover_;  // without data
  Pattern pattern_;               // of elements on devices
  Reduction reduction_;           // by devices
  World world_;
  std::unique_ptr<Devices> devices_;
  Trace trace_;  // off
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Buffers> buffers_;
  Operation operation_;
  RunResult result_;
  Watch watch_;
  std::uint32_t left_ = 0;        // ranks that have not completed
  std::uint64_t calls_left_ = 0;  // of all ranks
};

}  // namespace espalier::sim
