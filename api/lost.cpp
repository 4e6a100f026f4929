// C API: who is lost, and waits for what others do without an operation of this rank. Contracts in
// espalier.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/api.hpp"

namespace api = espalier::api;

namespace espalier::api {
namespace {

// A wait for a counter to come down. Operations of this rank end by themselves when somebody is
// lost, and own their counters until then. Where there are none, and the counter stands still, only
// words of others can bring it down, and looks at who is lost may end the wait: two of them, so
// that what had come while this rank did not run is handled in between. Threads: the caller's.
class CounterWait {
 public:
  CounterWait(esp_job& job, const int64_t* counter, int64_t value, double limit_s)
      : job_(job), counter_(counter), value_(value), begin_ns_(clock_.now_ns()), seen_(now()) {
    end_ns_ = deadline_after(begin_ns_, limit_s);
    next_look_ns_ = begin_ns_ + kStillNs;
    if (!job.threaded) wait_began_ns_ = job.clock.now_ns();
    job.counter_waits.fetch_add(1, std::memory_order_relaxed);
  }
  ~CounterWait() { job_.counter_waits.fetch_sub(1, std::memory_order_relaxed); }
  CounterWait(const CounterWait&) = delete;
  CounterWait& operator=(const CounterWait&) = delete;

  bool reached() const noexcept { return now() <= value_; }
  // Until it is time for a look, at the latest.
  void go_on() {
    const auto pauses = [&] {
      return reached() || clock_.now_ns() > std::min(end_ns_, next_look_ns_);
    };
    if (job_.threaded) {
      // Words of others may come down without any news.
      wait_until(job_, pauses, [&](std::uint64_t) { job_.events.wait(pauses, kQuietNs); });
    } else {
      job_.worker->wait(pauses, wait_began_ns_);  // For the watchdog all of it is one wait.
    }
  }
  // After that. True: it has ended, reached or not.
  bool over() {
    if (reached()) return true;
    const std::uint64_t time_ns = clock_.now_ns();
    if (time_ns > end_ns_) return true;
    if (const int64_t value = now(); value != std::exchange(seen_, value)) {
      next_look_ns_ = time_ns + kStillNs;
      loss_ = {};
      return false;
    }
    next_look_ns_ = time_ns + kLookNs;
    const bool before = !loss_.ok();
    on_owner(job_,
             [&] { loss_ = job_.has_open_operations() ? Status() : job_.liveness->first_lost(); });
    return before && !loss_.ok();
  }
  // Why it has ended before its time; ok: it has not.
  const Status& loss() const noexcept { return loss_; }

 private:
  static constexpr std::uint64_t kQuietNs = 200'000;
  static constexpr std::uint64_t kStillNs = 1'000'000'000, kLookNs = 200'000'000;

  int64_t now() const noexcept { return __atomic_load_n(counter_, __ATOMIC_ACQUIRE); }

  esp_job& job_;
  const int64_t* counter_;
  const int64_t value_;
  AttendedClock clock_{job_.steady_clock};  // The job's is its owner's, who may be a thread.
  const std::uint64_t begin_ns_;
  int64_t seen_;
  std::uint64_t end_ns_, next_look_ns_;
  std::uint64_t wait_began_ns_ = 0;  // by the job's clock
  Status loss_;
};

esp_status fail_lost(esp_job& job, Status loss) {
  const bool died = loss.code() == ESP_ERR_PEER_DIED;
  return fail(job, died ? ESP_ERR_PEER_DIED : ESP_ERR_NETWORK,
              fmt::format("rank {} {}", loss.rank(), died ? "died" : "cannot be reached any more"));
}

}  // namespace
}  // namespace espalier::api

extern "C" {

esp_status esp_job_check(esp_job* job) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  espalier::Status loss;
  api::on_owner(*job, [&] { loss = job->liveness->first_lost(); });
  return loss.ok() ? ESP_OK : api::fail_lost(*job, loss);
}

esp_status esp_counter_wait(esp_job* job, const int64_t* counter, int64_t value,
                            double timeout_seconds) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (counter == nullptr) return api::bad_argument(*job, __func__, "counter is NULL");
  if (!(timeout_seconds >= 0)) {
    return api::bad_argument(*job, __func__, "the timeout is not a time");
  }
  if (!api::may_block(*job)) return api::fail(*job, ESP_ERR_STATE, "waiting inside a callback");
  const double limit = timeout_seconds > 0 ? timeout_seconds : job->config.timeout;
  api::CounterWait wait(*job, counter, value, limit);
  do {
    wait.go_on();
  } while (!wait.over());
  api::flush(*job);
  if (wait.reached()) return ESP_OK;
  if (!wait.loss().ok()) return api::fail_lost(*job, wait.loss());
  return api::fail(*job, ESP_ERR_TIMEOUT,
                   fmt::format("a counter has not come down to {} within {} s", value, limit));
}

}  // extern "C"
