#include "bootstrap/abort_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

namespace espalier {

void print_abort_message(Rank rank, std::string_view message) noexcept {
  if (message.empty()) return;
  fmt::basic_memory_buffer<char, 512> line;
  fmt::format_to(std::back_inserter(line), "espalier: rank {} aborts the job: {}\n", rank, message);
  // Nothing useful can be done when stderr is closed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

int clamp_exit_code(int exit_code) noexcept {
  return exit_code >= 1 && exit_code <= 255 ? exit_code : 1;
}

void abort_process(int exit_code) noexcept {
  _exit(clamp_exit_code(exit_code));
}

}  // namespace espalier
