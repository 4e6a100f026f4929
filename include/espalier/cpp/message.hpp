// Active messages: short messages that call a function of the target.
//
//   auto note = [&](const esp::Message& m) { sum += m.argument; };
//   esp::on_message(job, 3, note);                  // `note` is borrowed
//   esp::send_message(job, {.rank = 2, .id = 3, .argument = 42}, bytes);
//
// Threads and limits: as in espalier.h. path: short where the C call is
#ifndef ESPALIER_CPP_MESSAGE_HPP
#define ESPALIER_CPP_MESSAGE_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/cpp/job.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"

namespace esp {

// What a function gets. The payload ends with the call.
struct Message {
  int source = 0;  // a rank of the job
  std::uint64_t argument = 0;
  std::span<const std::byte> payload;
};

// Where a message goes.
struct Address {
  int rank = 0;
  int id = 0;
  std::uint64_t argument = 0;
};

// The callable is borrowed: it stays where it is until another is registered or the job ends. It
// must not block or throw.
template <std::invocable<const Message&> F>
Status on_message(const Job& job, int id, F& callable) noexcept {
  const esp_am_handler call = [](void* context, int source, std::uint64_t argument,
                                 const void* payload, std::size_t bytes) {
    (*static_cast<F*>(context))(
        Message{source, argument, {static_cast<const std::byte*>(payload), bytes}});
  };
  void* context = const_cast<void*>(static_cast<const void*>(&callable));
  const esp_status status = esp_am_register(job.get(), id, call, context);
  return status == ESP_OK ? Status() : Status(status, job.error());
}

// Waits until the payload may be used again; not inside callbacks.
inline Status send_message(const Job& job, Address to,
                           std::span<const std::byte> payload = {}) noexcept {
  const esp_status status =
      esp_am_send(job.get(), to.rank, to.id, to.argument, payload.data(), payload.size());
  return status == ESP_OK ? Status() : Status(status, job.error());
}

// Non-blocking: a request, or a callback or counter.
inline Result<Request> send_message_start(const Job& job, Address to,
                                          std::span<const std::byte> payload = {}) {
  esp_request* handle = nullptr;
  const esp_status status = esp_am_send_start(job.get(), to.rank, to.id, to.argument,
                                              payload.data(), payload.size(), nullptr, &handle);
  if (status != ESP_OK) return Result<Request>(Status(status, job.error()));
  return Request(handle, job.world().get());
}

inline Status send_message_start(const Job& job, Address to, std::span<const std::byte> payload,
                                 Notify notify) noexcept {
  const esp_status status =
      esp_am_send_start(job.get(), to.rank, to.id, to.argument, payload.data(), payload.size(),
                        notify.get(), nullptr);
  if (status == ESP_OK) notify.release();
  return status == ESP_OK ? Status() : Status(status, job.error());
}

}  // namespace esp

#endif  // ESPALIER_CPP_MESSAGE_HPP
