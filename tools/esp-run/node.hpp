// The daemon of one emulated node: starts the node's ranks, serves them PMIx, reports to the root.
//
// One process with one main thread, which sleeps in poll; libpmix adds its own threads, which only
// fill the mailbox. Leaves nothing behind: when the root goes away, its ranks and their process
// groups are killed; when the daemon itself is killed, the kernel kills the ranks (PDEATHSIG) and
// the root their groups.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "frame.hpp"
#include "job_plan.hpp"
#include "mailbox.hpp"
#include "output.hpp"
#include "pmix_server.hpp"
#include "rank_states.hpp"
#include "signals.hpp"
#include "spawn.hpp"
#include "stacks.hpp"
#include "start_failure.hpp"

namespace esp_run {

class NodeDaemon {
 public:
  NodeDaemon(const JobPlan& plan, int node, const Inherited& inherited, SharedLock& output_lock,
             FrameStream root);
  // Returns when the root says so or is gone.
  void run();

 private:
  struct RankProcess {
    pid_t pid = -1;
    bool is_running = false;
    bool has_connected = false;
    bool has_finalized = false;
  };

  void start();
  void start_rank(int rank);
  void give_up(const std::string& reason);
  void loop();

  void on_mail();
  void on_upcall(Upcall upcall);
  void on_frame(Frame frame);
  void on_signals();
  void reap();
  void pass_on_failures();
  void on_rank_exit(int rank, int wait_status);
  void signal_ranks(int signal);
  void ask_ranks(std::uint64_t id);
  void go_on_with_inquiry();
  // See stand_in.hpp.
  void replace_ranks_that_never_joined();

  RankProcess& process(int rank) {
    const std::vector<int>& here = plan_.ranks_on(node_);
    const auto at = std::lower_bound(here.begin(), here.end(), rank);
    return ranks_[static_cast<std::size_t>(at - here.begin())];
  }
  bool is_local(int rank) const {
    return rank >= 0 && rank < plan_.ranks() && plan_.node_of(rank) == node_;
  }

  const JobPlan& plan_;
  const int node_;
  const Inherited& inherited_;
  espalier::Descriptor null_;
  FrameStream root_;
  SignalQueue signals_;
  Mailbox mailbox_;
  TaggedOutput output_;
  StartFailures failures_;
  std::optional<PmixServer> server_;
  std::vector<RankProcess> ranks_;  // as plan_.ranks_on(node_)
  RankStates states_;               // likewise
  StackReader stacks_;
  std::uint64_t inquiry_ = 0;                // of the root's, while states_ or stacks_ works on it
  std::vector<int> never_joined_;            // Ended without a connection, no stand-in yet.
  std::map<std::uint64_t, Upcall> waiting_;  // Requests of libpmix that the root will answer.
  std::uint64_t last_request_ = 0;
  bool is_ending_ = false;
  bool is_done_ = false;
};

}  // namespace esp_run
