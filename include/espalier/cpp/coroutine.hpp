// Coroutines that wait for operations, and sync_wait, which runs them.
//
//   esp::Task<double> norm(esp::TeamRef world, std::vector<double>& x) {
//     double sum = dot(x, x), all = 0;
//     const esp::Status s = co_await world.allreduce_start(esp::one(sum), esp::one(all),
//     esp::kSum); co_return s.ok() ? std::sqrt(all) : -1;
//   }
//   esp::Result<double> found = esp::sync_wait(job, norm(job.world(), x));
//
// co_await takes over: what a *_start function returns (Result<Request>; Status), a Request
// (Status), a Future<T> (Status, Result<T>, or its exception), a Task<T> (a T, or its exception);
// and waits for the round of a PersistentRequest. Several operations are under way together when
// they are started before the first is awaited.
//
// Everything of one sync_wait runs on its thread, outside of callbacks: a Task may make blocking
// calls. Tasks begin when they are awaited, and a Task that has begun runs to its end. Futures wake
// the waiting thread; of Requests it looks after each, so where a thread of the library drives
// progress many that take long are better awaited as Futures. Coroutines of other types may await
// Futures, and go on where these end, as continuations do.
// path: short, but for waits
#ifndef ESPALIER_CPP_COROUTINE_HPP
#define ESPALIER_CPP_COROUTINE_HPP

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "espalier/cpp/detail/awaiters.hpp"
#include "espalier/cpp/future.hpp"
#include "espalier/cpp/job.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/request.hpp"

namespace esp {

template <typename T>
class Task;

namespace detail {

class PromiseBase {
 public:
  // Resumed at the end.
  std::coroutine_handle<> parent = std::noop_coroutine();
  Driver* driver = nullptr;
  std::exception_ptr thrown;

  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() const noexcept {
    struct ToParent {
      std::coroutine_handle<> parent;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
        return parent;
      }
      void await_resume() const noexcept {}
    };
    return ToParent{parent};
  }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }

 protected:
  void rethrow() {
    if (thrown != nullptr) std::rethrow_exception(std::exchange(thrown, nullptr));
  }
};

template <typename T>
class Promise : public PromiseBase {
 public:
  template <typename V>
  void return_value(V&& value) {
    value_.emplace(std::forward<V>(value));
  }
  T take() {
    rethrow();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
};
template <>
class Promise<void> : public PromiseBase {
 public:
  void return_void() const noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Promise<T> {
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  auto operator co_await() && noexcept { return Awaiter{coroutine_}; }

  // For sync_wait.
  T run(detail::Driver& driver) && {
    coroutine_.promise().driver = &driver;
    driver.run(coroutine_);
    return coroutine_.promise().take();
  }

 private:
  struct Awaiter {
    std::coroutine_handle<promise_type> child;
    bool await_ready() const noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> waiting) const noexcept {
      child.promise().parent = waiting;
      child.promise().driver = detail::driver_of(waiting.promise());
      return child;
    }
    T await_resume() const { return child.promise().take(); }
  };

  explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

// Runs the task to its end, driving progress where that is the caller's to do. What it returns, or
// throws: of a Task<T> Result<T>, of a Task<> Status; of one that returns a Status or a Result,
// that. ESP_ERR_STATE inside a callback: then nothing has run. `job`: nullptr where no job has a
// part.
template <typename T>
auto sync_wait(esp_job* job, Task<T> task) -> detail::Outcome<typename detail::ValueOf<T>::type> {
  if (job != nullptr && !detail::may_wait(job)) {
    using Answer = detail::Outcome<typename detail::ValueOf<T>::type>;
    return Answer(Status(ESP_ERR_STATE, "waiting inside a callback"));
  }
  detail::Driver driver(job);
  if constexpr (std::is_void_v<T>) {
    std::move(task).run(driver);
    return Status();
  } else {
    return std::move(task).run(driver);
  }
}
template <typename T>
auto sync_wait(const Job& job, Task<T> task) {
  return sync_wait(job.get(), std::move(task));
}

// ---- what can be awaited ----

template <typename T>
auto operator co_await(Future<T>&& future) noexcept {
  return detail::FutureAwaiter<T>(std::move(future));
}
inline auto operator co_await(Request&& request) noexcept {
  return detail::PollAwaiter([request = std::move(request)]() mutable -> std::optional<Status> {
    const Status status = request.test();
    return status.in_progress() ? std::nullopt : std::optional(status);
  });
}
// Of one that could not be started: the status; esp_job_error has the text.
inline auto operator co_await(Result<Request>&& started) noexcept {
  return detail::PollAwaiter([started = std::move(started)]() mutable -> std::optional<Status> {
    if (!started.ok()) return Status(started.code());
    const Status status = started->test();
    return status.in_progress() ? std::nullopt : std::optional(status);
  });
}
inline auto operator co_await(PersistentRequest& request) noexcept {
  return detail::PollAwaiter([&request]() -> std::optional<Status> {
    const Status status = request.test();
    return status.in_progress() ? std::nullopt : std::optional(status);
  });
}

}  // namespace esp

#endif  // ESPALIER_CPP_COROUTINE_HPP
