// The forms of a member function of the C++ layer: what a test of all of them repeats. path: setup
#pragma once

#include <string>
#include <utility>

#include "tests/support/cpp_check.hpp"

namespace test {

// 0 blocks, 1 gives a request, 2 counts down; 3 and 4 are persistent likewise, two rounds.
inline constexpr int kStartingForms = 3, kCppForms = 5;

struct Forms {
  esp_team* team;

  // `block()`, `request()` and `count(notify)` call the same function.
  template <typename Block, typename Start, typename Count>
  void run(int form, Block&& block, Start&& start, Count&& count) const {
    if (form == 0) {
      CHECK_S(block());
      return;
    }
    if (form == 1) {
      auto request = start();
      CHECK(request.ok(), "{}", esp_team_error(team));
      if (request.ok()) CHECK_S(request->wait());
      return;
    }
    std::int64_t left = 1;
    const esp::Status status = count(esp::Notify::count_down(left));
    CHECK_S(status);
    if (status.ok()) wait_for(left);
  }
  template <typename Init, typename Count>
  void repeat(int form, Init&& init, Count&& count) const {
    std::int64_t left = 0;
    auto request = form == 3 ? init() : count(esp::Notify::count_down(left));
    CHECK(request.ok(), "{}", esp_team_error(team));
    for (int round = 0; round < 2 && request.ok(); ++round) {
      left = 1;
      CHECK_S(request->start());
      if (form == 4) wait_for(left);
      CHECK_S(request->wait());
    }
  }
  void wait_for(const std::int64_t& left) const {
    CHECK_EQ(esp_counter_wait(esp_team_job(team), &left, 0, 60.0), ESP_OK, "");
  }
};

inline esp_team* handle_of(esp::TeamRef team) {
  return team.get();
}
inline esp_team* handle_of(const esp::Graph& graph) {
  return esp_graph_team(graph.get());
}

// A member function of `on`, a team or graph, in one of the forms.
#define RUN_ON(on, form, function, ...)                                                   \
  do {                                                                                    \
    const ::test::Forms forms{::test::handle_of(on)};                                     \
    if (form < ::test::kStartingForms) {                                                  \
      forms.run(                                                                          \
          form, [&] { return on.function(__VA_ARGS__); },                                 \
          [&] { return on.function##_start(__VA_ARGS__); },                               \
          [&](esp::Notify n) { return on.function##_start(__VA_ARGS__, std::move(n)); }); \
    } else {                                                                              \
      forms.repeat(                                                                       \
          form, [&] { return on.function##_init(__VA_ARGS__); },                          \
          [&](esp::Notify n) { return on.function##_init(__VA_ARGS__, std::move(n)); });  \
    }                                                                                     \
  } while (false)
#define RUN(form, function, ...) RUN_ON(world, form, function, __VA_ARGS__)

// Refused with these words, whichever form; nothing was started.
#define DOES_NOT_FIT_ON(on, words, function, ...)                                      \
  do {                                                                                 \
    const esp::Status now = on.function(__VA_ARGS__);                                  \
    CHECK_EQ(now.code(), ESP_ERR_ARGUMENT, #function);                                 \
    CHECK(std::string(now.text()).find(words) != std::string::npos, "{}", now.text()); \
    CHECK_EQ(on.function##_start(__VA_ARGS__).code(), ESP_ERR_ARGUMENT, #function);    \
    CHECK_EQ(on.function##_init(__VA_ARGS__).code(), ESP_ERR_ARGUMENT, #function);     \
    CHECK_EQ(on.function##_start(__VA_ARGS__, esp::Notify([](esp_status) {})).code(),  \
             ESP_ERR_ARGUMENT, #function);                                             \
  } while (false)
#define DOES_NOT_FIT(words, function, ...) DOES_NOT_FIT_ON(world, words, function, __VA_ARGS__)

}  // namespace test
