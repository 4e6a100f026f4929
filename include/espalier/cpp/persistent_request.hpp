// PersistentRequest: an operation that is bound to its buffers and started again and again.
//
//   auto sum = team.allreduce_in_place_init(x, esp::kSum).value();
//   while (...) {
//     if (esp::Status s = sum.start(); !s) ...
//     if (esp::Status s = sum.wait(); !s) ...
//   }
//
// Made with a Notify it reports the end of every round there, and need not be waited for.
// Move-only. The destructor waits for a round that is under way: it belongs outside of callbacks.
// An empty one (default-made or moved-from) cannot be started; its waits and tests are those of an
// inactive one. path: short
#ifndef ESPALIER_CPP_PERSISTENT_REQUEST_HPP
#define ESPALIER_CPP_PERSISTENT_REQUEST_HPP

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"

namespace esp {

class [[nodiscard]] PersistentRequest {
 public:
  PersistentRequest() noexcept = default;
  PersistentRequest(esp_request* handle, const esp_team* team, Notify::Kept kept = {}) noexcept
      : handle_(handle), team_(team), kept_(kept) {}
  PersistentRequest(PersistentRequest&& other) noexcept { swap(other); }
  PersistentRequest& operator=(PersistentRequest&& other) noexcept {
    PersistentRequest(std::move(other)).swap(*this);
    return *this;
  }
  ~PersistentRequest() {
    if (pending_) (void)wait();
    const bool gone = esp_request_free(&handle_) == ESP_OK;
    if (gone && kept_.discard != nullptr) kept_.discard(kept_.context);
  }

  // As the C API takes it; nullptr when empty.
  esp_request* get() const noexcept { return handle_; }
  // A round is under way, or has ended and was not waited for.
  bool pending() const noexcept { return pending_; }
  // ESP_ERR_STATE while one is pending (with a Notify: under way), ESP_ERR_ARGUMENT when the team
  // has been freed.
  Status start() noexcept {
    if (handle_ == nullptr) return Status(ESP_ERR_ARGUMENT, "the request is empty");
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
  friend Status start_all(std::span<PersistentRequest> requests);

  void swap(PersistentRequest& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(team_, other.team_);
    std::swap(kept_, other.kept_);
    std::swap(pending_, other.pending_);
  }
  Status explain(esp_status status) const noexcept {
    if (status == ESP_ERR_ARGUMENT) return Status(status);  // The team may be gone.
    return detail::explain(team_, status);
  }

  esp_request* handle_ = nullptr;
  const esp_team* team_ = nullptr;  // For the text of a failure.
  Notify::Kept kept_;               // The callable on the heap.
  bool pending_ = false;
};

// Starts a round of each, in their order. When one is not to be started (ESP_ERR_STATE,
// ESP_ERR_ARGUMENT) none is.
inline Status start_all(std::span<PersistentRequest> requests) {
  std::vector<esp_request*> handles;
  handles.reserve(requests.size());
  for (const PersistentRequest& request : requests) {
    if (request.handle_ == nullptr) return Status(ESP_ERR_ARGUMENT, "a request is empty");
    handles.push_back(request.handle_);
  }
  const esp_status status = esp_request_start_all(handles.data(), handles.size());
  if (status == ESP_ERR_STATE || status == ESP_ERR_ARGUMENT) return requests[0].explain(status);
  // Of a team that has failed those before it are under way; a wait for the others returns at once.
  for (PersistentRequest& request : requests) request.pending_ = true;
  return status == ESP_OK ? Status() : requests[0].explain(status);
}

// Completes the rounds of all; the first failure in the order of the span, if any.
inline Status wait_all(std::span<PersistentRequest> requests) noexcept {
  return detail::wait_all(requests);
}

}  // namespace esp

#endif  // ESPALIER_CPP_PERSISTENT_REQUEST_HPP
