// A tiny harness for tests that run as one rank of a job.
//
// CHECK and its kin print which rank failed what, count, and go on: a rank that stopped would make
// the others wait for it. A program runs the cases that its arguments name; its exit status is 0
// when every check of this rank held. Threads: counters are atomic, some tests play several ranks
// in one process. path: setup
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/espalier.h"

namespace test {

inline std::atomic<int> g_failures{0};
inline std::atomic<long> g_checks{0};
inline std::atomic<int> g_rank{0};
inline std::string g_case;

// Prints the first few failures of a rank; the rest are only counted.
inline void fail(std::string_view file, int line, const std::string& what) {
  if (g_failures.fetch_add(1) >= 8) return;
  const auto slash = file.rfind('/');
  const std::string text = fmt::format("FAILED rank {} case {} at {}:{}: {}\n", g_rank.load(),
                                       g_case, file.substr(slash + 1), line, what);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

// The text of a team's failure; a test may have failed to make the team.
inline const char* text_of(const esp_team* team) {
  if (team == nullptr) return "no team";
  const char* text = esp_team_error(team);
  return text[0] != '\0' ? text : esp_job_error(esp_team_job(team));
}

#define CHECK(condition, ...)                                                       \
  do {                                                                              \
    ::test::g_checks.fetch_add(1, std::memory_order_relaxed);                       \
    if (!(condition)) {                                                             \
      ::test::fail(__FILE__, __LINE__, #condition ": " + fmt::format(__VA_ARGS__)); \
    }                                                                               \
  } while (false)

#define CHECK_EQ(actual, expected, ...)                                                     \
  do {                                                                                      \
    const auto actual_value = (actual);                                                     \
    const decltype(actual_value) expected_value = (expected);                               \
    ::test::g_checks.fetch_add(1, std::memory_order_relaxed);                               \
    if (!(actual_value == expected_value)) {                                                \
      ::test::fail(__FILE__, __LINE__,                                                      \
                   std::string(#actual) +                                                   \
                       fmt::format(" is {}, expected {}: ", actual_value, expected_value) + \
                       fmt::format(__VA_ARGS__));                                           \
    }                                                                                       \
  } while (false)

// What a call returned against what it should; `where` is a team, whose text is shown.
#define CHECK_STATUS(call, expected, where, ...)                                                  \
  do {                                                                                            \
    const esp_status actual_status = (call);                                                      \
    ::test::g_checks.fetch_add(1, std::memory_order_relaxed);                                     \
    if (actual_status != (expected)) {                                                            \
      ::test::fail(                                                                               \
          __FILE__, __LINE__,                                                                     \
          std::string(#call) +                                                                    \
              fmt::format(" gave \"{}\" ({}), expected \"{}\": ", esp_status_text(actual_status), \
                          ::test::text_of(where), esp_status_text(expected)) +                    \
              fmt::format(__VA_ARGS__));                                                          \
    }                                                                                             \
  } while (false)

#define CHECK_OK(call, where, ...) CHECK_STATUS(call, ESP_OK, where, __VA_ARGS__)

// What esp_job_init answered; `job` is NULL unless that was ESP_OK.
struct Opened {
  esp_status status = ESP_OK;
  esp_job* job = nullptr;
  std::string text;
};
inline Opened open_job(esp_job_options options = ESP_JOB_OPTIONS_INIT) {
  char text[512] = "";
  options.error_text = text;
  options.error_text_bytes = sizeof text;
  Opened opened;
  opened.status = esp_job_init(&options, &opened.job);
  opened.text = text;
  return opened;
}

// What a case gets: a running job of this process.
struct Context {
  esp_job* job;
  esp_team* world;
  int rank;
  int size;
};

struct Case {
  std::string_view name;
  void (*run)(const Context& context);
};

// Opens the job, runs the named cases, closes the job; the program's exit status.
inline int run_cases(const std::vector<Case>& cases, int argc, char** argv,
                     const esp_job_options& options = ESP_JOB_OPTIONS_INIT) {
  const Opened opened = open_job(options);
  if (opened.status != ESP_OK) {
    fmt::print(stderr, "esp_job_init: {}\n", opened.text);
    return 1;
  }
  Context context{};
  context.job = opened.job;
  context.world = esp_job_world(context.job);
  context.rank = esp_job_rank(context.job);
  context.size = esp_job_size(context.job);
  g_rank = context.rank;
  for (int i = 1; i < argc; ++i) {
    bool found = false;
    for (const Case& one : cases) {
      if (one.name != argv[i]) continue;
      found = true;
      g_case = one.name;
      one.run(context);
    }
    if (!found) fail(__FILE__, __LINE__, fmt::format("no case {}", argv[i]));
  }
  CHECK_EQ(esp_job_finalize(context.job), ESP_OK, "at the end");
  if (context.rank == 0) {
    fmt::print("{} checks, {} failures on rank 0 of {}\n", g_checks.load(), g_failures.load(),
               context.size);
  }
  if (g_checks.load() < 2) return 1;  // A test that checked nothing is broken.
  return g_failures.load() == 0 ? 0 : 1;
}

}  // namespace test
