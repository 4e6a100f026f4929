// Signal: a word that one thread raises once and others wait for, driving progress where that is
// the caller's to do. path: slow, but for raise() and raised()
#ifndef ESPALIER_CPP_DETAIL_SIGNAL_HPP
#define ESPALIER_CPP_DETAIL_SIGNAL_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>

#include "espalier/espalier.h"

namespace esp::detail {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Whether a thread of the library drives the job. The descriptor is for the others alone; that
// there is none left for it (the text then says so) is no sign of such a thread.
inline bool is_driven(esp_job* job) noexcept {
  return esp_job_fd(job) < 0 &&
         std::strstr(esp_job_error(job), "no descriptor for the doorbell") == nullptr;
}

// Blocking calls are refused inside callbacks; this one ends at once elsewhere.
inline bool may_wait(esp_job* job) noexcept {
  const std::int64_t never = 1;
  return esp_counter_wait(job, &never, 0, 1e-9) != ESP_ERR_STATE;
}

class Signal {
 public:
  // `job`: nullptr where no job has a part in it.
  explicit Signal(esp_job* job) noexcept : job_(job) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  esp_job* job() const noexcept { return job_; }
  bool raised() const noexcept { return word().load(std::memory_order_acquire) == 0; }
  // The signal may be gone when those who wait have seen it: the caller holds what it is part of.
  void raise() noexcept {
    word().store(0, std::memory_order_release);
    word().notify_all();
  }
  // Who waits, where it is raised again and again. What was done before it was last raised is seen
  // afterwards.
  void lower() noexcept { (void)word().exchange(1, std::memory_order_acq_rel); }

  // ESP_OK, ESP_ERR_TIMEOUT, or ESP_ERR_STATE inside a callback. `anyone`: another thread than that
  // which drives progress may raise it, and rings no bell.
  esp_status wait(bool anyone, Deadline deadline = {}) const noexcept {
    if (raised()) return ESP_OK;
    if (job_ == nullptr) return park(deadline);
    if (is_driven(job_)) return may_wait(job_) ? park(deadline) : ESP_ERR_STATE;
    if (anyone || deadline) return may_wait(job_) ? poll(deadline) : ESP_ERR_STATE;
    while (!raised()) {
      // The limit is that of the operation, whose watchdog ends it.
      if (esp_counter_wait(job_, &open_, 0, 0) == ESP_ERR_STATE) return ESP_ERR_STATE;
    }
    return ESP_OK;
  }

  // Without driving progress: where that is somebody else's to do.
  esp_status park(const Deadline& deadline) const noexcept {
    if (!deadline) {
      while (!raised()) word().wait(1, std::memory_order_acquire);
      return ESP_OK;
    }
    while (!raised()) {  // No wait of an atomic has a limit.
      if (Clock::now() >= *deadline) return ESP_ERR_TIMEOUT;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return ESP_OK;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic_ref<std::int64_t> word() const noexcept { return std::atomic_ref(open_); }

  esp_status poll(const Deadline& deadline) const noexcept {
    while (!raised()) {
      if (deadline && Clock::now() >= *deadline) return ESP_ERR_TIMEOUT;
      if (esp_progress(job_) == 0) std::this_thread::yield();
    }
    return ESP_OK;
  }

  esp_job* job_;
  // 0: raised. Writer: who ends what is waited for (release: publishes its result). Readers: any
  // thread, by the C API too, which takes a plain word.
  mutable std::int64_t open_ = 1;
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_SIGNAL_HPP
