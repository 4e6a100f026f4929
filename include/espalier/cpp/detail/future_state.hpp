// What a Future and those who make its result share: the outcome, who waits, and what goes on.
//
// A state has two owners, the Future and the producer; whoever lets go last frees it. One exchange
// of `next_` decides between the producer that ends and the consumer that attaches: whoever comes
// second calls the continuation. Continuations are called in a loop and not by each other, so a
// chain of any length takes no more stack than one. path: short, but for waits
#ifndef ESPALIER_CPP_DETAIL_FUTURE_STATE_HPP
#define ESPALIER_CPP_DETAIL_FUTURE_STATE_HPP

#include <atomic>
#include <exception>
#include <optional>
#include <utility>

#include "espalier/cpp/detail/signal.hpp"
#include "espalier/cpp/result.hpp"

namespace esp::detail {

// What becomes of an operation (void) or of a computation.
template <typename T>
struct OutcomeOf {
  using type = Result<T>;
};
template <>
struct OutcomeOf<void> {
  using type = Status;
};
template <typename T>
using Outcome = typename OutcomeOf<T>::type;

// Called once, when a state that it was attached to has its outcome. Owns itself from then on.
class Continuation {
 public:
  // The continuation to call next, or nullptr.
  [[nodiscard]] virtual Continuation* ready() noexcept = 0;

 protected:
  ~Continuation() = default;
};

inline void call(Continuation* next) noexcept {
  while (next != nullptr) next = next->ready();
}

class StateBase {
 public:
  StateBase(esp_job* job, bool anyone) noexcept : signal_(job), anyone_(anyone) {}
  StateBase(const StateBase&) = delete;
  StateBase& operator=(const StateBase&) = delete;

  esp_job* job() const noexcept { return signal_.job(); }
  // It may be ended by another thread than that which drives progress.
  bool by_anyone() const noexcept { return anyone_; }
  bool ready() const noexcept { return signal_.raised(); }
  esp_status wait(Deadline deadline = {}) const noexcept { return signal_.wait(anyone_, deadline); }

  // An owner lets go.
  void drop() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // The producer, when the outcome stands; lets go. Returns what is to be called.
  [[nodiscard]] Continuation* finish() noexcept {
    signal_.raise();
    void* attached = next_.exchange(this, std::memory_order_acq_rel);
    drop();
    return static_cast<Continuation*>(attached);
  }
  // The consumer, once. Returns the continuation when it is to be called at once.
  [[nodiscard]] Continuation* attach(Continuation& next) noexcept {
    void* before = next_.exchange(static_cast<void*>(&next), std::memory_order_acq_rel);
    return before == this ? &next : nullptr;
  }

 protected:
  virtual ~StateBase() = default;

 private:
  Signal signal_;
  const bool anyone_;
  // nullptr: under way, nobody has attached; this: ended; else the Continuation. Writers: producer
  // and consumer, once each; publishes the outcome to one and the continuation to the other.
  std::atomic<void*> next_{nullptr};
  std::atomic<int> owners_{2};
};

template <typename T>
class State : public StateBase {
 public:
  using StateBase::StateBase;

  // Writer: the producer, before finish(). Reader: the consumer after ready() or in its
  // continuation. One of the two is there then.
  std::optional<Outcome<T>> outcome;
  std::exception_ptr thrown;

  // What get() answers, or throws.
  Outcome<T> take() {
    if (thrown != nullptr) std::rethrow_exception(std::exchange(thrown, nullptr));
    return std::move(*outcome);
  }
};

// An operation of the library's: its callback is end().
class OperationState final : public State<void> {
 public:
  explicit OperationState(const esp_team* team) noexcept
      : State(team != nullptr ? esp_team_job(team) : nullptr, team == nullptr), team_(team) {}

  void end(esp_status status) noexcept { end(explain(team_, status)); }
  void end(Status status) noexcept {
    outcome = status;
    call(finish());
  }

 private:
  const esp_team* team_;
};

// Where the compiler knows exceptions they go into `thrown`.
template <typename F>
void run_catching(std::exception_ptr& thrown, F&& f) noexcept {
#if defined(__cpp_exceptions)
  try {
    f();
  } catch (...) {
    thrown = std::current_exception();
  }
#else
  (void)thrown;
  f();
#endif
}

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_FUTURE_STATE_HPP
