#include "root.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "exit_codes.hpp"
#include "node.hpp"
#include "say.hpp"

namespace esp_run {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 2s;
constexpr auto kJoinLimit = 60s;
// Above what a daemon gives its ranks.
constexpr auto kInquiryLimit = 8s, kStacksLimit = 70s;

std::vector<int> node_of_each_rank(const JobPlan& plan) {
  std::vector<int> nodes;
  for (int rank = 0; rank < plan.ranks(); ++rank) nodes.push_back(plan.node_of(rank));
  return nodes;
}

}  // namespace

Root::Root(const JobPlan& plan, const Inherited& inherited)
    : plan_(plan),
      inherited_(inherited),
      signals_(root_signals()),
      rendezvous_(plan.nodes()),
      nodes_(static_cast<std::size_t>(plan.nodes())),
      collectives_(node_of_each_rank(plan)),
      state_(plan.ranks()),
      join_limit_(Clock::now() + kJoinLimit) {
  if (plan.options.time_limit_seconds) {
    const std::chrono::duration<double> limit(*plan.options.time_limit_seconds);
    time_limit_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  }
}

int Root::run() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // See rank_groups.hpp. Daemons do not inherit it.
  for (int node = 0; node < plan_.nodes(); ++node) start_node(node);
  while (!state_.all_ended()) poll_once();
  shut_down();
  return state_.exit_code();
}

// ---- nodes

void Root::start_node(int node) {
  const pid_t root = getpid();
  const pid_t pid = fork();
  if (pid == 0) run_node(node, root);
  Node& entry = nodes_[static_cast<std::size_t>(node)];
  if (pid < 0) {
    const int failure = errno;
    if (end_step_ == EndStep::kNone)
      say("cannot start node {}: fork: {}", node, std::strerror(failure));
    on_node_lost(node);
  } else {
    entry.pid = pid;
    entry.is_process_alive = true;
  }
}

// In the fork. Ends with the root, and outside its process group: what is typed at the terminal
// reaches the root alone.
void Root::run_node(int node, pid_t root) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_NAME, fmt::format("esp-run:node{}", node).c_str());
  if (getppid() != root) _exit(kLauncherFailed);
  const std::uint16_t port = rendezvous_.port();
  rendezvous_.close();
  for (Node& other : nodes_) other.stream.reset();
  try {
    NodeDaemon(plan_, node, inherited_, output_lock_, join(port, rendezvous_.secret(), node)).run();
  } catch (const LaunchError& failure) {
    say("node {}: {}", node, failure.what());
    _exit(kLauncherFailed);
  } catch (const std::bad_alloc&) {
    std::fputs("esp-run: a node daemon is out of memory\n", stderr);
    _exit(kLauncherFailed);
  }
  _exit(0);  // Not exit(): libpmix still has threads.
}

void Root::on_node_lost(int node) {
  Node& lost = nodes_[static_cast<std::size_t>(node)];
  if (lost.is_lost) return;
  lost.is_lost = true;
  if (lost.stream) lost.stream->close();
  inquiry_.lose(node);
  if (state_.all_ended()) return;
  // A daemon that cannot be talked to any more serves nobody; its ranks die with it.
  if (lost.is_process_alive) kill(lost.pid, SIGKILL);
  if (!lost.stream) {  // Never joined; why has been said.
    state_.force_exit_code(kLauncherFailed);
    end_job(SIGTERM);
  } else if (end_step_ == EndStep::kNone) {
    say("the daemon of node {} is gone, and its ranks with it", node);
  }
  for (const int rank : plan_.ranks_on(node)) {
    if (state_.is_running(rank)) on_rank_ended(rank, {W_EXITCODE(0, SIGKILL), RankLeft::kProperly});
  }
}

// Daemons, and as we are a subreaper whatever lost its parent below us.
void Root::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const pid_t pid = info.si_pid;
    groups_.before_reaping(pid);
    int wait_status = 0;
    waitpid(pid, &wait_status, 0);
    const auto daemon = std::find_if(nodes_.begin(), nodes_.end(), [pid](const Node& node) {
      return node.is_process_alive && node.pid == pid;
    });
    if (daemon != nodes_.end()) {
      on_daemon_ended(static_cast<int>(daemon - nodes_.begin()), wait_status);
    }
    info = {};
  }
}

void Root::on_daemon_ended(int index, int wait_status) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  node.is_process_alive = false;
  if (node.stream) on_frames(index);  // Its last words.
  groups_.end_orphans(plan_.ranks_on(index));
  const bool has_said_why = wait_status == W_EXITCODE(kLauncherFailed, 0);
  if (!node.stream && !node.is_lost && !has_said_why) {
    say("the daemon of node {} ended before it had joined the job", index);
  }
  on_node_lost(index);
}

// ---- the loop

void Root::poll_once() {
  PollSet polls;
  for (const int fd : rendezvous_.fds()) {
    polls.add(fd, POLLIN, [this] { on_joins(); });
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.stream || !node.stream->is_open()) continue;
    const short wanted = node.stream->has_unsent() ? POLLIN | POLLOUT : POLLIN;
    polls.add(node.stream->fd(), wanted, [this, i] { on_frames(static_cast<int>(i)); });
  }
  polls.add(signals_.fd(), POLLIN, [this] { on_signals(); });
  polls.wait(next_deadline());
  on_deadlines();
}

Deadline Root::next_deadline() const {
  Deadline next;
  for (const Deadline& one : {time_limit_, join_limit_, next_end_step_, inquiry_.deadline()}) {
    if (one && (!next || *one < *next)) next = one;
  }
  return next;
}

void Root::on_deadlines() {
  const Clock::time_point now = Clock::now();
  if (time_limit_ && now >= *time_limit_) {
    time_limit_.reset();
    const std::vector<int> running = state_.running_ranks();
    if (!running.empty()) {
      say("time limit of {} s reached; still running: rank{} {}", *plan_.options.time_limit_seconds,
          running.size() == 1 ? "" : "s", ranks_text(running));
      state_.force_exit_code(kTimeLimitReached);
      ask_ranks(Inquiry::Then::kEndJob);
    }
  }
  if (join_limit_ && now >= *join_limit_) {
    join_limit_.reset();
    say("a node daemon did not come up in time");
    state_.force_exit_code(kLauncherFailed);
    end_job(SIGTERM);
  }
  if (next_end_step_ && now >= *next_end_step_) take_next_end_step();
  if (inquiry_.is_open() && (inquiry_.is_complete() || now >= *inquiry_.deadline())) end_inquiry();
}

void Root::on_joins() {
  for (Rendezvous::Joined& joined : rendezvous_.progress()) {
    Node& node = nodes_[static_cast<std::size_t>(joined.node)];
    node.stream.emplace(std::move(joined.stream));
    for (const Frame& frame : std::exchange(node.backlog, {})) node.stream->send(frame);
    on_frames(joined.node);  // It may have said more than hello.
  }
  if (rendezvous_.is_complete()) join_limit_.reset();
}

void Root::on_frames(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  node.stream->flush();
  for (Frame& frame : node.stream->receive()) on_frame(index, std::move(frame));
  if (!node.stream->is_open()) on_node_lost(index);
}

void Root::on_frame(int node, Frame frame) {
  switch (frame.kind) {
    case FrameKind::kNodeFailed:
      if (end_step_ == EndStep::kNone) say("{}", frame.payload);
      state_.force_exit_code(kLauncherFailed);
      return end_job(SIGTERM);
    case FrameKind::kRankStarted:
      return groups_.started(frame.rank, frame.status);
    case FrameKind::kStartFailed:
      return on_start_failed({frame.rank, static_cast<StartStep>(frame.id), frame.status});
    case FrameKind::kRankEnded:
      groups_.ended(frame.rank);
      return on_rank_ended(frame.rank, {frame.status, static_cast<RankLeft>(frame.id)});
    case FrameKind::kAbort:
      return on_abort(frame);
    case FrameKind::kFence:
      if (std::optional<FencePayload> fence = unpack_fence(frame.payload)) {
        answer_fences(collectives_.contribute(
            node, fence->ranks,
            {frame.id, static_cast<FenceStatus>(frame.status), std::move(fence->data)}));
      }
      return;
    case FrameKind::kLookup:
      return on_lookup(node, frame);
    case FrameKind::kRanksDo:
      return inquiry_.answer(node, frame.id, frame.payload);
    case FrameKind::kLookupAnswer:
      if (const std::optional<Lookups::Asker> asker = lookups_.take(frame.id)) {
        frame.id = asker->id;
        send(asker->node, frame);
      }
      return;
    default:
      return;  // Not for the root.
  }
}

void Root::on_lookup(int node, const Frame& frame) {
  const bool can_be_asked =
      frame.rank >= 0 && frame.rank < plan_.ranks() && state_.is_running(frame.rank);
  if (!can_be_asked) return send(node, {FrameKind::kLookupAnswer, frame.rank, -1, frame.id, {}});
  const std::uint64_t id = lookups_.add({node, frame.id}, frame.rank);
  send(plan_.node_of(frame.rank), {FrameKind::kLookup, frame.rank, 0, id, {}});
}

// ---- ranks

// Mostly all ranks of a program fail alike, which is said once.
void Root::on_start_failed(const StartFailure& failure) {
  const bool is_new = start_failures_.add(failure, plan_);
  if (is_new && end_step_ == EndStep::kNone) {
    say("rank {} on {} {}", failure.rank, node_name(failure.rank), text_of(failure, plan_));
  }
}

void Root::on_rank_ended(int rank, RankEnd end) {
  // A rank that had to be killed after SIGINT died of SIGINT, as far as our caller is concerned.
  const bool is_our_kill =
      end_step_ >= EndStep::kRanksKilled && end.wait_status == W_EXITCODE(0, SIGKILL);
  if (is_our_kill && ending_signal_ != 0) end.wait_status = W_EXITCODE(0, ending_signal_);
  if (!state_.rank_ended(rank, end)) return;

  if (end.is_failure() && end_step_ == EndStep::kNone) {
    const bool has_others = !state_.all_ended();
    if (!start_failures_.explain_end_of(rank)) {
      say("rank {} on {} {}{}", rank, node_name(rank), end.text(),
          has_others && !plan_.options.keep_going ? "; ending the other ranks" : "");
    }
    if (plan_.options.keep_going) {
      broadcast({FrameKind::kRankDied, rank, static_cast<std::int32_t>(end.death_kind()), 0, {}});
    } else if (has_others) {
      end_job(SIGTERM);
    }
  }
  for (const Lookups::Asker& asker : lookups_.take_all_for(rank)) {
    send(asker.node, {FrameKind::kLookupAnswer, rank, -1, asker.id, {}});
  }
  answer_fences(collectives_.rank_ended(rank));
}

// Who aborts the job ends by itself, too; with --keep-going nobody else does.
void Root::on_abort(const Frame& frame) {
  const bool keep_going = plan_.options.keep_going;
  if (end_step_ == EndStep::kNone) {
    say("rank {} on {} aborted the job with code {}{}", frame.rank, node_name(frame.rank),
        frame.status, keep_going ? "; the other ranks go on (--keep-going)" : "");
  }
  state_.fail_with(frame.status);
  if (!keep_going) end_job(SIGTERM);
}

void Root::answer_fences(const std::vector<Collectives::Finished>& finished) {
  for (const Collectives::Finished& fence : finished) {
    for (const Collectives::Answer& answer : fence.answers) {
      send(answer.node, {FrameKind::kFenceDone, -1, static_cast<std::int32_t>(fence.status),
                         answer.id, fence.data});
    }
  }
}

void Root::send(int index, const Frame& frame) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.stream) {
    node.stream->send(frame);
  } else if (!node.is_lost) {
    node.backlog.push_back(frame);
  }
}

void Root::broadcast(const Frame& frame) {
  for (int node = 0; node < plan_.nodes(); ++node) send(node, frame);
}

const std::string& Root::node_name(int rank) const {
  return plan_.node_names[static_cast<std::size_t>(plan_.node_of(rank))];
}

// ---- the end

void Root::on_signals() {
  for (const int signal : signals_.take()) {
    if (signal == SIGCHLD) {
      reap();
    } else if (signal == SIGQUIT && end_step_ == EndStep::kNone) {
      ask_ranks(Inquiry::Then::kGoOn);
    } else if (is_ending_signal(signal)) {
      // Whoever asks twice does not want to wait.
      const bool is_impatient = ending_signal_ != 0;
      ending_signal_ = signal;
      end_job(signal);
      if (is_impatient && end_step_ == EndStep::kAsked) take_next_end_step();
    } else if (signal == SIGTSTP) {
      broadcast({FrameKind::kSignal, -1, SIGSTOP, 0, {}});
      kill(getpid(), SIGSTOP);
    } else {
      broadcast({FrameKind::kSignal, -1, signal, 0, {}});
    }
  }
}

void Root::ask_ranks(Inquiry::Then then) {
  const bool is_new = !inquiry_.is_open();
  std::vector<int> nodes;
  for (int node = 0; node < plan_.nodes(); ++node) {
    if (!nodes_[static_cast<std::size_t>(node)].is_lost) nodes.push_back(node);
  }
  const bool has_stacks = !plan_.stack_tool.empty();
  inquiry_.open(nodes, then, has_stacks ? kInquiryLimit + kStacksLimit : kInquiryLimit);
  if (is_new) broadcast({FrameKind::kAskRanks, -1, 0, inquiry_.id(), {}});
}

void Root::end_inquiry() {
  const std::string text = inquiry_.take();
  // A job that ends by itself, or by a signal, meanwhile, is not looked at any more.
  if (end_step_ != EndStep::kNone) return;
  say("what the ranks do:{}", text);
  if (inquiry_.then() == Inquiry::Then::kEndJob) end_job(SIGTERM);
}

void Root::end_job(int signal) {
  if (end_step_ != EndStep::kNone) return;
  end_step_ = EndStep::kAsked;
  next_end_step_ = Clock::now() + kGrace;
  broadcast({FrameKind::kSignal, -1, signal, 0, {}});
}

void Root::take_next_end_step() {
  next_end_step_.reset();
  if (end_step_ == EndStep::kAsked) {
    end_step_ = EndStep::kRanksKilled;
    next_end_step_ = Clock::now() + kGrace;
    broadcast({FrameKind::kSignal, -1, SIGKILL, 0, {}});
  } else if (end_step_ == EndStep::kRanksKilled) {
    // A daemon may hang in a write to a terminal that was stopped.
    end_step_ = EndStep::kDaemonsKilled;
    for (int node = 0; node < plan_.nodes(); ++node) on_node_lost(node);
  }
}

void Root::shut_down() {
  broadcast({FrameKind::kShutdown, -1, 0, 0, {}});
  const Clock::time_point limit = Clock::now() + kGrace;
  while (Clock::now() < limit) {
    bool is_any_alive = false;
    for (const Node& node : nodes_) is_any_alive = is_any_alive || node.is_process_alive;
    if (!is_any_alive) return;
    PollSet polls;
    for (Node& node : nodes_) {
      if (!node.stream || !node.stream->is_open() || !node.stream->has_unsent()) continue;
      polls.add(node.stream->fd(), POLLOUT, [&node] { node.stream->flush(); });
    }
    polls.add(signals_.fd(), POLLIN, [this] {
      signals_.take();
      reap();
    });
    polls.wait(limit);
  }
  for (const Node& node : nodes_) {
    if (!node.is_process_alive) continue;
    kill(node.pid, SIGKILL);
    waitpid(node.pid, nullptr, 0);
  }
}

}  // namespace esp_run
