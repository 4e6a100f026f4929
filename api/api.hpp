// What the files that implement the C API share: running on the owner, checking, reporting.
// Threads: any (these functions are what makes the API callable from any thread in threaded mode).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/handles.hpp"
#include "core/futex.hpp"

namespace espalier::api {

// Runs `work` where the worker may be touched: here, or on the progress thread while this thread
// waits.
template <typename Work>
void on_owner(esp_job& job, Work&& work) {
  if (!job.threaded || job.worker->on_thread()) {
    work();
    return;
  }
  struct Errand : Task {
    explicit Errand(Work& w)
        : Task([](Task& task) noexcept {
            auto& self = static_cast<Errand&>(task);
            self.work();
            // The waiter may destroy the errand as soon as it sees done: wake by address only.
            self.done.store(1, std::memory_order_release);
            futex_wake_all(self.done);
          }),
          work(w) {}
    Work& work;
    // Writer: the progress thread (release: publishes what work did). Reader: the waiter.
    std::atomic<std::uint32_t> done{0};
  };
  Errand errand(work);
  job.worker->submit(errand);
  if (errand.done.load(std::memory_order_acquire) != 0) return;
  const LongWait told(job.state.get());
  while (errand.done.load(std::memory_order_acquire) == 0) {
    futex_wait(errand.done, 0, 100'000'000);
  }
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

// Blocks until done() holds. In threaded mode done() is looked at by the calling thread.
template <typename Done>
void wait_until(esp_job& job, Done&& done, std::atomic<std::uint32_t>* word) {
  if (!job.threaded) {
    job.worker->wait(done);
    return;
  }
  for (int spin = 0; spin < 200; ++spin) {
    if (done()) return;
    Worker::pause();
  }
  const LongWait told(job.state.get());
  while (!done()) {
    if (word != nullptr) {
      futex_wait(*word, 0, 100'000'000);
    } else {
      sched_yield();
    }
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
// In the job's list, until it is released.
void list_open(esp_request& request) noexcept;
// The request's handle is gone.
void release_request(esp_job& job, esp_request& request) noexcept;
// It has this besides, of which a round begins with the start.
void attach_partial(esp_request& request, Partial* partial) noexcept;
// Starts an operation on the owner; `begin` takes the request that reports it.
template <typename Begin>
esp_status start_with_request(esp_job& job, const esp_notify* notify, esp_request** request,
                              Begin&& begin) {
  esp_status status = ESP_OK;
  on_owner(job, [&] {
    auto pending = make_request(job, notify, request);
    status = pending ? begin(*pending) : fail(job, pending.error());
  });
  return status;
}
// After the engine has answered.
esp_status conclude(esp_job& job, esp_request* pending, Result<Engine::Started>& started,
                    esp_request** request);
void conclude(esp_request& pending, const Engine::Started& started) noexcept;

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
// A round that another thread has claimed by making a partition ready.
void start_claimed(esp_request& request) noexcept;

}  // namespace espalier::api
