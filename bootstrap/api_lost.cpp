// C API: who is lost, and waits for what others do without an operation of this rank. Contracts in
// espalier.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bootstrap/api.hpp"

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
      : job_(job), counter_(counter), value_(value), begin_ns_(job.clock.now_ns()), seen_(now()) {
    const double begin_s = esp_time();
    end_s_ = limit_s > 0 ? begin_s + limit_s : kNever;
    next_look_s_ = begin_s + kStillSeconds;
  }

  bool reached() const noexcept { return now() <= value_; }
  // Until it is time for a look, at the latest.
  void go_on() {
    const auto pauses = [&] { return reached() || esp_time() > std::min(end_s_, next_look_s_); };
    if (job_.threaded) {
      wait_until(job_, pauses, nullptr);
    } else {
      job_.worker->wait(pauses, begin_ns_);  // For the watchdog all of it is one wait.
    }
  }
  // After that. True: it has ended, reached or not.
  bool over() {
    if (reached()) return true;
    const double time_s = esp_time();
    if (time_s > end_s_) return true;
    if (const int64_t value = now(); value != std::exchange(seen_, value)) {
      next_look_s_ = time_s + kStillSeconds;
      loss_ = {};
      return false;
    }
    next_look_s_ = time_s + kLookSeconds;
    const bool before = !loss_.ok();
    on_owner(job_,
             [&] { loss_ = job_.requests.in_use() == 0 ? job_.liveness->first_lost() : Status(); });
    return before && !loss_.ok();
  }
  // Why it has ended before its time; ok: it has not.
  const Status& loss() const noexcept { return loss_; }

 private:
  static constexpr double kStillSeconds = 1.0, kLookSeconds = 0.2, kNever = 1e300;

  int64_t now() const noexcept { return __atomic_load_n(counter_, __ATOMIC_ACQUIRE); }

  esp_job& job_;
  const int64_t* counter_;
  const int64_t value_;
  const std::uint64_t begin_ns_;
  int64_t seen_;
  double end_s_, next_look_s_;
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
  if (job == nullptr || counter == nullptr || !(timeout_seconds >= 0)) return ESP_ERR_ARGUMENT;
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
