// C API: waits that nobody of the job ends by an operation, and who is lost. Contracts in
// espalier.h.
#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/api.hpp"

namespace api = espalier::api;

namespace espalier::api {
namespace {

// A wait for a counter to come down. Whoever is to bring it down is not known: so a loss ends the
// wait only when the counter stands still. Threads: the caller's.
class CounterWait {
 public:
  CounterWait(esp_job& job, const int64_t* counter, int64_t value, double limit_s)
      : job_(job), counter_(counter), value_(value), seen_(now()) {
    moved_s_ = esp_time();
    end_s_ = limit_s > 0 ? moved_s_ + limit_s : 0;
  }

  bool reached() const noexcept { return now() <= value_; }
  const Status& loss() const noexcept { return loss_; }

  bool over() {
    if (reached()) return true;
    const double time_s = esp_time();
    if (const int64_t value = now(); value != seen_) {
      seen_ = value;
      moved_s_ = time_s;
    } else if (time_s >= std::max(moved_s_ + kStillSeconds, next_look_s_)) {
      next_look_s_ = time_s + kLookSeconds;
      on_owner(job_, [&] { loss_ = lost_rank(job_); });
    }
    return !loss_.ok() || (end_s_ > 0 && time_s > end_s_);
  }

 private:
  static constexpr double kStillSeconds = 1.0, kLookSeconds = 0.2;

  int64_t now() const noexcept { return __atomic_load_n(counter_, __ATOMIC_ACQUIRE); }

  esp_job& job_;
  const int64_t* counter_;
  int64_t value_, seen_;
  double moved_s_, end_s_, next_look_s_ = 0;
  Status loss_;
};

}  // namespace

Status lost_rank(esp_job& job) noexcept {
  for (Rank rank = 0; rank < job.size; ++rank) {
    if (rank != job.rank && job.liveness->is_dead(rank)) return job.liveness->loss(rank);
  }
  return {};
}

esp_status fail_lost(esp_job& job, Status loss) {
  const bool died = loss.code() == ESP_ERR_PEER_DIED;
  return fail(job, loss.code(),
              fmt::format("rank {} {}", loss.rank(), died ? "died" : "cannot be reached any more"));
}

}  // namespace espalier::api

extern "C" {

esp_status esp_job_check(esp_job* job) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  espalier::Status loss;
  api::on_owner(*job, [&] { loss = api::lost_rank(*job); });
  return loss.ok() ? ESP_OK : api::fail_lost(*job, loss);
}

esp_status esp_counter_wait(esp_job* job, const int64_t* counter, int64_t value,
                            double timeout_seconds) {
  if (job == nullptr || counter == nullptr || !(timeout_seconds >= 0)) return ESP_ERR_ARGUMENT;
  if (!api::may_block(*job)) return api::fail(*job, ESP_ERR_STATE, "waiting inside a callback");
  const double limit = timeout_seconds > 0 ? timeout_seconds : job->config.timeout;
  api::CounterWait wait(*job, counter, value, limit);
  api::wait_until(
      *job, [&] { return wait.over(); }, nullptr);
  api::flush(*job);
  if (wait.reached()) return ESP_OK;
  if (!wait.loss().ok()) return api::fail_lost(*job, wait.loss());
  return api::fail(*job, ESP_ERR_TIMEOUT,
                   fmt::format("a counter has not come down to {} within {} s", value, limit));
}

}  // extern "C"
