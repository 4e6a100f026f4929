// Then: the step from one outcome to the next: a continuation of one state and the state of what it
// makes, in one allocation. path: short, but for executors
#ifndef ESPALIER_CPP_DETAIL_THEN_HPP
#define ESPALIER_CPP_DETAIL_THEN_HPP

#include <concepts>
#include <type_traits>
#include <utility>

#include "espalier/cpp/detail/future_state.hpp"
#include "espalier/cpp/work.hpp"

namespace esp {

template <typename T>
class Future;

namespace detail {

// What a function that returns R makes a Future of.
template <typename R>
struct ValueOf {
  using type = R;
  static constexpr bool kIsFuture = false;
};
template <>
struct ValueOf<Status> : ValueOf<void> {};
template <typename T>
struct ValueOf<Result<T>> : ValueOf<T> {};
template <typename T>
struct ValueOf<Future<T>> : ValueOf<T> {
  static constexpr bool kIsFuture = true;
};

// How a function takes the outcome: failures, too, or values alone.
template <typename F, typename T>
concept TakesOutcome = std::invocable<F&, Outcome<T>>;
template <typename F, typename T>
concept TakesValue =
    (std::is_void_v<T> && std::invocable<F&>) || (!std::is_void_v<T> && std::invocable<F&, T>);

template <typename F, typename T>
decltype(auto) invoke_with(F& f, Outcome<T>&& outcome) {
  if constexpr (TakesOutcome<F, T>) {
    return f(std::move(outcome));
  } else if constexpr (std::is_void_v<T>) {
    return f();
  } else {
    return f(std::move(outcome).value());
  }
}
template <typename F, typename T>
using ReturnedBy = std::remove_cvref_t<decltype(invoke_with<F, T>(std::declval<F&>(),
                                                                  std::declval<Outcome<T>>()))>;

inline Status failure_of(Status outcome) noexcept {
  return outcome;
}
template <typename T>
const Error& failure_of(const Result<T>& outcome) noexcept {
  return outcome.error();
}
// The same failure of something else. A Status owns no text: of an Error it keeps the code.
template <typename U>
Outcome<U> failed_as(Status failure) {
  return Outcome<U>(failure);
}
template <typename U>
Outcome<U> failed_as(const Error& failure) {
  if constexpr (std::is_void_v<U>) {
    return Status(failure.code);
  } else {
    return Outcome<U>(failure);
  }
}

template <typename T, typename U, typename F, typename E>
class Then final : public State<U>, public Continuation, public Runnable {
 public:
  // Takes over the consumer's share of `input`.
  Then(State<T>& input, F f, E executor, bool anyone)
      : State<U>(input.job(), anyone),
        input_(&input),
        f_(std::move(f)),
        executor_(std::move(executor)) {}

  // Where chains begin to run.
  void follow() noexcept { call(input_->attach(*this)); }

  Continuation* ready() noexcept override {
    if (inner_ != nullptr) return pass_on();
    if constexpr (std::same_as<E, Inline>) {
      return run();
    } else {
      E executor = std::move(executor_);  // This may be gone when it returns.
      std::exception_ptr refused;         // The work has gone then, and is cancelled.
      run_catching(refused, [&] { executor(Work(*this)); });
      return nullptr;
    }
  }
  Continuation* run() noexcept override {
    std::exception_ptr before = std::move(input_->thrown);
    if (before != nullptr) {
      this->thrown = std::move(before);
    } else {
      run_catching(this->thrown, [&] { step(std::move(*input_->outcome)); });
    }
    input_->drop();
    if (this->thrown == nullptr && inner_ != nullptr) {
      // From here on this is the other's continuation, and may be gone.
      State<U>& inner = *inner_;
      return inner.attach(*this);
    }
    return this->finish();
  }
  Continuation* cancel() noexcept override {
    input_->drop();
    this->outcome.emplace(Status(ESP_ERR_CANCELED, "an executor has dropped its work"));
    return this->finish();
  }

 private:
  using Returned = ReturnedBy<F, T>;

  void step(Outcome<T>&& before) {
    if constexpr (!TakesOutcome<F, T>) {
      if (!before.ok()) {
        this->outcome.emplace(failed_as<U>(failure_of(before)));
        return;
      }
    }
    if constexpr (std::is_void_v<Returned>) {
      invoke_with<F, T>(f_, std::move(before));
      this->outcome.emplace(Status());
    } else if constexpr (ValueOf<Returned>::kIsFuture) {
      inner_ = invoke_with<F, T>(f_, std::move(before)).release();
      if (inner_ == nullptr) this->outcome.emplace(Status(ESP_ERR_STATE, "the future is empty"));
    } else {
      this->outcome.emplace(invoke_with<F, T>(f_, std::move(before)));
    }
  }
  // The outcome of the Future that the function returned.
  Continuation* pass_on() noexcept {
    this->outcome = std::move(inner_->outcome);
    this->thrown = std::move(inner_->thrown);
    inner_->drop();
    return this->finish();
  }

  State<T>* input_;
  State<U>* inner_ = nullptr;
  F f_;
  E executor_;
};

}  // namespace detail
}  // namespace esp

#endif  // ESPALIER_CPP_DETAIL_THEN_HPP
