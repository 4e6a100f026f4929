// Stream: the segments of an operation that delivers, for coroutines.
//
//   esp::Stream<int> stream(incoming);
//   while (auto segment = co_await stream.next()) merge(segment->data);
//   if (!stream.status().ok()) ...
//
// Inside an esp::Task; several tasks may await the same stream's segments, each goes to one of
// them. path: short
#ifndef ESPALIER_CPP_STREAM_HPP
#define ESPALIER_CPP_STREAM_HPP

#include <optional>

#include "espalier/cpp/detail/awaiters.hpp"
#include "espalier/cpp/partial.hpp"

namespace esp {

template <Element T>
class Stream {
 public:
  // Borrows the operation.
  explicit Stream(const Delivery<T>& delivery) noexcept : delivery_(delivery) {}

  // The next segment; nothing: all have been taken, and the operation has ended.
  auto next() noexcept {
    return detail::PollAwaiter([this]() -> std::optional<std::optional<Segment<T>>> {
      const Taken<T> taken = delivery_.take();
      if (taken.segment) return taken.segment;
      if (taken.status.in_progress()) return std::nullopt;
      status_ = detail::explain(delivery_.team(), taken.status.code());
      return std::optional<Segment<T>>();
    });
  }
  // How the operation has ended; in_progress() before next() has given nothing.
  Status status() const noexcept { return status_; }

 private:
  const Delivery<T>& delivery_;
  Status status_{ESP_IN_PROGRESS};
};

}  // namespace esp

#endif  // ESPALIER_CPP_STREAM_HPP
