// The root of a job: starts the node daemons, joins what they say into one job, ends it.
//
// A process of its own that calls no PMIx; one thread, which sleeps in poll. The daemons are forks
// of it, so they know the plan and the secret; everything after the fork goes through frames.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "collectives.hpp"
#include "frame.hpp"
#include "inquiry.hpp"
#include "job_plan.hpp"
#include "job_state.hpp"
#include "lookups.hpp"
#include "output.hpp"
#include "poll_set.hpp"
#include "rank_groups.hpp"
#include "rendezvous.hpp"
#include "signals.hpp"
#include "spawn.hpp"

namespace esp_run {

class Root {
 public:
  Root(const JobPlan& plan, const Inherited& inherited);
  // Runs the job; the exit code of esp-run.
  int run();

 private:
  struct Node {
    pid_t pid = -1;
    bool is_process_alive = false;
    std::optional<FrameStream> stream;  // Since it joined.
    std::vector<Frame> backlog;         // To be sent when it joins.
    bool is_lost = false;
  };
  // How far the end of a job that does not end by itself has come; each step after a grace period.
  enum class EndStep { kNone, kAsked, kRanksKilled, kDaemonsKilled };

  void start_node(int node);
  [[noreturn]] void run_node(int node, pid_t root);

  void poll_once();
  Deadline next_deadline() const;
  void on_deadlines();
  void on_joins();
  void on_frames(int index);
  void on_frame(int node, Frame frame);
  void on_lookup(int node, const Frame& frame);
  void on_signals();
  void on_node_lost(int node);
  void on_start_failed(const StartFailure& failure);
  void on_rank_ended(int rank, RankEnd end);
  void on_abort(const Frame& frame);
  // Says what the ranks do when all daemons have answered.
  void ask_ranks(Inquiry::Then then);
  void end_inquiry();
  void reap();
  void on_daemon_ended(int index, int wait_status);

  void end_job(int signal);
  void take_next_end_step();
  void shut_down();

  void send(int index, const Frame& frame);
  void broadcast(const Frame& frame);
  void answer_fences(const std::vector<Collectives::Finished>& finished);
  const std::string& node_name(int rank) const;

  const JobPlan& plan_;
  const Inherited& inherited_;
  SharedLock output_lock_;
  SignalQueue signals_;
  Rendezvous rendezvous_;
  std::vector<Node> nodes_;
  Collectives collectives_;
  Lookups lookups_;
  JobState state_;
  Inquiry inquiry_;
  StartFailureTexts start_failures_;
  RankGroups groups_;
  Deadline time_limit_;
  Deadline join_limit_;
  EndStep end_step_ = EndStep::kNone;
  Deadline next_end_step_;
  int ending_signal_ = 0;  // From outside; 0: the job ends for another reason or runs.
};

}  // namespace esp_run
