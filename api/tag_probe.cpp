// C API: probes, messages that were taken out of matching, and what is taken back. Contracts in
// tags.h. path: data
#include <fmt/format.h>

#include "api/tag.hpp"

using espalier::Engine;
using espalier::error;
using espalier::Finish;
using espalier::Result;
using espalier::TagArrival;
using espalier::TagBlock;
namespace api = espalier::api;
using api::TagCall;

namespace {

// On the owner. Whether there is one, which `message`, unless it is nullptr, then holds.
bool find_message(const TagCall& asked, esp_tag_message** message) {
  esp_tag_info found;
  espalier::TagMessages& tags = *asked.team->job->tags;
  TagArrival* arrival = tags.find(api::tag_receiving(asked, {}), found);
  if (arrival == nullptr) return false;
  if (asked.info != nullptr) *asked.info = found;
  if (message != nullptr) {
    tags.claim(*arrival);
    arrival->holder = asked.team;
    *message = reinterpret_cast<esp_tag_message*>(arrival);
  }
  return true;
}

esp_status probe_once(const TagCall& asked, int* found, esp_tag_message** message) {
  esp_job& job = *asked.team->job;
  bool there = false;
  const auto look = [&] { api::on_owner(job, [&] { there = find_message(asked, message); }); };
  look();
  if (!there && !job.threaded && !job.worker->in_progress()) {
    (void)api::poll_once(job);
    look();
  }
  *found = there ? 1 : 0;
  return ESP_OK;
}

TagCall asked_for(esp_team* team, int source, uint64_t tag, uint64_t mask,
                  esp_tag_info* info) noexcept {
  return {team, nullptr, 0, ESP_BYTE, source, tag, mask, info};
}

// A handle, with what it is to be received into.
struct Claimed {
  TagArrival* arrival = nullptr;
  TagCall call;
};

Claimed claimed(esp_tag_message* message, void* buffer, size_t count, esp_type type,
                esp_tag_info* info) noexcept {
  auto* arrival = reinterpret_cast<TagArrival*>(message);
  return {
      arrival,
      {static_cast<esp_team*>(arrival->holder), buffer, count, type, ESP_ANY_SOURCE, 0, 0, info}};
}

esp_status start_claimed_receive(const char* caller, esp_tag_message** message, Claimed what,
                                 const esp_notify* notify, esp_request** request) {
  esp_team& team = *what.call.team;
  esp_status status = api::check_tag_call(caller, what.call, true);
  if (status == ESP_OK) status = api::check_report(*team.job, caller, notify, request);
  if (status == ESP_ERR_ARGUMENT) return status;  // It may be received otherwise.
  *message = nullptr;                             // Of a team that has failed it goes with the job.
  if (status != ESP_OK) return status;
  return api::start_with_request(
      *team.job, notify, request, [what](esp_request* pending) -> Result<Engine::Started> {
        esp_job& job = *what.call.team->job;
        Result<TagBlock> block = api::tag_block(job, what.call, true);
        if (!block) return block.error();
        return job.tags->receive(*what.arrival, api::tag_receiving(what.call, *block),
                                 Finish{api::finish_request, pending});
      });
}

esp_status check_handle(esp_tag_message* const* message) {
  return message == nullptr || *message == nullptr ? ESP_ERR_ARGUMENT : ESP_OK;
}

}  // namespace

extern "C" {

esp_status esp_tag_probe_now(esp_team* team, int source, uint64_t tag, uint64_t mask, int* found,
                             esp_tag_info* info, esp_tag_message** message) {
  TagCall asked = asked_for(team, source, tag, mask, info);
  const esp_status status = api::check_tag_call(__func__, asked, true);
  if (status != ESP_OK) return status;
  if (found == nullptr) return api::bad_argument(*team->job, __func__, "found is NULL");
  return probe_once(asked, found, message);
}

esp_status esp_tag_probe(esp_team* team, int source, uint64_t tag, uint64_t mask,
                         esp_tag_info* info, esp_tag_message** message) {
  TagCall asked = asked_for(team, source, tag, mask, info);
  const esp_status status = api::check_tag_call(__func__, asked, true);
  if (status != ESP_OK) return status;
  esp_job& job = *team->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, __func__);
  const api::Caller under_way(*team);
  for (;;) {
    int found = 0;
    (void)probe_once(asked, &found, message);
    if (found != 0) return ESP_OK;
    // Another thread may take what this has waited for: then it waits for the next one.
    esp_request* request = nullptr;
    const esp_status started =
        api::start_on_team(*team, nullptr, &request, [asked](esp_request* pending) {
          return asked.team->job->tags->probe(api::tag_receiving(asked, {}),
                                              Finish{api::finish_request, pending});
        });
    const esp_status ended = started == ESP_OK ? esp_request_wait(&request) : started;
    if (ended != ESP_OK) return api::tag_ended(*team, ended);
  }
}

esp_status esp_tag_message_recv_start(esp_tag_message** message, void* buffer, size_t count,
                                      esp_type type, esp_tag_info* info, const esp_notify* notify,
                                      esp_request** request) {
  if (request != nullptr) *request = nullptr;
  if (const esp_status status = check_handle(message); status != ESP_OK) return status;
  return start_claimed_receive(__func__, message, claimed(*message, buffer, count, type, info),
                               notify, request);
}

esp_status esp_tag_message_recv(esp_tag_message** message, void* buffer, size_t count,
                                esp_type type, esp_tag_info* info) {
  if (const esp_status status = check_handle(message); status != ESP_OK) return status;
  const Claimed what = claimed(*message, buffer, count, type, info);
  esp_job& job = *what.call.team->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, __func__);
  const api::Caller under_way(*what.call.team);
  esp_request* request = nullptr;
  const esp_status started = start_claimed_receive(__func__, message, what, nullptr, &request);
  return started == ESP_OK ? api::tag_ended(*what.call.team, esp_request_wait(&request)) : started;
}

esp_status esp_tag_cancel(esp_request* request) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *request->job;
  api::on_owner(job, [&] {
    const std::uint32_t now = request->state.load(std::memory_order_relaxed);
    if (request->receive == nullptr || !esp_request::is_under_way(now)) return;
    job.tags->cancel(*request->receive);
  });
  return ESP_OK;
}

}  // extern "C"
