// Work: what an executor is given: a piece of a program that runs once, where the executor decides.
//
//   future.then([&](esp::Work work) { queue.push(std::move(work)); }, f);
//
// Copies name the same piece (so std::function<void()> takes one); whoever calls it first runs it,
// other calls do nothing. What its last copy has not run when it goes is not run at all: the Future
// then ends with ESP_ERR_CANCELED. Any thread may call it. path: data
#ifndef ESPALIER_CPP_WORK_HPP
#define ESPALIER_CPP_WORK_HPP

#include <atomic>
#include <concepts>
#include <memory>
#include <type_traits>

#include "espalier/cpp/detail/future_state.hpp"

namespace esp {

namespace detail {
class Runnable {
 public:
  // One of the two, once; what is to be called next.
  [[nodiscard]] virtual Continuation* run() noexcept = 0;
  [[nodiscard]] virtual Continuation* cancel() noexcept = 0;

 protected:
  ~Runnable() = default;
};
}  // namespace detail

class Work {
 public:
  explicit Work(detail::Runnable& piece) : piece_(std::make_shared<Piece>(piece)) {}

  void operator()() const noexcept {
    if (detail::Runnable* todo = piece_->todo.exchange(nullptr)) detail::call(todo->run());
  }

 private:
  struct Piece {
    explicit Piece(detail::Runnable& piece) noexcept : todo(&piece) {}
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    ~Piece() {
      if (detail::Runnable* left = todo.exchange(nullptr)) detail::call(left->cancel());
    }
    // nullptr: somebody runs it or has run it. Writers: any thread.
    std::atomic<detail::Runnable*> todo;
  };
  std::shared_ptr<Piece> piece_;
};

// Anything that takes work, and runs it now or later, here or elsewhere. It is called by the thread
// on which what comes before ends (often inside a callback): it must not block. then() takes a
// copy; std::ref names one that stays.
template <typename E>
concept Executor = std::invocable<std::remove_cvref_t<E>&, Work>;

// Runs it at once, on the thread on which what comes before ends.
struct Inline {
  void operator()(const Work& work) const noexcept { work(); }
};

}  // namespace esp

#endif  // ESPALIER_CPP_WORK_HPP
