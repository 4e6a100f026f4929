// Partial completion: work on what has landed while the rest is under way (espalier/partial.h).
//
//   auto incoming = esp::deliver<int>({}, [&](const esp::CollOptions& options) {
//                     return world.alltoallv_start(in, sent, out, received, options);
//                   }).value();
//   esp::Status s = esp::while_some_partial(incoming, [&](const esp::Segment<int>& segment) {
//     merge(segment.data);
//   });
//
// Each segment is handed out once, to one consumer, whichever of the functions below and of the
// threads takes it. Until the operation has ended segments may be read alone. Of elements that lie
// side by side, in operations of one type. path: short, but for waits
#ifndef ESPALIER_CPP_PARTIAL_HPP
#define ESPALIER_CPP_PARTIAL_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "espalier/cpp/detail/signal.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

template <Element T>
struct Segment {
  int source;          // Whose block it is; -1: made of several members'.
  int block;           // Its number in the output; of one message: of its `blocks`.
  std::size_t offset;  // Of the segment in its block, in elements.
  std::span<T> data;
};

struct Delivering {
  bool segments = false;   // Parts of blocks as they land, else whole blocks.
  bool unordered = false;  // Blocks lie in order of arrival, without gaps.
  int blocks = 0;          // Of a result that is one message: in so many; 0: 1.
};

template <Element T>
struct Taken {
  std::optional<Segment<T>> segment;
  // Without a segment, in_progress(): there is none at the moment; else all have been taken, and
  // the operation has ended like this.
  Status status;
};

// An operation that delivers. Move-only. The destructor waits for its end. Threads: take() any,
// next() as it says, until the operation is collected (by wait() or the destructor); the rest as a
// Request.
template <Element T>
class [[nodiscard]] Delivery {
 public:
  explicit Delivery(Request request) noexcept : request_(std::move(request)) {}

  // Drives nothing, never waits.
  Taken<T> take() const noexcept { return taken_by(&esp_segment_take); }
  // Waits for one, and drives progress meanwhile: the owner's, or any thread's where a thread of
  // the library does that. Without a segment: it has ended.
  Taken<T> next() const noexcept { return taken_by(&esp_segment_wait); }
  // All of the block has landed. False as well when there is no such block.
  bool arrived(int block) const noexcept { return esp_arrived(request_.get(), block) == 1; }
  // Until the operation has ended; what nobody has taken is not handed out any more.
  Status wait() noexcept { return request_.wait(); }

  esp_job* job() const noexcept { return esp_team_job(request_.team()); }
  const esp_team* team() const noexcept { return request_.team(); }

 private:
  Taken<T> taken_by(esp_status (*way)(esp_request*, esp_segment*, int*)) const noexcept {
    esp_segment one;
    int taken = 0;
    const esp_status status = way(request_.get(), &one, &taken);
    if (taken == 0) return {std::nullopt, Status(status)};
    auto* first = static_cast<T*>(one.address);
    return {
        Segment<T>{one.source, one.block, one.offset / sizeof(T), {first, one.bytes / sizeof(T)}},
        Status()};
  }

  Request request_;
};

// Starts an operation on elements T so that it delivers them: a callable that passes the options to
// a *_start function, and returns its answer.
template <Element T, typename F>
  requires std::is_invocable_r_v<Result<Request>, F&, const CollOptions&>
Result<Delivery<T>> deliver(const Delivering& how, F&& start, CollOptions options = {}) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER;
  if (how.segments) partial.flags |= ESP_PARTIAL_SEGMENTS;
  if (how.unordered) partial.flags |= ESP_PARTIAL_UNORDERED;
  partial.blocks = how.blocks;
  options.partial = &partial;
  Result<Request> started = start(std::as_const(options));
  if (!started.ok()) return Result<Delivery<T>>(started.error());
  return Delivery<T>(std::move(started).value());
}

// Whether a loop drives progress while there is nothing to take. Exactly one thread does, and it is
// the owner; any does no harm where a thread of the library drives it.
enum class Drive : bool { kNo, kYes };

namespace detail {

// What a taker does that has found nothing.
class Idle {
 public:
  Idle(esp_job* job, Drive drive) noexcept : job_(job), drives_(drive == Drive::kYes) {}

  // ESP_ERR_STATE: inside a callback.
  esp_status turn() noexcept {
    if (turns_++ == 0 && drives_) {
      if (!may_wait(job_)) return ESP_ERR_STATE;
      drives_ = !is_driven(job_);
    }
    if (drives_) {
      if (esp_progress(job_) == 0) std::this_thread::yield();
    } else if (turns_ < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return ESP_OK;
  }

 private:
  static constexpr unsigned kYields = 200;

  esp_job* job_;
  bool drives_;
  unsigned turns_ = 0;
};

// Waits for a segment, or the end. Of a failure only who drives the job may ask for the text.
template <Element T>
Taken<T> await_segment(const Delivery<T>& delivery, Drive drive) noexcept {
  Idle idle(delivery.job(), drive);
  for (;;) {
    Taken<T> taken = delivery.take();
    if (taken.segment || !taken.status.in_progress()) {
      if (drive == Drive::kYes) taken.status = explain(delivery.team(), taken.status.code());
      return taken;
    }
    if (idle.turn() == ESP_ERR_STATE) {
      return {std::nullopt, Status(ESP_ERR_STATE, "waiting inside a callback")};
    }
  }
}

}  // namespace detail

// Waits until a segment has landed, driving progress. Nothing: all have been taken, and the
// operation has ended. An error: it has failed; ESP_ERR_STATE inside a callback.
template <Element T>
Result<std::optional<Segment<T>>> when_any_partial(const Delivery<T>& delivery) {
  Taken<T> taken = detail::await_segment(delivery, Drive::kYes);
  if (!taken.segment && !taken.status.ok()) {
    return Result<std::optional<Segment<T>>>(taken.status);
  }
  return taken.segment;
}

// The same, and takes all that have landed by then. Empty: all have been taken.
template <Element T>
Result<std::vector<Segment<T>>> when_some_partial(const Delivery<T>& delivery) {
  std::vector<Segment<T>> landed;
  Taken<T> taken = detail::await_segment(delivery, Drive::kYes);
  if (!taken.segment && !taken.status.ok()) return Result<std::vector<Segment<T>>>(taken.status);
  for (; taken.segment; taken = delivery.take()) landed.push_back(*taken.segment);
  return landed;
}

// Hands each segment to the consumer, a callable, until all have been taken and the operation has
// ended; how it has ended. Several threads may do so at once, each with a consumer of its own: one
// drives progress, the others do not (Drive::kNo). Each returns when there is nothing left to take.
template <Element T, std::invocable<Segment<T>> F>
Status while_some_partial(const Delivery<T>& delivery, F&& consumer, Drive drive = Drive::kYes) {
  for (;;) {
    const Taken<T> taken = detail::await_segment(delivery, drive);
    if (!taken.segment) return taken.status;
    consumer(*taken.segment);
  }
}

}  // namespace esp

#endif  // ESPALIER_CPP_PARTIAL_HPP
