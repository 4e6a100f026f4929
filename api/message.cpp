// C API: active messages. Contracts in espalier.h. path: data
#include <fmt/format.h>

#include "api/api.hpp"

using espalier::ActiveMessage;
using espalier::Engine;
using espalier::Finish;
using espalier::kMessageBytes;
using espalier::kMessageIds;
using espalier::Result;
namespace api = espalier::api;

static_assert(ESP_AM_IDS == kMessageIds);

namespace {

esp_status check_id(const char* caller, esp_job* job, int id) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (id >= 0 && id < ESP_AM_IDS) [[likely]]
    return ESP_OK;
  return api::bad_argument(*job, caller, fmt::format("id {}: ids are 0 to {}", id, ESP_AM_IDS - 1));
}

esp_status check(const char* caller, esp_job* job, int rank, int id, const void* payload,
                 size_t bytes) {
  const esp_status status = check_id(caller, job, id);
  if (status != ESP_OK) return status;
  if (rank < 0 || rank >= job->size) [[unlikely]] {
    return api::bad_argument(*job, caller, fmt::format("rank {} in a job of {}", rank, job->size));
  }
  if (payload == nullptr && bytes > 0) [[unlikely]] {
    return api::bad_argument(*job, caller, fmt::format("{} bytes, but the payload is NULL", bytes));
  }
  if (bytes > kMessageBytes) [[unlikely]] {
    return api::bad_argument(
        *job, caller,
        fmt::format("a message of {} bytes: at most {} are possible", bytes, kMessageBytes));
  }
  return ESP_OK;
}

// Of a job with devices: the payload may be there, or messages that are still on their way from one
// are sent before this.
esp_status start_staged(const char* caller, esp_job& job, int rank, const ActiveMessage& message,
                        const esp_notify* notify, esp_request** request) {
  bool on_device = false;
  const esp_status found = job.devices->locate(caller, message.payload, message.bytes, on_device);
  if (found != ESP_OK) return found;
  espalier::StagedMessages* const by =
      on_device ? &job.devices->messages() : job.devices->staged_messages();
  return api::start_with_request(job, notify, request,
                                 [job = &job, by, caller, rank, message,
                                  on_device](esp_request* pending) -> Result<Engine::Started> {
                                   const Finish finish = {api::finish_request, pending};
                                   return by != nullptr
                                              ? by->send(caller, rank, message, on_device, finish)
                                              : job->one_sided->send(rank, message, finish);
                                 });
}

esp_status start(const char* caller, esp_job& job, int rank, const ActiveMessage& message,
                 const esp_notify* notify, esp_request** request) {
  if (job.devices->may_be()) [[unlikely]]
    return start_staged(caller, job, rank, message, notify, request);
  return api::start_with_request(job, notify, request, [&job, rank, message](esp_request* pending) {
    return job.one_sided->send(rank, message, Finish{api::finish_request, pending});
  });
}

}  // namespace

extern "C" {

esp_status esp_am_register(esp_job* job, int id, esp_am_handler handler, void* context) {
  const esp_status status = check_id(__func__, job, id);
  if (status != ESP_OK) return status;
  api::on_owner(*job,
                [&] { job->one_sided->set_handler(static_cast<unsigned>(id), handler, context); });
  return ESP_OK;
}

size_t esp_am_bytes_max(const esp_job* job) {
  return job != nullptr ? kMessageBytes : 0;
}

esp_status esp_am_send(esp_job* job, int rank, int id, uint64_t argument, const void* payload,
                       size_t bytes) {
  const esp_status status = check(__func__, job, rank, id, payload, bytes);
  if (status != ESP_OK) return status;
  if (!api::may_block(*job)) return api::refuse_blocking(*job, __func__);
  esp_request* request = nullptr;
  const ActiveMessage message{static_cast<unsigned>(id), argument, payload, bytes};
  const esp_status started = start(__func__, *job, rank, message, nullptr, &request);
  return started == ESP_OK ? esp_request_wait(&request) : started;
}

esp_status esp_am_send_start(esp_job* job, int rank, int id, uint64_t argument, const void* payload,
                             size_t bytes, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = check(__func__, job, rank, id, payload, bytes);
  if (status == ESP_OK) status = api::check_report(*job, __func__, notify, request);
  if (status != ESP_OK) return status;
  return start(__func__, *job, rank, {static_cast<unsigned>(id), argument, payload, bytes}, notify,
               request);
}

}  // extern "C"
