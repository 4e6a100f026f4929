// What the files that implement the C API share: running on the owner, checking, reporting.
//
// In threaded mode starts are handed over: a request, and what it is to start, go to the progress
// thread, and the caller does not wait for it. What only that thread can find (a team that has
// failed, no memory) is the operation's end. What a thread hands over is done in its order, so what
// it frees after a start is freed after the start.
// Threads: any (these functions are what makes the API callable from any thread in threaded mode).
#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <utility>

#include "api/handles.hpp"
#include "core/latch.hpp"

namespace espalier::api {

// Is the worker another thread's?
inline bool hands_over(const esp_job& job) noexcept {
  return job.threaded && !job.worker->on_thread();
}

// The queue is full: until it has room.
[[gnu::cold, gnu::noinline]] void submit_slowly(esp_job& job, const Submission& work) noexcept;

// Runs `work`, a copy of it, where the worker may be touched: here and now, or on the progress
// thread by and by.
template <typename Work>
void hand_over(esp_job& job, Work work) noexcept {
  if (!hands_over(job)) return work();
  const Submission submission(work);
  if (!job.worker->submit(submission)) [[unlikely]]
    submit_slowly(job, submission);
}

// Looks of a waiting thread before it yields.
constexpr std::uint32_t kWaitingSpins = 100;

// A thread of threaded mode that has something else to drive while it waits.
template <typename Done, typename Sleep>
void idle_until(esp_job& job, Done& done, Sleep& sleep) {
  const std::uint64_t begin_ns = job.steady_clock.now_ns();
  while (!done()) {
    const std::uint64_t idle_ns = job.steady_clock.now_ns() - begin_ns;
    if (job.idle()) continue;
    if (idle_ns < IdleWork::kPatienceNs) {
      sched_yield();
    } else {
      sleep(IdleWork::sleep_ns(idle_ns));
    }
  }
}

// Blocks until done() holds. In threaded mode done() is looked at by the calling thread, which
// sleeps by sleep(limit in nanoseconds) until there may be news.
template <typename Done, typename Sleep>
void wait_until(esp_job& job, Done&& done, Sleep&& sleep) {
  if (!job.threaded) {
    job.worker->wait(done);
    return;
  }
  // The thread may have been put on this core: then looking alone would keep it from running.
  for (std::uint32_t spin = 0; spin < kWaitingSpins; ++spin) {
    if (done()) return;
    Worker::pause();
  }
  for (std::uint32_t turn = 0; turn < job.waiting_yields; ++turn) {
    sched_yield();
    if (done()) return;
  }
  const LongWait told(job.state.get());
  if (job.idle) return idle_until(job, done, sleep);
  while (!done()) sleep(std::uint64_t{100'000'000});
}

// As hand_over(), while this thread waits for it.
template <typename Work>
void on_owner(esp_job& job, Work&& work) {
  if (!hands_over(job)) return work();
  Latch done;
  hand_over(job, [&work, &done] {
    work();
    done.open();
  });
  wait_until(
      job, [&done] { return done.is_open(); },
      [&done](std::uint64_t limit_ns) { done.sleep(limit_ns); });
}

// A blocking call that touches its team after it has waited: no callback frees that meanwhile.
class Caller {
 public:
  explicit Caller(esp_team& team) noexcept : team_(team) { count(1, std::memory_order_relaxed); }
  ~Caller() { count(~std::uint32_t{0}, std::memory_order_release); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  void count(std::uint32_t more, std::memory_order order) noexcept {
    std::atomic<std::uint32_t>& callers = team_.team.callers;
    if (team_.job->threaded) {
      callers.fetch_add(more, order);
    } else {  // There is but one thread, and this is on the way of every message.
      callers.store(callers.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
  }
  esp_team& team_;
};

// For frames to ranks that are not connected yet, a moment.
void wait_for_connections(esp_job& job) noexcept;

// Before a blocking call leaves the library: what it has posted goes now, without the next call. In
// threaded mode the progress thread sees to that, and after a callback its caller.
inline void flush(esp_job& job) noexcept {
  if (!job.threaded && !job.worker->flush() && !job.worker->in_progress()) [[unlikely]] {
    wait_for_connections(job);
  }
}

// What wait() does now and then, for those who poll or sleep elsewhere: death, lateness, pressure.
void look_around(esp_job& job) noexcept;

// One turn for a caller that polls. Where ranks outnumber cores, a turn that found nothing gives
// the core away: the rank it waits for may need it. A poller is looked after like a waiter: its
// operations end when a member dies or does not come.
int poll_once(esp_job& job) noexcept;

// Blocking calls are not allowed inside callbacks.
inline bool may_block(const esp_job& job) noexcept {
  return job.threaded ? !job.worker->on_thread() : !job.worker->in_progress();
}

// Remembers the text for esp_job_error and returns the code.
esp_status fail(esp_job& job, esp_status code, std::string text);
inline esp_status fail(esp_job& job, const Error& failure) {
  return fail(job, failure.status.code(), failure.text);
}
// fail() for an argument of the function `caller`.
esp_status bad_argument(esp_job& job, std::string_view caller, std::string_view what);
// The same by the job of any of the requests. Where all are NULL there is none to hold the text.
esp_status bad_argument(esp_request* const* requests, size_t count, std::string_view caller,
                        std::string_view what);
// fail() where not may_block().
esp_status refuse_blocking(esp_job& job, std::string_view caller);
// fail() for a failed team.
esp_status fail_team(esp_team& handle, Status status);
// The same as the end of an operation that was on its way to the owner.
Engine::Started end_at_once(esp_team& handle);

// What other functions of the API do with all members of a team, which meets no call of the user's:
// waiting for all, and sums that replace the words.
esp_status meet(esp_team& team, Purpose purpose);
esp_status sum_words(esp_team& team, std::vector<std::uint64_t>& words, Purpose purpose);

// Hands the end of an operation to a request. Finish::context is the request.
void finish_request(void* context, Status status) noexcept;
// Does a thread wait for the request that this end would finish?
bool is_awaited(const Finish& finish) noexcept;

// Exactly one of: a request to return, a notify with a callback, a notify with a counter.
inline bool reports_once(const esp_notify* notify, esp_request** request) noexcept {
  if (notify == nullptr) return request != nullptr;
  return request == nullptr && (notify->callback != nullptr) != (notify->counter != nullptr);
}
// fail() where it does not report once.
[[gnu::cold, gnu::noinline]] esp_status refuse_report(esp_job& job, const char* caller);
inline esp_status check_report(esp_job& job, const char* caller, const esp_notify* notify,
                               esp_request** request) {
  return reports_once(notify, request) ? ESP_OK : refuse_report(job, caller);
}
// What start functions do with `notify` and `request`, checked: a pooled request, or an error.
Result<esp_request*> make_request(esp_job& job, const esp_notify* notify, esp_request** request);
// In the job's list, until it is released; a shared one until its end.
void list_open(esp_request& request) noexcept;
void unlist(esp_request& request) noexcept;
// Of the pool of all threads, for the progress thread to start something with. nullptr: no memory,
// which has been reported.
SharedRequest* take_shared(esp_job& job, const esp_notify* notify) noexcept;
// On the owner: before an operation that was handed over begins, and what has come of it.
void enter_shared(esp_request& request) noexcept;
void conclude_shared(esp_request& request, Result<Engine::Started> started) noexcept;
// The request's handle is gone.
void release_request(esp_job& job, esp_request& request) noexcept;
// It has this besides, of which a round begins with the start.
void attach_partial(esp_request& request, Partial* partial) noexcept;
// After the engine has answered.
esp_status conclude(esp_job& job, esp_request* pending, Result<Engine::Started>& started,
                    esp_request** request);
void conclude(esp_request& pending, const Engine::Started& started) noexcept;
// Starts an operation on the owner; `begin`, which is copied, takes the request that reports it and
// answers with Result<Engine::Started>.
template <typename Begin>
esp_status start_with_request(esp_job& job, const esp_notify* notify, esp_request** request,
                              Begin begin) {
  if (hands_over(job)) {
    SharedRequest* handed = take_shared(job, notify);
    if (handed == nullptr) return ESP_ERR_NO_MEMORY;
    if (request != nullptr) *request = handed;
    hand_over(job, [handed, begin] {
      enter_shared(*handed);
      conclude_shared(*handed, begin(static_cast<esp_request*>(handed)));
    });
    return ESP_OK;
  }
  auto pending = make_request(job, notify, request);
  if (!pending) return fail(job, pending.error());
  Result<Engine::Started> started = begin(*pending);
  return conclude(job, *pending, started, request);
}
// The same on a team: `begin` is not asked where that has failed.
template <typename Begin>
esp_status start_on_team(esp_team& handle, const esp_notify* notify, esp_request** request,
                         Begin begin) {
  esp_job& job = *handle.job;
  if (handle.team.failed_for_all()) return fail_team(handle, handle.team.fault);
  return start_with_request(
      job, notify, request,
      [team = &handle, begin](esp_request* pending) -> Result<Engine::Started> {
        return team->team.failed() ? end_at_once(*team) : begin(pending);
      });
}

// Persistent requests (api/persistent.cpp). On the owner: what is bound is the plan cache's again.
void unbind(esp_request& request) noexcept;
// Those of a team that goes cannot be started any more.
void unbind_all(esp_team& team) noexcept;
// For *_init functions: `call` or `flow`, checked, and `notify` and `request` as they were given.
// `partial`, or nullptr, is the request's, or released.
esp_status init_request(esp_team& team, const Call& call, Partial* partial,
                        const esp_notify* notify, esp_request** request);
esp_status init_request(esp_team& team, const char* caller, const Engine::Flow& flow,
                        Partial* partial, const esp_notify* notify, esp_request** request);
// This thread begins a round of a persistent request; or there is one under way; or what has ended
// waits to be collected.
enum class Claim { kMine, kUnderWay, kRefused };
Claim claim_round(esp_request& request) noexcept;
// The round that a thread has claimed.
void start_claimed(esp_request& request) noexcept;

}  // namespace espalier::api
