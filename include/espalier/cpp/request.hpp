// Request: an operation under way.
//
// Move-only. The destructor waits, because the operation may still read and write the buffers that
// the caller is about to free. An empty request (default-made, moved-from or completed) counts as
// complete. path: short
#ifndef ESPALIER_CPP_REQUEST_HPP
#define ESPALIER_CPP_REQUEST_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/cpp/result.hpp"

namespace esp {

class [[nodiscard]] Request {
 public:
  Request() noexcept = default;
  Request(esp_request* handle, const esp_team* team) noexcept : handle_(handle), team_(team) {}
  Request(Request&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), team_(other.team_) {}
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      if (pending()) (void)wait();
      handle_ = std::exchange(other.handle_, nullptr);
      team_ = other.team_;
    }
    return *this;
  }
  ~Request() {
    if (pending()) (void)wait();
  }

  bool pending() const noexcept { return handle_ != nullptr; }
  // As the C API takes it, nullptr when empty; and whose operation it is.
  esp_request* get() const noexcept { return handle_; }
  const esp_team* team() const noexcept { return team_; }
  // Drives progress until the operation has ended.
  Status wait() noexcept { return explain(esp_request_wait(&handle_)); }
  // Drives progress once: in_progress(), or how the operation ended.
  Status test() noexcept {
    int done = 0;
    const esp_status status = esp_request_test(&handle_, &done);
    return done != 0 ? explain(status) : Status(ESP_IN_PROGRESS);
  }

 private:
  friend struct Completed wait_any(std::span<Request> requests);

  Status explain(esp_status status) const noexcept { return detail::explain(team_, status); }

  esp_request* handle_ = nullptr;
  const esp_team* team_ = nullptr;  // For the text of a failure.
};

namespace detail {
template <typename AnyRequest>
Status wait_all(std::span<AnyRequest> requests) noexcept {
  Status first;
  for (AnyRequest& request : requests) {
    const Status status = request.wait();
    if (first.ok() && !status.ok()) first = status;
  }
  return first;
}
}  // namespace detail

// Completes all; the first failure in the order of the span, if any.
inline Status wait_all(std::span<Request> requests) noexcept {
  return detail::wait_all(requests);
}

struct Completed {
  std::optional<std::size_t> index;  // Empty when every request was empty.
  Status status;
};

// Completes one.
inline Completed wait_any(std::span<Request> requests) {
  std::vector<esp_request*> handles;
  handles.reserve(requests.size());
  for (const Request& request : requests) handles.push_back(request.handle_);
  int found = -1;
  const esp_status status = esp_request_wait_any(handles.data(), handles.size(), &found);
  if (found < 0) return {std::nullopt, Status(status)};
  const std::size_t index = static_cast<std::size_t>(found);
  requests[index].handle_ = nullptr;
  return {index, requests[index].explain(status)};
}

}  // namespace esp

#endif  // ESPALIER_CPP_REQUEST_HPP
