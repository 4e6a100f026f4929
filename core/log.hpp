// Log: leveled messages of one rank.
//
// A small value (level, rank, sink): whoever logs holds a copy; there is no global logger. A
// disabled level costs one compare; its arguments are not formatted. Format strings are checked by
// the compiler. Threads: any, as far as the sink allows (the default one does). path: slow when
// enabled
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/status.hpp"

namespace espalier {

enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug, kTrace };
const char* log_level_name(LogLevel level) noexcept;

// Where messages go. `message` has neither prefix nor newline and ends with the call.
struct LogSink {
  using Write = void (*)(void* context, LogLevel level, Rank rank,
                         std::string_view message) noexcept;
  Write write;
  void* context = nullptr;
};

// Writes "espalier[rank] level: message" ("espalier level: ..." when the rank is not known) to the
// standard error, each message as whole lines in one system call, so that ranks sharing a terminal
// do not mix within a line.
LogSink stderr_sink() noexcept;

class Log {
 public:
  explicit Log(LogLevel level = LogLevel::kWarn, Rank rank = kNoRank,
               LogSink sink = stderr_sink()) noexcept
      : sink_(sink), rank_(rank), level_(level) {}

  bool enabled(LogLevel level) const noexcept { return level <= level_; }

  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    at(LogLevel::kError, format, args...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    at(LogLevel::kWarn, format, args...);
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    at(LogLevel::kInfo, format, args...);
  }
  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    at(LogLevel::kDebug, format, args...);
  }
  template <typename... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) const {
    at(LogLevel::kTrace, format, args...);
  }

 private:
  template <typename... Args>
  void at(LogLevel level, fmt::string_view format, Args&... args) const {
    if (enabled(level)) [[unlikely]] {
      write(level, format, fmt::make_format_args(args...));
    }
  }
  [[gnu::cold, gnu::noinline]] void write(LogLevel level, fmt::string_view format,
                                          fmt::format_args args) const;

  LogSink sink_;
  Rank rank_;
  LogLevel level_;
};

}  // namespace espalier
