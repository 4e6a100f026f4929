// How coroutines wait for Futures and for what is looked at. path: short
#ifndef ESPALIER_CPP_DETAIL_AWAITERS_HPP
#define ESPALIER_CPP_DETAIL_AWAITERS_HPP

#include <coroutine>
#include <optional>
#include <utility>

#include "espalier/cpp/detail/driver.hpp"
#include "espalier/cpp/future.hpp"

namespace esp::detail {

// Of the sync_wait that a coroutine belongs to; nullptr: it is none of ours.
template <typename P>
Driver* driver_of(P& promise) noexcept {
  if constexpr (requires { promise.driver; }) {
    return promise.driver;
  } else {
    return nullptr;
  }
}

template <typename T>
class FutureAwaiter final : public Continuation, public Suspended {
 public:
  explicit FutureAwaiter(Future<T>&& future) noexcept : future_(std::move(future)) {}

  bool await_ready() const noexcept { return !future_.valid() || future_.is_ready(); }
  template <typename P>
  bool await_suspend(std::coroutine_handle<P> waiting) noexcept {
    coroutine = waiting;
    driver_ = driver_of(waiting.promise());
    // Behind this the coroutine may run already, on another thread.
    return future_.state().attach(*this) == nullptr;
  }
  Outcome<T> await_resume() { return future_.get(); }

  Continuation* ready() noexcept override {
    if (driver_ != nullptr) {
      driver_->wake(*this);
    } else {
      coroutine.resume();
    }
    return nullptr;
  }

 private:
  Future<T> future_;
  Driver* driver_ = nullptr;
};

// What is looked at by `look()`: an optional that is empty until it is there.
template <typename F>
class PollAwaiter final : public Polled {
 public:
  explicit PollAwaiter(F look) noexcept : look_(std::move(look)) {}

  bool await_ready() noexcept { return look(); }
  template <typename P>
  void await_suspend(std::coroutine_handle<P> waiting) noexcept {
    static_assert(
        requires { waiting.promise().driver; },
        "requests and streams are awaited inside an esp::Task");
    coroutine = waiting;
    driver_of(waiting.promise())->poll(*this);
  }
  auto await_resume() noexcept { return *std::move(found_); }

  bool look() noexcept override {
    found_ = look_();
    return found_.has_value();
  }

 private:
  F look_;
  decltype(std::declval<F&>()()) found_;
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_AWAITERS_HPP
