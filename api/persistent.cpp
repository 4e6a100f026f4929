// C API: persistent requests. Contracts in espalier.h.
//
// What a persistent request needs is looked up, checked and bound to its buffers once; a round
// numbers the operation and posts it. path: setup (init, free), data (start)
#include <fmt/format.h>

#include "api/start.hpp"

using espalier::Engine;
using espalier::Finish;
using espalier::Instance;
using espalier::Result;
namespace api = espalier::api;

namespace espalier::api {
namespace {

esp_status check_init(esp_job& job, const char* caller, const esp_notify* notify,
                      esp_request** request) {
  if (request == nullptr) return bad_argument(job, caller, "request is NULL");
  if (notify != nullptr && !reports_once(notify, nullptr)) {
    return bad_argument(job, caller, "a notify has either a callback or a counter");
  }
  return ESP_OK;
}

// `bind` gives what the request starts.
template <typename Bind>
esp_status make_persistent(esp_team& team, const char* caller, Partial* partial,
                           const esp_notify* notify, esp_request** request, Bind&& bind) {
  esp_job& job = *team.job;
  esp_status status = check_init(job, caller, notify, request);
  on_owner(job, [&] {
    if (status == ESP_OK && team.team.failed()) status = fail_team(team, team.team.fault);
    if (status != ESP_OK) return;
    esp_request* made = job.requests.allocate();
    if (made == nullptr) {
      status = fail(job, ESP_ERR_NO_MEMORY, fmt::format("{}: no memory for a request", caller));
      return;
    }
    Result<Instance*> bound = bind();
    if (!bound) {
      job.requests.release(made);
      status =
          fail(job, bound.error().status.code(), fmt::format("{}: {}", caller, bound.error().text));
      return;
    }
    made->job = &job;
    if (notify != nullptr) made->notify = *notify;
    made->persistent = true;
    made->bound.store(*bound, std::memory_order_relaxed);
    made->team = &team;
    attach_partial(*made, partial);
    made->state.store(esp_request::kInactive, std::memory_order_relaxed);
    ++job.resting_requests;
    list_open(*made);
    *request = made;
  });
  if (status != ESP_OK && partial != nullptr) on_owner(job, [&] { release_partial(job, partial); });
  return status;
}

esp_status refuse_round(const char* caller, const esp_request& request) {
  return fail(*request.job, ESP_ERR_STATE,
              fmt::format("{}: the round before has not been completed by a test or wait", caller));
}

// Whether there is no round of it, and it can have one. Any thread.
esp_status check_rests(const char* caller, const esp_request& request) {
  if (!request.persistent) {
    return bad_argument(*request.job, caller, "the request is not persistent");
  }
  return request.is_open() ? refuse_round(caller, request) : ESP_OK;
}

// Whether what it needs is still there, and whole. Any thread.
esp_status check_needs(const char* caller, const esp_request& request) {
  esp_job& job = *request.job;
  if (request.bound.load(std::memory_order_relaxed) == nullptr) {
    return bad_argument(job, caller, "its team has been freed");
  }
  if (request.partial != nullptr && request.partial->orphaned.load(std::memory_order_relaxed)) {
    return fail(job, ESP_ERR_STATE,
                fmt::format("{}: the request that opens its input has been freed", caller));
  }
  Team& team = request.team->team;
  return team.failed_for_all() ? fail_team(*request.team, team.fault) : ESP_OK;
}

// Whether it may be started now, as far as is known.
esp_status check_start(const char* caller, const esp_request& request) {
  const esp_status status = check_rests(caller, request);
  return status == ESP_OK ? check_needs(caller, request) : status;
}

// Of small ones on one node the plan is not used. On several the heads would look theirs up.
Engine::Started begin_round(esp_request& request) {
  esp_job& job = *request.job;
  Team& team = request.team->team;
  Instance& bound = *request.bound.load(std::memory_order_relaxed);
  const Finish finish = {finish_request, &request};
  if (request.partial != nullptr) {
    api::begin_round(*request.partial);
    if (team.failed()) return {true, team.fault};  // with the operation that was to open its input
  }
  const bool one_node = bound.channel == 0 && team.nodes() == nullptr;
  if (one_node && ShortOperations::takes(team, bound.call)) {
    auto started = job.short_operations->start(team, bound.call, bound.entered, finish);
    if (started) return *started;
    // Without memory the plan would leave the others waiting on their lines.
    job.engine->fail(team, started.error().status, started.error().text);
    return {true, team.fault};
  }
  const Engine::Started started = job.engine->start(bound, finish);
  if (bound.channel == 0) job.short_path->announce(team);
  return started;
}

esp_status start_round(const char* caller, esp_request& request) {
  const esp_status status = check_start(caller, request);
  if (status != ESP_OK) return status;
  if (claim_round(request) != Claim::kMine) return refuse_round(caller, request);
  if (request.partial != nullptr && request.partial->order != nullptr) [[unlikely]] {
    request.job->devices->enter(*request.team, caller, *request.partial->order);
  }
  hand_over(*request.job, [&request] { start_claimed(request); });
  return ESP_OK;
}

}  // namespace

void unbind(esp_request& request) noexcept {
  Instance* bound = request.bound.exchange(nullptr, std::memory_order_relaxed);
  if (bound == nullptr) return;
  request.job->engine->give_back(*bound);
  request.team = nullptr;
}

void unbind_all(esp_team& team) noexcept {
  for (esp_request* r = team.job->open_requests; r != nullptr; r = r->open_next) {
    if (r->team == &team) unbind(*r);
  }
}

Claim claim_round(esp_request& request) noexcept {
  std::uint32_t now = request.state.load(std::memory_order_acquire);
  if (esp_request::is_under_way(now)) return Claim::kUnderWay;
  const bool rests = now == esp_request::kInactive || request.reports();
  if (!request.persistent || !rests) return Claim::kRefused;
  const bool mine =
      request.state.compare_exchange_strong(now, esp_request::kUnderWay, std::memory_order_acq_rel);
  if (mine) {
    // At once, for threads that look at what has arrived.
    if (request.partial != nullptr) begin_arrivals(*request.partial);
    return Claim::kMine;
  }
  return esp_request::is_under_way(now) ? Claim::kUnderWay : Claim::kRefused;
}

void start_claimed(esp_request& request) noexcept {
  --request.job->resting_requests;
  const esp_status status = check_needs("esp_request_start", request);
  if (status == ESP_OK) return conclude(request, begin_round(request));
  const bool lost =
      request.bound.load(std::memory_order_relaxed) != nullptr && request.team->team.failed();
  conclude(request, {true, lost ? request.team->team.fault : Status(status)});
}

esp_status init_request(esp_team& team, const Call& call, Partial* partial,
                        const esp_notify* notify, esp_request** request) {
  return make_persistent(team, caller_of(call), partial, notify, request, [&] {
    if (team.job->config.explain) explain_once(team, call);
    return team.job->engine->bind(team.team, call);
  });
}

esp_status init_request(esp_team& team, const char* caller, const Engine::Flow& flow,
                        Partial* partial, const esp_notify* notify, esp_request** request) {
  return make_persistent(team, caller, partial, notify, request,
                         [&] { return team.job->engine->bind_flow(team.team, flow); });
}

}  // namespace espalier::api

extern "C" {

esp_status esp_request_start(esp_request* request) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  return api::start_round(__func__, *request);
}

esp_status esp_request_start_all(esp_request** requests, size_t count) {
  if (requests == nullptr && count > 0) return ESP_ERR_ARGUMENT;
  const char* caller = __func__;
  esp_status status = ESP_OK;
  for (size_t i = 0; i < count && status == ESP_OK; ++i) {
    if (requests[i] == nullptr) {
      return api::bad_argument(requests, count, caller, fmt::format("request {} is NULL", i));
    }
    status = api::check_start(caller, *requests[i]);
  }
  for (size_t i = 0; i < count && status == ESP_OK; ++i) {
    status = api::start_round(caller, *requests[i]);
  }
  return status;
}

esp_status esp_request_free(esp_request** request) {
  if (request == nullptr) return ESP_ERR_ARGUMENT;
  if (*request == nullptr) return ESP_OK;
  esp_job& job = *(*request)->job;
  if (!(*request)->persistent) return api::bad_argument(job, __func__, "it is not persistent");
  esp_status status = ESP_OK;
  api::on_owner(job, [&] {
    if ((*request)->is_open()) {
      status = api::fail(job, ESP_ERR_STATE, "esp_request_free: its round is under way");
      return;
    }
    api::release_request(job, **request);
    *request = nullptr;
  });
  return status;
}

}  // extern "C"
