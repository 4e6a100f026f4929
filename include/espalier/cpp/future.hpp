// Future: what an operation, or what follows it, will have come to.
//
//   auto sum = esp::launch(esp::kAsync, world, [&](esp::Notify done) {
//     return world.allreduce_start(a, b, esp::kSum, std::move(done));
//   });
//   auto norm = sum.then([&] { return std::sqrt(b[0]); });   // esp::Future<double>
//   esp::Result<double> found = norm.get();
//
// Move-only. then() takes the Future's place: it is empty afterwards. The destructor waits, because
// the operation may still use buffers that the caller is about to free; not inside callbacks, where
// nobody may wait: there what has not ended is left to itself, as by detach().
//
// Continuations take the outcome (Status; of a Future<T>: Result<T>), or what it holds (nothing; a
// T): the latter are not called after a failure, which goes on to the next. They return nothing, a
// value, Status, Result or a Future, for whose end the next one waits. Those of a chain run one
// after the other, in its order, each once; without an executor on the thread on which what comes
// before ends: inside a callback, if that is an operation (there they must not block: ESP_ERR_STATE
// answers), or inside then(), if it has ended already.
//
// Failures are values: of the operation, and of starting it. An exception that a continuation
// throws is kept by the Future that its then() has returned: get() throws it, continuations of that
// Future are not called, and it goes on to theirs.
//
// Memory: one allocation for an operation, one for a then(). Threads: as the job's; one Future is
// used by one thread at a time. path: short, but for waits
#ifndef ESPALIER_CPP_FUTURE_HPP
#define ESPALIER_CPP_FUTURE_HPP

#include <chrono>
#include <concepts>
#include <cstdio>
#include <exception>
#include <type_traits>
#include <utility>

#include "espalier/cpp/detail/then.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/team.hpp"
#include "espalier/cpp/work.hpp"

namespace esp {

// What nobody waits for has ended badly: with a failure, or `thrown`. Called on the thread on which
// it ended; must not block or throw.
using ForgottenHandler = void (*)(Status status, std::exception_ptr thrown);
// Says so on stderr, unless it was cancelled because the job has ended.
inline void report_forgotten(Status status, std::exception_ptr thrown) {
  if (thrown == nullptr && status.code() == ESP_ERR_CANCELED) return;
  std::fprintf(stderr, "espalier: nobody waits for what has ended with %s\n",
               thrown != nullptr ? "an exception" : status.text());
}

// How launch() starts an operation. kAsync: it is under way when launch() returns. kSync: it has
// ended, unless this is inside a callback. kFireAndForget: nobody waits for it.
struct Async {};
struct Sync {};
struct FireAndForget {
  ForgottenHandler handler = report_forgotten;
};
inline constexpr Async kAsync{};
inline constexpr Sync kSync{};
inline constexpr FireAndForget kFireAndForget{};

template <typename F, typename T>
concept ContinuationOf = detail::TakesOutcome<F, T> || detail::TakesValue<F, T>;

template <typename T = void>
class [[nodiscard]] Future {
 public:
  Future() noexcept = default;
  Future(Future&& other) noexcept : state_(other.release()) {}
  Future& operator=(Future&& other) noexcept {
    Future taken(std::move(other));
    std::swap(state_, taken.state_);
    return *this;
  }
  ~Future() {
    if (state_ == nullptr) return;
    (void)wait();
    state_->drop();
  }

  // Not empty (default-made, moved-from, or consumed by then(), get() or detach()).
  bool valid() const noexcept { return state_ != nullptr; }
  // Looks, and drives nothing.
  bool is_ready() const noexcept { return state_ != nullptr && state_->ready(); }
  // Until it has ended; where the caller drives progress, by doing so. How the wait went, not the
  // operation: ESP_ERR_STATE when empty, and inside a callback.
  Status wait() const noexcept { return wait_until({}); }
  // ESP_ERR_TIMEOUT when it has not ended within the time.
  Status wait_for(std::chrono::steady_clock::duration limit) const noexcept {
    return wait_until(std::chrono::steady_clock::now() + limit);
  }
  // Waits; then the outcome, or the exception. Afterwards it is empty. When there can be no wait
  // (ESP_ERR_STATE) it stays as it is.
  detail::Outcome<T> get() {
    if (const Status waited = wait(); !waited.ok()) return detail::Outcome<T>(waited);
    Future taken(std::move(*this));
    return taken.state_->take();
  }

  template <typename F>
    requires ContinuationOf<std::decay_t<F>, T>
  auto then(F&& f) {
    return then(Inline{}, std::forward<F>(f));
  }
  template <Executor E, typename F>
    requires ContinuationOf<std::decay_t<F>, T>
  auto then(E executor, F&& f) {
    using Value = detail::ValueOf<detail::ReturnedBy<std::decay_t<F>, T>>;
    using Next = detail::Then<T, typename Value::type, std::decay_t<F>, E>;
    if (state_ == nullptr) *this = failed(Status(ESP_ERR_STATE, "the future is empty"));
    const bool anyone = state_->by_anyone() || Value::kIsFuture || !std::same_as<E, Inline>;
    auto* next = new Next(*state_, std::forward<F>(f), std::move(executor), anyone);
    (void)release();
    Future<typename Value::type> made(next);
    next->follow();
    return made;
  }
  // The same, and nobody waits for what f comes to.
  template <typename F>
    requires ContinuationOf<std::decay_t<F>, T>
  void then(FireAndForget policy, F&& f) {
    then(std::forward<F>(f)).detach(policy.handler);
  }
  template <Executor E, typename F>
    requires ContinuationOf<std::decay_t<F>, T>
  void then(E executor, FireAndForget policy, F&& f) {
    then(std::move(executor), std::forward<F>(f)).detach(policy.handler);
  }
  // Nobody waits: what is shared frees itself at the end, which esp_job_finalize brings about.
  void detach(ForgottenHandler handler = report_forgotten);

  // For the layer's own use.
  explicit Future(detail::State<T>* state) noexcept : state_(state) {}
  detail::State<T>* release() noexcept { return std::exchange(state_, nullptr); }
  detail::State<T>& state() const noexcept { return *state_; }

 private:
  Status wait_until(detail::Deadline deadline) const noexcept {
    if (state_ == nullptr) return Status(ESP_ERR_STATE, "the future is empty");
    const esp_status waited = state_->wait(deadline);
    return Status(waited, waited == ESP_ERR_STATE ? "waiting inside a callback" : nullptr);
  }
  static Future failed(Status why) {
    auto* state = new detail::State<T>(nullptr, true);
    state->outcome.emplace(why);
    detail::call(state->finish());
    return Future(state);
  }

  detail::State<T>* state_ = nullptr;
};

namespace detail {

// Looks after the end of what nobody waits for.
template <typename T>
class Forgotten final : public Continuation {
 public:
  Forgotten(State<T>& state, ForgottenHandler handler) noexcept
      : state_(state), handler_(handler) {}
  Continuation* ready() noexcept override {
    const bool threw = state_.thrown != nullptr;
    if (threw) {
      handler_(Status(), std::move(state_.thrown));
    } else if (!state_.outcome->ok()) {
      tell(failure_of(*state_.outcome));
    }
    state_.drop();
    delete this;
    return nullptr;
  }

 private:
  void tell(Status failure) noexcept { handler_(failure, nullptr); }
  void tell(const Error& failure) noexcept {
    handler_(Status(failure.code, failure.text.c_str()), nullptr);
  }

  State<T>& state_;
  ForgottenHandler handler_;
};

}  // namespace detail

template <typename T>
void Future<T>::detach(ForgottenHandler handler) {
  if (state_ == nullptr) return;
  auto* watch = new detail::Forgotten<T>(*state_, handler);
  detail::call(release()->attach(*watch));
}

// Starts an operation: a callable that passes a Notify to a *_start function and returns its
// answer.
template <typename F>
concept Starter = std::is_invocable_r_v<Status, F&, Notify>;

// Of an operation on `team`, or on a region or the job of one: the team explains its failures. What
// cannot be started has ended, with the answer.
template <Starter F>
Future<> launch(Async, TeamRef team, F&& start) {
  auto* state = new detail::OperationState(team.get());
  Future<> made(state);
  const Status started = start(Notify([state](esp_status status) { state->end(status); }));
  if (!started.ok()) state->end(started);
  return made;
}
template <Starter F>
Future<> launch(Sync, TeamRef team, F&& start) {
  Future<> made = launch(kAsync, team, std::forward<F>(start));
  (void)made.wait();
  return made;
}
template <Starter F>
void launch(FireAndForget policy, TeamRef team, F&& start) {
  launch(kAsync, team, std::forward<F>(start)).detach(policy.handler);
}

}  // namespace esp

#endif  // ESPALIER_CPP_FUTURE_HPP
