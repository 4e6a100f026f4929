// --stacks: the stacks of the ranks of a node, read by a debugger that is installed.
//
// One process of it after the other; what it writes about the frames is kept, or, where there are
// none, its last lines, which say why. A rank is stopped while it is read, and goes on.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "poll_set.hpp"
#include "rank_report.hpp"
#include "spawn.hpp"

namespace esp_run {

// Path of eu-stack or of gdb. Throws LaunchError where there is neither.
std::string find_stack_tool();
// Its command line for a process.
std::vector<std::string> stack_command(const std::string& tool, pid_t process);
// Of what it has written.
std::vector<std::string> stack_lines(const std::string& output);

class StackReader {
 public:
  explicit StackReader(const Inherited& inherited) : inherited_(inherited) {}

  // Fills the stacks of the reports; `processes` are those of their ranks, in the same order.
  void start(const std::string& tool, std::vector<RankReport> reports,
             std::vector<pid_t> processes);
  bool is_reading() const { return !processes_.empty(); }
  // What is there, when all is read or the time is over; then nothing is under way any more.
  bool is_over() const { return next_ == processes_.size() || Clock::now() >= limit_; }
  Deadline deadline() const { return is_reading() ? Deadline(limit_) : Deadline(); }
  std::vector<RankReport> take();
  void add_to(PollSet& polls);

 private:
  void read_next();
  void on_output();

  const Inherited& inherited_;
  std::string tool_;
  std::vector<RankReport> reports_;
  std::vector<pid_t> processes_;
  std::size_t next_ = 0;  // that is read
  Clock::time_point limit_;
  espalier::Descriptor output_;
  std::string text_;
  pid_t tool_process_ = -1;
};

}  // namespace esp_run
