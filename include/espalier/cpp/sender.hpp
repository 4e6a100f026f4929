// Senders: operations for schedulers in the style of P2300 (std::execution).
//
//   auto sum = esp::sender(world, [&](esp::Notify done) {
//     return world.allreduce_start(a, b, esp::kSum, std::move(done));
//   });
//   auto operation = std::move(sum).connect(receiver);   // nothing happens yet
//   operation.start();
//
// It completes once, on the thread that drives progress, inside a callback, where receivers must
// not block, or inside start() when it cannot be started: set_value(), set_error(esp::Status), or
// set_stopped() when the job has ended first (ESP_ERR_CANCELED). Stop requests are not heeded:
// other members take part. Buffers, and the operation state, stay until it has completed. Nothing
// is allocated.
//
// With stdexec (where its header is found before this one is read) it is one of its senders, and
// receivers are called by its functions. Without it a receiver is anything with the three members.
// path: short
#ifndef ESPALIER_CPP_SENDER_HPP
#define ESPALIER_CPP_SENDER_HPP

#include <concepts>
#include <type_traits>
#include <utility>

#include "espalier/cpp/detail/start.hpp"
#include "espalier/cpp/future.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/team.hpp"

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#endif

namespace esp {

namespace execution {

#if __has_include(<stdexec/execution.hpp>)
using sender_tag = stdexec::sender_t;
using operation_state_tag = stdexec::operation_state_t;
using signatures =
    stdexec::completion_signatures<stdexec::set_value_t(), stdexec::set_error_t(Status),
                                   stdexec::set_stopped_t()>;
inline constexpr auto set_value = stdexec::set_value;
inline constexpr auto set_error = stdexec::set_error;
inline constexpr auto set_stopped = stdexec::set_stopped;
template <typename R>
concept Receiver = stdexec::receiver<R>;
#else
// What an adaptor for a library of senders maps to that library's own.
struct sender_tag {};
struct operation_state_tag {};
struct signatures {};  // set_value(), set_error(Status), set_stopped()
inline constexpr auto set_value = [](auto&& receiver) noexcept { std::move(receiver).set_value(); };
inline constexpr auto set_error = [](auto&& receiver, Status status) noexcept {
  std::move(receiver).set_error(status);
};
inline constexpr auto set_stopped = [](auto&& receiver) noexcept {
  std::move(receiver).set_stopped();
};
template <typename R>
concept Receiver = std::move_constructible<R> && requires(R receiver, Status status) {
  { std::move(receiver).set_value() } noexcept;
  { std::move(receiver).set_error(status) } noexcept;
  { std::move(receiver).set_stopped() } noexcept;
};
#endif

}  // namespace execution

// An operation between start() and its completion. Its address is what the library knows it by.
template <Starter F, execution::Receiver R>
class OperationState {
 public:
  using operation_state_concept = execution::operation_state_tag;

  OperationState(const esp_team* team, F start, R receiver)
      : team_(team), start_(std::move(start)), receiver_(std::move(receiver)) {}
  OperationState(OperationState&&) = delete;

  void start() noexcept {
    // Behind this it may have completed and be gone.
    const Status started =
        start_(Notify([this](esp_status status) { complete(detail::explain(team_, status)); }));
    if (!started.ok()) complete(started);
  }

 private:
  void complete(Status status) noexcept {
    if (status.ok()) {
      execution::set_value(std::move(receiver_));
    } else if (status.code() == ESP_ERR_CANCELED) {
      execution::set_stopped(std::move(receiver_));
    } else {
      execution::set_error(std::move(receiver_), status);
    }
  }

  const esp_team* team_;
  F start_;
  R receiver_;
};

// What starts one: as often as it is connected.
template <Starter F>
class OperationSender {
 public:
  using sender_concept = execution::sender_tag;
  using completion_signatures = execution::signatures;

  OperationSender(const esp_team* team, F start) : team_(team), start_(std::move(start)) {}

  template <execution::Receiver R>
  OperationState<F, R> connect(R receiver) && {
    return {team_, std::move(start_), std::move(receiver)};
  }
  template <execution::Receiver R>
    requires std::copy_constructible<F>
  OperationState<F, R> connect(R receiver) const& {
    return {team_, start_, std::move(receiver)};
  }

 private:
  const esp_team* team_;
  F start_;
};

// Of an operation on `team`, or on a region or the job of one, as launch() takes it.
template <Starter F>
OperationSender<F> sender(TeamRef team, F start) {
  return OperationSender<F>(team.get(), std::move(start));
}

}  // namespace esp

#endif  // ESPALIER_CPP_SENDER_HPP
