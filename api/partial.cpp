// Partial completion: rounds of a request that delivers or awaits, and how news of them come to the
// owner. path: data
#include "api/partial.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>
#include <vector>

#include "api/api.hpp"

namespace espalier::api {

void Partials::note(Partial& partial) noexcept {
  if (partial.noted.exchange(true, std::memory_order_acq_rel)) return;
  Partial* head = notes_.load(std::memory_order_relaxed);
  do {
    partial.note_next = head;
  } while (!notes_.compare_exchange_weak(head, &partial, std::memory_order_release,
                                         std::memory_order_relaxed));
  job_.doorbell->ring_self();
}

int Partials::run_notes() noexcept {
  if (notes_.load(std::memory_order_relaxed) == nullptr) return 0;
  int events = 0;
  Partial* partial = notes_.exchange(nullptr, std::memory_order_acquire);
  while (partial != nullptr) {
    Partial* next = partial->note_next;
    // Who makes a partition ready from here on notes it again.
    (void)partial->noted.exchange(false, std::memory_order_acq_rel);
    if (partial->starts.exchange(false, std::memory_order_acq_rel)) {
      start_claimed(*partial->request);  // with its callbacks it may be gone
    } else {
      job_.engine->look_at_gates(*partial->team);
    }
    partial = next;
    ++events;
  }
  return events;
}

namespace {

int hand_out(Partial& partial) noexcept {
  int events = 0;
  esp_segment segment;
  while (partial.arrivals->take(segment)) {
    ++partial.job->counters.callbacks;
    partial.function(partial.context, &segment);
    ++events;
  }
  return events;
}

// The operation has ended, and nobody has been told: its team stays (Team::callers).
void hand_out_rest(Partial& partial) noexcept {
  std::atomic<std::uint32_t>& callers = partial.team->callers;
  callers.fetch_add(1, std::memory_order_relaxed);
  (void)hand_out(partial);
  callers.fetch_sub(1, std::memory_order_release);
}

}  // namespace

void Partials::add_due(Partial& partial) noexcept {
  if (std::exchange(partial.due, true)) return;
  partial.due_next = nullptr;
  *due_last_ = &partial;
  due_last_ = &partial.due_next;
}

int Partials::progress() noexcept {
  int events = run_notes();
  while (due_ != nullptr) {
    Partial* partial = due_;
    due_ = partial->due_next;
    if (due_ == nullptr) due_last_ = &due_;
    partial->due = false;
    events += hand_out(*partial);
  }
  return events;
}

void Partials::forget(Partial& partial) noexcept {
  for (Partial** link = &due_; *link != nullptr; link = &(*link)->due_next) {
    if (*link != &partial) continue;
    *link = partial.due_next;
    if (due_last_ == &partial.due_next) due_last_ = link;
    break;
  }
  partial.due = false;
  if (!partial.noted.load(std::memory_order_acquire)) return;
  Partial* noted = notes_.exchange(nullptr, std::memory_order_acquire);
  while (noted != nullptr) {
    Partial* next = noted->note_next;
    noted->noted.store(false, std::memory_order_release);
    if (noted != &partial) note(*noted);
    noted = next;
  }
}

void release_partial(esp_job& job, Partial* partial) noexcept {
  if (partial == nullptr) return;
  while (partial->visitors.load(std::memory_order_acquire) != 0) sched_yield();
  job.partials.forget(*partial);
  if (partial->order != nullptr) StreamOrders::give_back(*partial->order);
  if (partial->arrivals != nullptr) {
    while (!partial->arrivals->followers().empty()) {
      partial->arrivals->followers().back()->unfollow();
    }
  }
  job.partial_pool.release(partial);
}

void begin_arrivals(Partial& partial) noexcept {
  if (partial.arrivals != nullptr) partial.arrivals->begin_round();
}

void begin_round(Partial& partial) noexcept {
  Partial* leader = partial.after != nullptr ? partial.after->partial : nullptr;
  if (partial.partitions == nullptr || leader == nullptr) return;
  const esp_request& before = *partial.after;
  partial.partitions->follow(*leader->arrivals);
  if (esp_request::is_under_way(before.state.load(std::memory_order_relaxed))) return;
  if (before.status.ok()) {
    partial.partitions->open_all();
  } else if (!partial.team->failed()) {
    partial.job->engine->fail(*partial.team, before.status, leader->team->fault_text);
  }
}

void end_round(Partial& partial, Status status) noexcept {
  if (partial.order != nullptr) partial.order->end();
  if (partial.arrivals != nullptr) {
    if (partial.function != nullptr && status.ok()) hand_out_rest(partial);
    const std::vector<Partitions*>& followers = partial.arrivals->followers();
    while (!followers.empty()) {
      Partitions& follower = *followers.back();
      follower.unfollow();
      if (status.ok()) {
        follower.open_all();
        continue;
      }
      // What it would have opened never comes.
      auto& waiting = *static_cast<Partial*>(follower.context);
      if (!waiting.team->failed()) {
        partial.job->engine->fail(*waiting.team, status, partial.team->fault_text);
      }
    }
  }
  if (partial.partitions == nullptr) return;
  partial.partitions->unfollow();
  partial.partitions->close_all();
}

}  // namespace espalier::api

namespace {

using espalier::api::Partial;
namespace api = espalier::api;

esp_status no_partial(esp_request& request, const char* caller, const char* what) {
  return api::bad_argument(*request.job, caller, what);
}

esp_status make_ready(const char* caller, esp_request* request, int first, int last) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *request->job;
  Partial* partial = request->partial;
  if (partial == nullptr || !partial->awaits) {
    return no_partial(*request, caller, "the request awaits nothing");
  }
  const int count = partial->partitions != nullptr ? partial->partitions->count() : 0;
  if (first < 0 || last < first || last >= count) {
    return api::bad_argument(job, caller,
                             fmt::format("partitions {} to {} of {}", first, last, count));
  }
  // From the last partition on the request may be gone, but not before this thread has left.
  partial->visitors.fetch_add(1, std::memory_order_relaxed);
  const api::Claim claim = api::claim_round(*request);
  const bool claimed = claim != api::Claim::kRefused;
  if (claim == api::Claim::kMine) partial->starts.store(true, std::memory_order_release);
  int twice = -1;
  for (int p = first; claimed && p <= last; ++p) {
    if (!partial->partitions->ready(p)) twice = p;
  }
  if (claimed) job.partials.note(*partial);
  partial->visitors.fetch_sub(1, std::memory_order_release);
  if (!claimed) {
    return api::fail(job, ESP_ERR_STATE, fmt::format("{}: the operation has ended", caller));
  }
  if (twice < 0) return ESP_OK;
  return api::fail(job, ESP_ERR_STATE,
                   fmt::format("{}: partition {} was ready before", caller, twice));
}

}  // namespace

extern "C" {

esp_status esp_segment_take(esp_request* request, esp_segment* segment, int* taken) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  if (segment == nullptr || taken == nullptr) {
    return no_partial(*request, __func__, "segment or taken is NULL");
  }
  *taken = 0;
  const Partial* partial = request->partial;
  if (partial == nullptr || !partial->delivers || partial->function != nullptr) {
    return no_partial(*request, __func__, "the request does not deliver, or to a function");
  }
  // First whether it has ended: what landed before is seen then.
  const std::uint32_t state = request->state.load(std::memory_order_acquire);
  if (partial->arrivals != nullptr && partial->arrivals->take(*segment)) {
    *taken = 1;
    return ESP_OK;
  }
  if (esp_request::is_under_way(state)) return ESP_IN_PROGRESS;
  return request->status.code();
}

esp_status esp_segment_wait(esp_request* request, esp_segment* segment, int* taken) {
  esp_status status = esp_segment_take(request, segment, taken);
  if (status != ESP_IN_PROGRESS) return status;
  esp_job& job = *request->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, __func__);
  request->awaited.store(true, std::memory_order_relaxed);  // until its end
  const auto look = [&] {
    if (status == ESP_IN_PROGRESS) status = esp_segment_take(request, segment, taken);
    return status != ESP_IN_PROGRESS;
  };
  api::wait_until(job, look, [&](std::uint64_t limit_ns) { job.events.wait(look, limit_ns); });
  const espalier::Team& team = *request->partial->team;
  if (status != ESP_OK && team.failed_for_all()) job.errors.set(team.fault_text);
  return status;
}

int esp_arrived(const esp_request* request, int block) {
  if (request == nullptr || request->partial == nullptr) return -1;
  const Partial& partial = *request->partial;
  return partial.arrivals != nullptr ? partial.arrivals->arrived(block) : -1;
}

esp_status esp_ready_range(esp_request* request, int first, int last) {
  return make_ready(__func__, request, first, last);
}

esp_status esp_ready(esp_request* request, int partition) {
  return make_ready(__func__, request, partition, partition);
}

}  // extern "C"
