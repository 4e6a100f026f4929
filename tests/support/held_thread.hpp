// Holds the progress thread of a job: in a handler of a message that the rank sends to itself, as
// long as the object lives, but no longer than some seconds. Meanwhile nothing of the job moves.
// Takes the active message id 0. Threads: one of the program's. path: setup
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/rank_check.hpp"

namespace test {

class HeldThread {
 public:
  explicit HeldThread(esp_job* job) {
    const int rank = esp_job_rank(job);
    CHECK_EQ(esp_am_register(job, 0, &HeldThread::hold, this), ESP_OK, "{}", esp_job_error(job));
    esp_request* request = nullptr;
    CHECK_EQ(esp_am_send_start(job, rank, 0, 0, nullptr, 0, nullptr, &request), ESP_OK, "{}",
             esp_job_error(job));
    while (!in_.load()) std::this_thread::yield();
    job_ = job;
    sent_ = request;
  }
  ~HeldThread() {
    out_ = true;
    CHECK_EQ(esp_request_wait(&sent_), ESP_OK, "{}", esp_job_error(job_));
    while (!gone_.load()) std::this_thread::yield();
  }
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;

  bool holds() const { return !gone_; }

 private:
  static void hold(void* context, int, std::uint64_t, const void*, std::size_t) {
    auto& self = *static_cast<HeldThread*>(context);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    self.in_ = true;
    while (!self.out_ && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    self.gone_ = true;
  }

  std::atomic<bool> in_{false}, out_{false}, gone_{false};
  esp_job* job_ = nullptr;
  esp_request* sent_ = nullptr;
};

}  // namespace test
