// The forms of a collective: blocking, and started with each way to report. What a test of all of
// them repeats. path: setup
#pragma once

#include <sched.h>

#include <atomic>

#include "tests/support/collectives.hpp"

namespace test {

enum class Form { kBlocking, kRequest, kCallback, kCounter, kPersistent };
inline constexpr Form kForms[] = {Form::kBlocking, Form::kRequest, Form::kCallback, Form::kCounter};

// How a collective is called.
struct Way {
  Form form = Form::kBlocking;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;  // AUTO where it blocks
};

inline std::string describe(const Way& way) {
  return fmt::format("form {} algorithm {} radix {} segment {} windows {}/{}",
                     static_cast<int>(way.form), static_cast<int>(way.options.algorithm),
                     way.options.radix, way.options.segment_bytes, way.options.window_send,
                     way.options.window_recv);
}

// Waits for the end of what `begin(options, notify, request)` starts, whichever way it reports.
template <typename Begin>
esp_status start_and_wait(esp_team* team, const Way& way, Begin&& begin) {
  esp_job* job = esp_team_job(team);
  if (way.form == Form::kRequest) {
    esp_request* request = nullptr;
    return finish(begin(&way.options, nullptr, &request), &request);
  }
  std::atomic<esp_status> ended{ESP_IN_PROGRESS};
  std::int64_t left = 1;
  esp_notify notify{nullptr, nullptr, &left};
  if (way.form == Form::kCallback) {
    notify = {[](void* context, esp_status status) {
                *static_cast<std::atomic<esp_status>*>(context) = status;
              },
              &ended, nullptr};
  }
  const esp_status status = begin(&way.options, &notify, nullptr);
  if (status != ESP_OK) return status;
  if (way.form == Form::kCounter) return esp_counter_wait(job, &left, 0, 100);
  while (ended == ESP_IN_PROGRESS) {
    if (esp_progress(job) == 0) sched_yield();
  }
  return ended;
}

// The status of a collective in the given way: `block()`, or `begin(options, notify, request)`.
template <typename Block, typename Begin>
esp_status call(esp_team* team, const Way& way, Block&& block, Begin&& begin) {
  return way.form == Form::kBlocking ? block() : start_and_wait(team, way, begin);
}

}  // namespace test
