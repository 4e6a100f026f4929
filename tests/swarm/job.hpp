// Job: runs a scenario and says what was wrong.
//
// Each rank has the library's engine, teams, plans and watchdog over an audited wire. It enters its
// calls as the scenario says, checks every result in the moment it is told, and uses the memory for
// something else then. Ownership: borrows the scenario. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/engine/engine.hpp"
#include "coll/team/watch.hpp"
#include "tests/swarm/audit.hpp"
#include "tests/swarm/expected.hpp"
#include "tests/swarm/stage.hpp"
#include "tests/swarm/values.hpp"

namespace espalier::swarm {

struct Report {
  std::string failure;       // empty: nothing was wrong
  std::uint64_t unseed = 0;  // equal for equal seeds
  std::uint64_t events = 0;
  std::uint64_t posts = 0;                  // of segments
  std::uint64_t connection_frames = 0;      // where there are datagrams, too
  std::uint64_t shared_bytes = 0;           // read where they lie on a device
  std::uint64_t completed = 0, failed = 0;  // calls of single ranks
  std::uint64_t late_ns = 0;  // last end, after the last entry and the end of all faults
};

// Common memory of a team.
class BoardMemory {
 public:
  explicit BoardMemory(std::uint64_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
  std::byte* data() noexcept { return lines_.front().bytes; }

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::vector<Line> lines_;
};

// Liveness: the last call ends so long after all have entered and all faults are over, at most.
inline constexpr std::uint64_t kLateNsMax = 100'000'000;

class Job {
 public:
  explicit Job(const Scenario& scenario);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Once. After a failure the job is in no state to be destroyed.
  Report run();

 private:
  struct Node;
  struct CallState;
  class JobLiveness;

  static int on_turn(void* job, Rank rank);
  static void on_finish(void* call, Status status) noexcept;
  void make_teams();
  void make_agendas();
  void allow_windows(std::size_t op);
  int take_turn(Node& node);
  bool enter_calls(Node& node);
  void enter(Node& node, CallState& call);
  void finish(CallState& call, Status status) noexcept;
  void depart(Node& node);
  void begin_partial(Node& node, CallState& call, const OpSpec& spec);
  void look_at_gates(Node& node);
  void look(Node& node);
  bool wake_waiting();
  void run_stage();
  void check_status(const CallState& call, Status status);
  void check_result(CallState& call);
  bool all_have_entered(std::size_t op) const;
  bool has_departed(std::size_t team) const;
  bool deviates(std::size_t team) const;
  bool accuses_rightly(const CallState& call, Rank named) const;
  void check_end();
  void take_down();
  void fail(std::string text) { audit_.fail(std::move(text)); }

  const Scenario& scenario_;
  Audit audit_;
  std::unique_ptr<Stage> stage_;
  Trace trace_;  // off
  std::unique_ptr<JobLiveness> liveness_;
  std::vector<std::unique_ptr<BoardMemory>> boards_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Expected>> expected_;  // by op, made when needed
  Report report_;
  std::uint64_t settled_ns_ = 0;  // all have entered and faults are over
  std::uint32_t rounds_ = 0;      // of watchdogs
};

}  // namespace espalier::swarm
