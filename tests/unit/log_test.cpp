#include "core/log.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace espalier {
namespace {

struct Captured {
  std::vector<std::string> lines;
  LogSink sink() {
    return {[](void* context, LogLevel level, Rank rank, std::string_view message) noexcept {
              static_cast<Captured*>(context)->lines.push_back(
                  fmt::format("{} {} {}", log_level_name(level), rank, message));
            },
            this};
  }
};

TEST(Log, LevelDecides) {
  Captured captured;
  const Log log(LogLevel::kInfo, 3, captured.sink());
  log.error("a {}", 1);
  log.warn("b");
  log.info("c {}", "x");
  log.debug("d");
  log.trace("e");
  EXPECT_EQ(captured.lines, (std::vector<std::string>{"error 3 a 1", "warning 3 b", "info 3 c x"}));
}

struct CountsFormatting {
  int* formatted;
};

}  // namespace
}  // namespace espalier

template <>
struct fmt::formatter<espalier::CountsFormatting> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <typename Context>
  auto format(const espalier::CountsFormatting& value, Context& context) const {
    ++*value.formatted;
    return context.out();
  }
};

namespace espalier {
namespace {

TEST(Log, DisabledLevelsDoNotFormat) {
  Captured captured;
  const Log log(LogLevel::kWarn, 0, captured.sink());
  int formatted = 0;
  log.info("{}", CountsFormatting{&formatted});
  EXPECT_EQ(formatted, 0);
  log.warn("{}", CountsFormatting{&formatted});
  EXPECT_EQ(formatted, 1);
}

TEST(Log, StandardErrorLinesCarryRankAndLevel) {
  testing::internal::CaptureStderr();
  Log(LogLevel::kWarn, 7).warn("peer {} is slow", 2);
  Log().error("no rank yet");
  errno = ENOENT;
  Log(LogLevel::kWarn, 7).warn("{}", std::string(3000, 'x'));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "espalier[7] warning: peer 2 is slow\nespalier error: no rank yet\n"
            "espalier[7] warning: " +
                std::string(3000, 'x') + "\n");
}

}  // namespace
}  // namespace espalier
