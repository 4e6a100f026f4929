#include "stacks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "environment.hpp"
#include "exit_codes.hpp"
#include "program_path.hpp"

namespace esp_run {
namespace {

using namespace std::chrono_literals;

// For all ranks of a node; gdb takes about a second for each.
constexpr auto kLimit = 60s;
constexpr std::size_t kLastLines = 3;
// Of one rank: a program with threads by the hundred is not looked at in a terminal.
constexpr std::size_t kLinesMost = 400;

bool is_gdb(const std::string& tool) {
  return tool.ends_with("/gdb");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string find_stack_tool() {
  for (const char* name : {"eu-stack", "gdb"}) {
    try {
      return find_program(name);
    } catch (const LaunchError&) {
    }
  }
  throw LaunchError(kLauncherFailed,
                    "--stacks needs eu-stack (of elfutils) or gdb in PATH, and there is neither");
}

std::vector<std::string> stack_command(const std::string& tool, pid_t process) {
  const std::string number = std::to_string(process);
  if (!is_gdb(tool)) return {tool, "-p", number};
  // Nothing of the user's, and nothing from the network.
  return {tool,
          "-nx",
          "-batch",
          "-iex",
          "set debuginfod enabled off",
          "-p",
          number,
          "-ex",
          "thread apply all backtrace"};
}

std::vector<std::string> stack_lines(const std::string& output) {
  std::vector<std::string> lines = lines_of(output), frames;
  for (const std::string& line : lines) {
    const bool is_frame = line.starts_with('#');
    // "TID 12:" of eu-stack, "Thread 1 (...):" of gdb
    const bool is_thread = line.starts_with("TID ") || line.starts_with("Thread ");
    if ((is_frame || is_thread) && frames.size() < kLinesMost) frames.push_back(line);
  }
  const bool has_frames = std::any_of(frames.begin(), frames.end(),
                                      [](const std::string& line) { return line[0] == '#'; });
  if (has_frames) return frames;
  if (lines.size() > kLastLines) lines.erase(lines.begin(), lines.end() - kLastLines);
  lines.insert(lines.begin(), "no frames were found:");
  return lines;
}

void StackReader::start(const std::string& tool, std::vector<RankReport> reports,
                        std::vector<pid_t> processes) {
  (void)take();  // What nobody waits for any more.
  tool_ = tool;
  reports_ = std::move(reports);
  processes_ = std::move(processes);
  next_ = 0;
  limit_ = Clock::now() + kLimit;
  if (is_reading()) read_next();
}

// Begins with rank `next_`, or with the next one for which a process can be had.
void StackReader::read_next() {
  for (; next_ < processes_.size(); ++next_) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
      reports_[next_].stack = {"no pipe for the debugger"};
      continue;
    }
    output_ = espalier::Descriptor(pipe[0]);
    const espalier::Descriptor theirs(pipe[1]), nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    fcntl(output_.fd(), F_SETFL, O_NONBLOCK);
    const std::vector<std::string> words = stack_command(tool_, processes_[next_]);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::vector<std::string> added;
    const Environment environment(added);
    tool_process_ = spawn({.program = tool_.c_str(),
                           .arguments = arguments.data(),
                           .environment = environment.data(),
                           .stdin_fd = nothing.fd(),
                           .stdout_fd = theirs.fd(),
                           .stderr_fd = theirs.fd(),
                           .mask = nullptr,
                           .first_own_fd = STDERR_FILENO + 1},
                          inherited_);
    if (tool_process_ > 0) return;
    reports_[next_].stack = {"no process for the debugger"};
    output_.close();
  }
}

void StackReader::add_to(PollSet& polls) {
  if (output_.is_open()) polls.add(output_.fd(), POLLIN, [this] { on_output(); });
}

// At its end the daemon reaps the process, as any of its children.
void StackReader::on_output() {
  std::array<char, 1 << 16> part;
  const ssize_t bytes = ::read(output_.fd(), part.data(), part.size());
  if (bytes < 0) return;
  if (bytes > 0) {
    text_.append(part.data(), static_cast<std::size_t>(bytes));
    return;
  }
  reports_[next_++].stack = stack_lines(std::exchange(text_, {}));
  output_.close();
  tool_process_ = -1;
  read_next();
}

std::vector<RankReport> StackReader::take() {
  if (tool_process_ > 0) kill(-tool_process_, SIGKILL);
  tool_process_ = -1;
  output_.close();
  text_.clear();
  for (; next_ < processes_.size(); ++next_) {
    reports_[next_].stack = {"not read: there was no time left"};
  }
  processes_.clear();
  return std::exchange(reports_, {});
}

}  // namespace esp_run
