// Exit codes of esp-run that are not a rank's own; the same as those of timeout(1) and env(1).
#pragma once

#include <stdexcept>
#include <string>

namespace esp_run {

inline constexpr int kTimeLimitReached = 124;
inline constexpr int kLauncherFailed = 125;  // Bad options, no memory, no processes.
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;

// The launcher cannot go on. Thrown during set-up only; main prints the text and exits with `code`.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// LaunchError with "what: <text of errno>".
[[noreturn]] void fail_with_errno(const std::string& what);

}  // namespace esp_run
