#include "core/log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace espalier {
namespace {

// Signals interrupt, full pipes write short; a closed standard error is nobody's business.
void write_all(int descriptor, const char* data, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return;
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void write_stderr(void*, LogLevel level, Rank rank, std::string_view message) noexcept {
  const int saved_errno = errno;  // Logging about a failure must not change what failed.
  fmt::memory_buffer line;
  auto out = fmt::appender(line);
  if (rank == kNoRank) {
    fmt::format_to(out, "espalier {}: {}\n", log_level_name(level), message);
  } else {
    fmt::format_to(out, "espalier[{}] {}: {}\n", rank, log_level_name(level), message);
  }
  write_all(STDERR_FILENO, line.data(), line.size());
  errno = saved_errno;
}

}  // namespace

const char* log_level_name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warning";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kTrace:
      return "trace";
  }
  return "?";
}

LogSink stderr_sink() noexcept {
  return LogSink{&write_stderr, nullptr};
}

void Log::write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  fmt::memory_buffer message;
  fmt::vformat_to(fmt::appender(message), format, args);
  sink_.write(sink_.context, level, rank_, std::string_view(message.data(), message.size()));
}

}  // namespace espalier
