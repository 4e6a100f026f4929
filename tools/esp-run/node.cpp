#include "node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "environment.hpp"
#include "exit_codes.hpp"
#include "stand_in.hpp"

namespace esp_run {
namespace {

std::vector<char*> arguments_of(const Program& program) {
  std::vector<char*> arguments;
  for (const std::string& argument : program.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

NodeDaemon::NodeDaemon(const JobPlan& plan, int node, const Inherited& inherited,
                       SharedLock& output_lock, FrameStream root)
    : plan_(plan),
      node_(node),
      inherited_(inherited),
      null_(open("/dev/null", O_RDWR | O_CLOEXEC)),
      root_(std::move(root)),
      // SIGTERM also comes when the root dies. The others are the root's business.
      signals_({SIGTERM, SIGCHLD, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP}),
      output_(output_lock, root_),
      ranks_(plan.ranks_on(node).size()),
      states_(ranks_.size()),
      stacks_(inherited) {}

void NodeDaemon::run() {
  try {
    server_.emplace(plan_, node_, mailbox_);
    start();
  } catch (const LaunchError& failure) {
    give_up(failure.what());
  }
  loop();
  signal_ranks(SIGKILL);
}

void NodeDaemon::start() {
  for (const int rank : plan_.ranks_on(node_)) start_rank(rank);
}

void NodeDaemon::start_rank(int rank) {
  const auto number = static_cast<std::size_t>(plan_.program_of(rank));
  const Program& program = plan_.options.programs[number];
  std::vector<std::string> added = program.variables;
  for (std::string& variable : server_->environment_of(rank)) added.push_back(std::move(variable));
  const auto index = static_cast<std::size_t>(&process(rank) - ranks_.data());
  if (states_.fd() >= 0) added.push_back(states_.variable(index, plan_.first_own_fd));
  const Environment environment(added);
  const std::vector<char*> arguments = arguments_of(program);
  const BindingPlace* place = plan_.place_of(rank);
  TaggedOutput::Pipes pipes;
  if (plan_.options.tag_output) pipes = output_.open(rank);
  const ChildSpec spec{
      .rank = rank,
      .program = plan_.paths[number].c_str(),
      .arguments = arguments.data(),
      .environment = environment.data(),
      .stdin_fd = rank == 0 ? STDIN_FILENO : null_.fd(),
      .stdout_fd = plan_.options.tag_output ? pipes.out.fd() : STDOUT_FILENO,
      .stderr_fd = plan_.options.tag_output ? pipes.err.fd() : STDERR_FILENO,
      .mask = place != nullptr ? &place->mask : nullptr,
      .first_own_fd = plan_.first_own_fd,
      .state_fd = states_.fd(),
      .directory = program.directory.empty() ? nullptr : program.directory.c_str(),
      .failures_fd = failures_.write_end(),
  };
  const pid_t pid = spawn(spec, inherited_);
  if (pid < 0) {
    const int failure = errno;
    const char* hint = failure == EAGAIN ? " (the limit of processes is reached: ulimit -u)" : "";
    throw LaunchError(kLauncherFailed, fmt::format("cannot start rank {}: fork: {}{}", rank,
                                                   std::strerror(failure), hint));
  }
  process(rank) = {.pid = pid, .is_running = true};
  root_.send({FrameKind::kRankStarted, rank, pid, 0, {}});
}

// The job is over before it began here. Ranks that were not started count as ended.
void NodeDaemon::give_up(const std::string& reason) {
  root_.send({FrameKind::kNodeFailed, -1, 0, 0, reason});
  for (const int rank : plan_.ranks_on(node_)) {
    if (process(rank).is_running) continue;
    root_.send({FrameKind::kRankEnded, rank, W_EXITCODE(kLauncherFailed, 0), 0, {}});
  }
}

void NodeDaemon::loop() {
  while (!is_done_ && root_.is_open()) {
    PollSet polls;
    const short wanted = root_.has_unsent() ? POLLIN | POLLOUT : POLLIN;
    polls.add(root_.fd(), wanted, [this] {
      root_.flush();
      for (Frame& frame : root_.receive()) on_frame(std::move(frame));
    });
    polls.add(mailbox_.fd(), POLLIN, [this] { on_mail(); });
    polls.add(signals_.fd(), POLLIN, [this] { on_signals(); });
    polls.add(failures_.fd(), POLLIN, [this] { pass_on_failures(); });
    output_.add_to(polls);
    stacks_.add_to(polls);
    polls.wait(states_.is_asking() ? states_.next_look() : stacks_.deadline());
    go_on_with_inquiry();
  }
}

void NodeDaemon::on_mail() {
  for (Upcall& upcall : mailbox_.take()) on_upcall(std::move(upcall));
}

void NodeDaemon::on_upcall(Upcall upcall) {
  const int rank = upcall.frame.rank;
  switch (upcall.frame.kind) {
    case FrameKind::kConnected:
      if (is_local(rank)) process(rank).has_connected = true;
      replace_ranks_that_never_joined();
      return;
    case FrameKind::kFinalized:
      if (is_local(rank)) process(rank).has_finalized = true;
      return;
    case FrameKind::kFence:
    case FrameKind::kLookup:
      upcall.frame.id = ++last_request_;
      root_.send(upcall.frame);
      upcall.frame.payload.clear();
      waiting_.emplace(last_request_, std::move(upcall));
      return;
    default:  // kAbort, kLookupAnswer: for the root as they are.
      root_.send(upcall.frame);
  }
}

void NodeDaemon::on_frame(Frame frame) {
  const auto request = waiting_.find(frame.id);
  switch (frame.kind) {
    case FrameKind::kFenceDone:
      if (request == waiting_.end()) return;
      PmixServer::finish_fence(request->second, static_cast<FenceStatus>(frame.status),
                               std::move(frame.payload));
      waiting_.erase(request);
      return;
    case FrameKind::kLookupAnswer:
      if (request == waiting_.end()) return;
      PmixServer::finish_lookup(request->second, frame.status == 0, std::move(frame.payload));
      waiting_.erase(request);
      return;
    case FrameKind::kLookup:
      server_->look_up(frame.rank, frame.id);
      return;
    case FrameKind::kRankDied:
      if (server_) server_->report_death(frame.rank, static_cast<DeathKind>(frame.status));
      return;
    case FrameKind::kSignal:
      is_ending_ = is_ending_ || is_ending_signal(frame.status) || frame.status == SIGKILL;
      signal_ranks(frame.status);
      return;
    case FrameKind::kShutdown:
      is_done_ = true;
      return;
    case FrameKind::kAskRanks:
      return ask_ranks(frame.id);
    default:
      return;
  }
}

void NodeDaemon::on_signals() {
  for (const int signal : signals_.take()) {
    if (signal == SIGCHLD) reap();
    if (signal == SIGTERM) is_done_ = true;
  }
}

void NodeDaemon::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    // Whether a rank has left properly, or has begun at all, was reported before it exited: read
    // for each anew, as more ranks report and exit while this loop runs.
    on_mail();
    pass_on_failures();
    const pid_t pid = info.si_pid;
    // What a rank has started ends with it. As long as the rank is not reaped its number, which is
    // that of the group, cannot be given to anybody else.
    kill(-pid, SIGKILL);
    int wait_status = 0;
    waitpid(pid, &wait_status, 0);
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const RankProcess& rank) {
      return rank.is_running && rank.pid == pid;
    });
    // Otherwise it was a stand-in.
    if (found != ranks_.end()) {
      on_rank_exit(plan_.ranks_on(node_)[static_cast<std::size_t>(found - ranks_.begin())],
                   wait_status);
    }
    info = {};
  }
}

void NodeDaemon::pass_on_failures() {
  for (const StartFailure& failure : failures_.take()) {
    root_.send({FrameKind::kStartFailed,
                failure.rank,
                failure.error,
                static_cast<std::uint64_t>(failure.step),
                {}});
  }
}

void NodeDaemon::on_rank_exit(int rank, int wait_status) {
  RankProcess& ended = process(rank);
  ended.is_running = false;
  output_.finish(rank);
  const RankLeft left = ended.has_connected && !ended.has_finalized ? RankLeft::kWithoutFinalize
                                                                    : RankLeft::kProperly;
  root_.send({FrameKind::kRankEnded, rank, wait_status, static_cast<std::uint64_t>(left), {}});
  if (!ended.has_connected) {
    never_joined_.push_back(rank);
    replace_ranks_that_never_joined();
  }
}

void NodeDaemon::signal_ranks(int signal) {
  for (const RankProcess& rank : ranks_) {
    if (!rank.is_running) continue;
    kill(-rank.pid, signal);
    if (is_ending_signal(signal)) kill(-rank.pid, SIGCONT);  // A stopped one could not react.
  }
}

void NodeDaemon::ask_ranks(std::uint64_t id) {
  inquiry_ = id;
  std::vector<RankStates::Process> running;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].is_running) running.push_back({plan_.ranks_on(node_)[i], i, ranks_[i].pid});
  }
  states_.ask(std::move(running));
}

// First the states, which stacks disturb.
void NodeDaemon::go_on_with_inquiry() {
  std::vector<RankReport> reports;
  if (states_.is_asking()) {
    if (!states_.is_over()) return;
    const std::vector<pid_t> processes = states_.asked_processes();
    reports = states_.take();
    if (!plan_.stack_tool.empty() && !processes.empty()) {
      return stacks_.start(plan_.stack_tool, std::move(reports), processes);
    }
  } else {
    if (!stacks_.is_reading() || !stacks_.is_over()) return;
    reports = stacks_.take();
  }
  root_.send({FrameKind::kRanksDo, -1, 0, inquiry_, pack_reports(reports)});
}

void NodeDaemon::replace_ranks_that_never_joined() {
  const bool is_anybody_joined =
      std::any_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) {
        return rank.is_running && rank.has_connected && !rank.has_finalized;
      });
  // Programs without PMIx need none.
  if (!is_anybody_joined || is_ending_) return;
  for (const int rank : std::exchange(never_joined_, {})) {
    start_stand_in(server_->environment_of(rank), null_.fd(), plan_.first_own_fd, inherited_);
  }
}

}  // namespace esp_run
