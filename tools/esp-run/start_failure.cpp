#include "start_failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

// The program itself was found before, and may be executed: what the kernel means is mostly this.
const char* hint_for(int error) {
  switch (error) {
    case ENOENT:
      return " (is the interpreter it names installed?)";
    case E2BIG:
      return " (arguments and environment together)";
    case ENOEXEC:
      return " (is it a program for this machine?)";
    case EACCES:
      return " (may all its folders be entered, and is nothing mounted noexec?)";
    default:
      return "";
  }
}

}  // namespace

int StartFailure::exit_code() const {
  if (step == StartStep::kDirectory) return kLauncherFailed;
  return error == ENOENT ? kNotFound : kCannotExecute;
}

std::string text_of(const StartFailure& failure, const JobPlan& plan) {
  const auto program = static_cast<std::size_t>(plan.program_of(failure.rank));
  const char* why = std::strerror(failure.error);
  switch (failure.step) {
    case StartStep::kBind:
      return fmt::format("cannot be bound to {}: {}; it runs unbound",
                         plan.place_of(failure.rank)->name, why);
    case StartStep::kDirectory:
      return fmt::format("cannot start in {}: {}", plan.options.programs[program].directory, why);
    case StartStep::kExecute:
      return fmt::format("cannot execute {}: {}{}", plan.paths[program], why,
                         hint_for(failure.error));
  }
  return why;
}

bool StartFailureTexts::add(const StartFailure& failure, const JobPlan& plan) {
  if (failure.is_final()) ended_.insert(failure.rank);
  return said_.insert(text_of(failure, plan)).second;
}

StartFailures::StartFailures() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail_with_errno("pipe");
  read_end_ = espalier::Descriptor(ends[0]);
  write_end_ = espalier::Descriptor(ends[1]);
}

std::vector<StartFailure> StartFailures::take() {
  std::vector<StartFailure> failures;
  StartFailure failure;
  while (read(read_end_.fd(), &failure, sizeof failure) == sizeof failure) {
    failures.push_back(failure);
  }
  return failures;
}

// Where the pipe is full of others' records, the exit code has to do.
void StartFailures::tell(int write_end, const StartFailure& failure) {
  [[maybe_unused]] const ssize_t written = write(write_end, &failure, sizeof failure);
}

}  // namespace esp_run
