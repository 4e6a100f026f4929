// PersistentRequest: an operation that is bound to its buffers and started again and again.
//
//   auto sum = team.allreduce_in_place_init(x, esp::kSum).value();
//   while (...) {
//     if (esp::Status s = sum.start(); !s) ...
//     if (esp::Status s = sum.wait(); !s) ...
//   }
//
// Move-only. The destructor waits for a round that is under way. An empty one (default-made or
// moved-from) cannot be started; its waits and tests are those of an inactive one. path: short
#ifndef ESPALIER_CPP_PERSISTENT_REQUEST_HPP
#define ESPALIER_CPP_PERSISTENT_REQUEST_HPP

#include <utility>

#include "espalier/cpp/result.hpp"

namespace esp {

class [[nodiscard]] PersistentRequest {
 public:
  PersistentRequest() noexcept = default;
  PersistentRequest(esp_request* handle, const esp_team* team) noexcept
      : handle_(handle), team_(team) {}
  PersistentRequest(PersistentRequest&& other) noexcept { swap(other); }
  PersistentRequest& operator=(PersistentRequest&& other) noexcept {
    PersistentRequest(std::move(other)).swap(*this);
    return *this;
  }
  ~PersistentRequest() {
    if (pending_) (void)wait();
    (void)esp_request_free(&handle_);
  }

  // A round is under way, or has ended and was not waited for.
  bool pending() const noexcept { return pending_; }
  // ESP_ERR_STATE while one is pending, ESP_ERR_ARGUMENT when the team has been freed.
  Status start() noexcept {
    const Status started = explain(esp_request_start(handle_));
    if (started.ok()) pending_ = true;
    return started;
  }
  // How the round has ended; at once when there is none.
  Status wait() noexcept {
    const esp_status status = esp_request_wait(&handle_);
    if (status != ESP_ERR_STATE) pending_ = false;  // that: inside a callback
    return explain(status);
  }
  // Drives progress once: in_progress(), or how the round has ended.
  Status test() noexcept {
    int done = 0;
    const esp_status status = esp_request_test(&handle_, &done);
    if (done != 0) pending_ = false;
    return done != 0 ? explain(status) : Status(ESP_IN_PROGRESS);
  }

 private:
  void swap(PersistentRequest& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(team_, other.team_);
    std::swap(pending_, other.pending_);
  }
  Status explain(esp_status status) const noexcept {
    if (status == ESP_ERR_ARGUMENT) return Status(status);  // The team may be gone.
    return detail::explain(team_, status);
  }

  esp_request* handle_ = nullptr;
  const esp_team* team_ = nullptr;  // For the text of a failure.
  bool pending_ = false;
};

}  // namespace esp

#endif  // ESPALIER_CPP_PERSISTENT_REQUEST_HPP
