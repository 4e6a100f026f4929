// C API: requests, notification, counters. Contracts in espalier.h.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "api/api.hpp"
#include "core/futex.hpp"
#include "net/link.hpp"

using espalier::Result;
namespace api = espalier::api;

namespace espalier {

void DeferredCallbacks::add(esp_request& request) noexcept {
  request.deferred_next = nullptr;
  *last_ = &request;
  last_ = &request.deferred_next;
}

int DeferredCallbacks::progress() noexcept {
  int events = 0;
  // Callbacks may defer more; those wait for the next turn.
  esp_request* request = std::exchange(first_, nullptr);
  last_ = &first_;
  while (request != nullptr) {
    esp_request* next = request->deferred_next;
    api::finish_request(request, request->status);
    request = next;
    ++events;
  }
  return events;
}

}  // namespace espalier

namespace espalier::api {
namespace {

void give_back(esp_job& job, esp_request& request) noexcept {
  if (request.shared) {
    job.shared_requests.release(static_cast<SharedRequest*>(&request));
  } else {
    job.requests.release(&request);
  }
}

// From then on it may be gone, or in its next round: who sleeps is woken by address alone.
void end_state(esp_request& request) noexcept {
  if (!request.job->threaded) {
    request.state.store(esp_request::kEnded, std::memory_order_release);
  } else if (request.state.exchange(esp_request::kEnded, std::memory_order_acq_rel) ==
             esp_request::kSleptOn) {
    futex_wake_all(request.state);
  }
}

}  // namespace

void finish_request(void* context, Status status) noexcept {
  auto& request = *static_cast<esp_request*>(context);
  esp_job& job = *request.job;
  if (request.partial != nullptr) [[unlikely]]
    end_round(*request.partial, status);
  const esp_notify notify = request.notify;
  ++job.ends;
  if (request.persistent) ++job.resting_requests;
  if (request.shared) {
    --job.shared_under_way;
    unlist(request);
  }
  if (request.reports() && !request.persistent) {
    release_partial(job, request.partial);
    give_back(job, request);
  } else {
    request.status = status;
    end_state(request);
  }
  // From here on the request may be gone, or in its next round.
  if (notify.callback != nullptr) {
    ++job.counters.callbacks;
    notify.callback(notify.context, status.code());
  } else if (notify.counter != nullptr) {
    // Writer: the owner; readers: whoever waits for it. Publishes the operation's result.
    __atomic_fetch_sub(notify.counter, 1, __ATOMIC_RELEASE);
  }
}

bool is_awaited(const Finish& finish) noexcept {
  return finish.function == &finish_request &&
         static_cast<const esp_request*>(finish.context)->awaited.load(std::memory_order_relaxed);
}

namespace {

// What was to open the input of other requests is going.
void leave_followers(esp_job& job, const esp_request& request) noexcept {
  for (esp_request* r = job.open_requests; r != nullptr; r = r->open_next) {
    if (r->partial == nullptr || r->partial->after != &request) continue;
    r->partial->after = nullptr;
    r->partial->orphaned.store(r->persistent, std::memory_order_relaxed);
  }
}

}  // namespace

void release_request(esp_job& job, esp_request& request) noexcept {
  if (request.partial != nullptr && request.partial->delivers) leave_followers(job, request);
  if (request.persistent) {
    unbind(request);
    --job.resting_requests;
  }
  unlist(request);
  release_partial(job, request.partial);
  give_back(job, request);
}

void attach_partial(esp_request& request, Partial* partial) noexcept {
  request.partial = partial;
  if (partial != nullptr) partial->request = &request;
}

esp_status refuse_report(esp_job& job, const char* caller) {
  return bad_argument(job, caller,
                      "exactly one of: a request to return, a notify with a callback, a notify "
                      "with a counter");
}

Result<esp_request*> make_request(esp_job& job, const esp_notify* notify, esp_request** request) {
  ESP_ASSERT(reports_once(notify, request));
  esp_request* made = job.requests.allocate();
  if (made == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a request");
  made->job = &job;
  if (notify != nullptr) {
    made->notify = *notify;
    return made;
  }
  list_open(*made);
  return made;
}

void list_open(esp_request& request) noexcept {
  esp_job& job = *request.job;
  request.open_next = job.open_requests;
  request.open_link = &job.open_requests;
  if (request.open_next != nullptr) request.open_next->open_link = &request.open_next;
  job.open_requests = &request;
}

void unlist(esp_request& request) noexcept {
  if (request.open_link == nullptr) return;
  *request.open_link = request.open_next;
  if (request.open_next != nullptr) request.open_next->open_link = request.open_link;
  request.open_link = nullptr;
}

namespace {

// The clock is read now and then only; as often as Worker::wait() looks around. And in each of
// polls that are far apart: the job's clock does not count all of a long time between two looks.
constexpr std::uint32_t kPollsPerLook = 64;
constexpr std::uint64_t kFarApartNs = 300'000;
constexpr std::uint64_t kWatchNs = 20'000'000;

}  // namespace

// A connection needs both of its ranks inside the library. One that computes is not waited for any
// longer: it may depend on what this rank does outside.
[[gnu::noinline]] void wait_for_connections(esp_job& job) noexcept {
  const std::uint64_t begin = job.clock.now_ns();
  job.worker->wait(
      [&] { return job.worker->flush() || job.clock.now_ns() - begin > net::kFlushPatienceNs; });
}

[[gnu::noinline]] void look_around(esp_job& job) noexcept {
  Polls& polls = job.polls;
  const std::uint64_t now = job.clock.now_ns();
  const bool far_apart = now - polls.looked_ns >= kFarApartNs * std::max(polls.turns, 1U);
  polls.turns_per_look = far_apart ? 1 : kPollsPerLook;
  polls.looked_ns = now;
  polls.turns = 0;
  if (polls.idle_since_ns == 0) polls.idle_since_ns = now;
  if (polls.watched_ns == 0) {
    polls.watched_ns = now;
  } else if (now - polls.watched_ns >= kWatchNs) {
    polls.watched_ns = now;
    job.shm_wire->idle();
    if (job.network != nullptr) job.network->idle();
    job.report->look_of_poller(polls.idle_since_ns, now);
  }
}

namespace {

// Since the last question: have segments moved, or operations begun or ended?
bool has_moved(esp_job& job) noexcept {
  const Counters& c = job.counters;
  const std::uint64_t now =
      c.segments_sent.value() + c.segments_received.value() + c.operations.value() +
      c.short_operations.value() + c.callbacks.value() + c.portions_delivered.value() +
      c.remote_bytes_sent.value() + c.remote_bytes_received.value() + c.messages_sent.value() +
      c.messages_received.value() + job.requests.in_use();
  return std::exchange(job.polls.moved, now) != now;
}

}  // namespace

int poll_once(esp_job& job) noexcept {
  const int events = job.worker->progress();
  // Late is what is waited for in a row of polls that move nothing (questions about who is late,
  // and their answers, are events, too); who has died, and what failed, is looked for all the same:
  // of all that arrives nothing may be what is waited for.
  if (events > 0 && has_moved(job)) job.polls.idle_since_ns = 0;
  if (!job.has_open_operations()) {
    job.polls = {};
  } else if (++job.polls.turns >= job.polls.turns_per_look) {
    look_around(job);
  }
  if (events == 0 && job.nodes.crowded()) sched_yield();
  return events;
}

esp_status bad_argument(esp_request* const* requests, size_t count, std::string_view caller,
                        std::string_view what) {
  esp_request* const* end = requests != nullptr ? requests + count : requests;
  esp_request* const* known =
      std::find_if(requests, end, [](const esp_request* one) { return one != nullptr; });
  return known == end ? ESP_ERR_ARGUMENT : bad_argument(*(*known)->job, caller, what);
}

esp_status conclude(esp_job& job, esp_request* pending, Result<Engine::Started>& started,
                    esp_request** request) {
  if (!started) {
    release_request(job, *pending);
    return fail(job, started.error());
  }
  if (request != nullptr) *request = pending;
  conclude(*pending, *started);
  return ESP_OK;
}

void conclude(esp_request& pending, const Engine::Started& started) noexcept {
  if (!started.done) return;
  if (pending.notify.callback != nullptr) {
    pending.status = started.status;
    pending.job->deferred.add(pending);
  } else {
    finish_request(&pending, started.status);
  }
}

}  // namespace espalier::api

namespace {

bool is_done(const esp_request& request) noexcept {
  return request.state.load(std::memory_order_acquire) == esp_request::kEnded;
}

// Nobody waits for it: no handle, or an inactive one.
bool is_idle(const esp_request* request) noexcept {
  return request == nullptr ||
         request->state.load(std::memory_order_relaxed) == esp_request::kInactive;
}

esp_status collect(esp_request** handle) {
  esp_request* request = *handle;
  esp_job& job = *request->job;
  const esp_status status = request->status.code();
  if (request->persistent) {
    request->awaited.store(false, std::memory_order_relaxed);
    request->state.store(esp_request::kInactive, std::memory_order_release);
    return status;
  }
  *handle = nullptr;
  if (request == &job.completed) return ESP_OK;
  if (request->shared) {
    job.shared_requests.release(static_cast<api::SharedRequest*>(request));
  } else {
    api::hand_over(job, [request] { api::release_request(*request->job, *request); });
  }
  return status;
}

void sleep_on(esp_request& request, std::uint64_t limit_ns) noexcept {
  std::uint32_t now = esp_request::kUnderWay;
  const bool sleeps = request.state.compare_exchange_strong(now, esp_request::kSleptOn,
                                                            std::memory_order_acquire) ||
                      now == esp_request::kSleptOn;
  if (sleeps) espalier::futex_wait(request.state, esp_request::kSleptOn, limit_ns);
}

// The only one that is open; nullptr: there are several, of which any may end the wait.
esp_request* only_one(esp_request** requests, size_t count) noexcept {
  esp_request* only = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (is_idle(requests[i])) continue;
    if (only != nullptr) return nullptr;
    only = requests[i];
  }
  return only;
}

constexpr size_t kNone = ~size_t{0};
constexpr std::uint64_t kOtherJobNs = 1'000'000;

bool one_job(esp_request** requests, size_t count) noexcept {
  const esp_job* job = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (is_idle(requests[i])) continue;
    if (job != nullptr && requests[i]->job != job) return false;
    job = requests[i]->job;
  }
  return true;
}

// Position of one that is done.
size_t find_done(esp_request** requests, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (!is_idle(requests[i]) && is_done(*requests[i])) return i;
  }
  return kNone;
}

bool all_idle(esp_request** requests, size_t count) noexcept {
  return std::all_of(requests, requests + count, is_idle);
}

// Drives the jobs of those that are open, once.
void poll_open(esp_request** requests, size_t count) noexcept {
  const esp_job* driven = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (is_idle(requests[i]) || requests[i]->job == driven || is_done(*requests[i])) continue;
    esp_job& job = *requests[i]->job;
    driven = &job;
    if (!job.threaded && !job.worker->in_progress()) (void)api::poll_once(job);
  }
}

// Until one is done; kNone: all are idle.
esp_status wait_for_one(esp_request** requests, size_t count, size_t& found) {
  found = find_done(requests, count);
  esp_job* job = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!is_idle(requests[i])) job = requests[i]->job;
  }
  if (job == nullptr) return ESP_OK;
  if (found == kNone) {
    if (!api::may_block(*job)) return api::fail(*job, ESP_ERR_STATE, "waiting inside a callback");
    if (esp_request* only = only_one(requests, count)) {
      only->awaited.store(true, std::memory_order_relaxed);  // until its end
    }
    const auto look = [&] { return (found = find_done(requests, count)) != kNone; };
    api::wait_until(*job, look, [&](std::uint64_t limit_ns) {
      // Of several jobs the other threads announce nothing here.
      job->events.wait(look, one_job(requests, count) ? limit_ns : kOtherJobNs);
    });
  }
  api::flush(*job);
  return ESP_OK;
}

}  // namespace

extern "C" {

esp_status esp_request_test(esp_request** request, int* done) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  if (done == nullptr) return api::bad_argument(request, 1, __func__, "done is NULL");
  *done = 1;
  if (is_idle(*request)) return ESP_OK;
  esp_job& job = *(*request)->job;
  if (!is_done(**request) && !job.threaded && !job.worker->in_progress()) {
    (void)api::poll_once(job);
  }
  if (!is_done(**request)) {
    *done = 0;
    return ESP_IN_PROGRESS;
  }
  return collect(request);
}

esp_status esp_request_wait(esp_request** request) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  if (is_idle(*request)) return ESP_OK;
  esp_request& pending = **request;
  esp_job& job = *pending.job;
  if (!is_done(pending)) {
    if (!api::may_block(job)) return api::fail(job, ESP_ERR_STATE, "waiting inside a callback");
    pending.awaited.store(true, std::memory_order_relaxed);  // until its end
    api::wait_until(
        job, [&] { return is_done(pending); },
        [&](std::uint64_t limit_ns) { sleep_on(pending, limit_ns); });
  }
  api::flush(job);
  return collect(request);
}

esp_status esp_request_wait_any(esp_request** requests, size_t count, int* index) {
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  if (index == nullptr) return api::bad_argument(requests, count, __func__, "index is NULL");
  *index = -1;
  size_t found = kNone;
  const esp_status status = wait_for_one(requests, count, found);
  if (status != ESP_OK || found == kNone) return status;
  *index = static_cast<int>(found);
  return collect(&requests[found]);
}

esp_status esp_request_wait_some(esp_request** requests, size_t count, int* indices,
                                 esp_status* statuses, size_t* completed) {
  if (completed == nullptr) {
    return api::bad_argument(requests, count, __func__, "completed is NULL");
  }
  *completed = 0;
  if (indices == nullptr && count > 0) {
    return api::bad_argument(requests, count, __func__, "indices is NULL");
  }
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  size_t found = kNone;
  esp_status first = wait_for_one(requests, count, found);
  if (first != ESP_OK || found == kNone) return first;
  for (size_t i = found; i < count; ++i) {
    if (is_idle(requests[i]) || !is_done(*requests[i])) continue;
    const esp_status status = collect(&requests[i]);
    if (first == ESP_OK) first = status;
    if (statuses != nullptr) statuses[*completed] = status;
    indices[(*completed)++] = static_cast<int>(i);
  }
  return first;
}

esp_status esp_request_test_any(esp_request** requests, size_t count, int* index, int* done) {
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  if (index == nullptr || done == nullptr) {
    return api::bad_argument(requests, count, __func__, "index or done is NULL");
  }
  *index = -1;
  size_t found = find_done(requests, count);
  if (found == kNone) {
    poll_open(requests, count);
    found = find_done(requests, count);
  }
  *done = found != kNone || all_idle(requests, count) ? 1 : 0;
  if (*done == 0) return ESP_IN_PROGRESS;
  if (found == kNone) return ESP_OK;
  *index = static_cast<int>(found);
  return collect(&requests[found]);
}

esp_status esp_request_test_all(esp_request** requests, size_t count, int* done) {
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  if (done == nullptr) return api::bad_argument(requests, count, __func__, "done is NULL");
  poll_open(requests, count);
  *done = std::all_of(requests, requests + count,
                      [](auto* request) { return is_idle(request) || is_done(*request); });
  if (*done == 0) return ESP_IN_PROGRESS;
  esp_status first = ESP_OK;
  for (size_t i = 0; i < count; ++i) {
    const esp_status status = is_idle(requests[i]) ? ESP_OK : collect(&requests[i]);
    if (first == ESP_OK) first = status;
  }
  return first;
}

esp_status esp_request_wait_all(esp_request** requests, size_t count) {
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  esp_status first = ESP_OK;
  for (size_t i = 0; i < count; ++i) {
    const esp_status status = esp_request_wait(&requests[i]);
    if (first == ESP_OK) first = status;
    if (status == ESP_ERR_STATE && requests[i] != nullptr) return status;  // inside a callback
  }
  return first;
}

}  // extern "C"
