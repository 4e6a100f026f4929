#include "api/start.hpp"

#include <new>
#include <optional>

#include "api/quick.hpp"
#include "core/latch.hpp"

namespace espalier::api {
namespace {

// Where a blocking call waits for its end.
struct BlockingWait {
  static void finish(void* context, Status status) noexcept {
    auto& self = *static_cast<BlockingWait*>(context);
    self.status = status;
    self.done.open();
  }
  Latch done;
  Status status;
  std::optional<Error> refused;
};

// An error of the engine's, with the function that it is for.
[[gnu::cold]] Error named(const Call& call, const Error& refused) {
  Error failure = refused;
  failure.text.insert(0, std::string(caller_of(call)) + ": ");
  return failure;
}

// On the short path or by the engine: all members choose alike.
Result<Engine::Started> start_operation(esp_team& handle, const Call& call, const Finish& finish) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  if (job.config.explain) [[unlikely]]
    explain_once(handle, call);
  if (ShortOperations::takes(team, call)) return job.short_operations->start(team, call, finish);
  auto started = job.engine->start(team, call, finish);
  if (!started) return named(call, started.error());
  job.short_path->announce(team);
  return started;
}

esp_status wait_for_end(esp_team& handle, const Call& call) {
  const Caller caller(handle);
  esp_job& job = *handle.job;
  BlockingWait wait;
  // Of threads that hand over, one wait for both: the thread that starts it and the end.
  hand_over(job, [&handle, &call, &wait] {
    Result<Engine::Started> started = Engine::Started{true, handle.team.fault};
    if (!handle.team.failed()) {
      started = start_operation(handle, call, Finish{BlockingWait::finish, &wait});
    }
    if (!started) {
      wait.refused = started.error();
      wait.done.open();
    } else if (started->done) {
      BlockingWait::finish(&wait, started->status);
    }
  });
  if (!wait.done.is_open()) {
    wait_until(
        job, [&wait] { return wait.done.is_open(); },
        [&wait](std::uint64_t limit_ns) { wait.done.sleep(limit_ns); });
  }
  if (wait.refused.has_value()) return fail(job, *wait.refused);
  flush(job);
  return wait.status.ok() ? ESP_OK : fail_team(handle, wait.status);
}

// Takes what is asked for besides out of the options, whose memory is the caller's.
Result<Partial*> take_partial(esp_team& handle, Call& call, bool reports) {
  if (call.order != nullptr) [[unlikely]]
    return make_partial(handle, *call.order);
  const esp_partial* wanted = std::exchange(call.options.partial, nullptr);
  if (wanted == nullptr) [[likely]]
    return nullptr;
  return make_partial(handle, call, *wanted, reports);
}

// Handed over; the call is kept with the request.
esp_status start_handed(esp_team& handle, const Call& call, const esp_notify* notify,
                        esp_request** request) {
  esp_job& job = *handle.job;
  if (handle.team.failed_for_all()) return fail_team(handle, handle.team.fault);
  SharedRequest* handed = take_shared(job, notify);
  if (handed == nullptr) return ESP_ERR_NO_MEMORY;
  ::new (static_cast<void*>(handed->call)) Call(call);
  if (request != nullptr) *request = handed;
  hand_over(job, [team = &handle, handed] {
    enter_shared(*handed);
    const Call& kept = *std::launder(reinterpret_cast<const Call*>(handed->call));
    const Finish finish = {finish_request, handed};
    conclude_shared(
        *handed, team->team.failed() ? end_at_once(*team) : start_operation(*team, kept, finish));
  });
  return ESP_OK;
}

// What is asked for besides takes memory, and may be refused: then threads wait for the owner.
esp_status start_reported(esp_team& handle, Call& call, const esp_notify* notify,
                          esp_request** request) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  esp_status status = ESP_OK;
  on_owner(job, [&] {
    if (team.failed()) {
      if (call.order != nullptr) StreamOrders::give_back(*call.order);
      status = fail_team(handle, team.fault);
      return;
    }
    auto partial = take_partial(handle, call, notify != nullptr);
    if (!partial) {
      status = fail(job, named(call, partial.error()));
      return;
    }
    auto pending = make_request(job, notify, request);
    if (!pending) {
      release_partial(job, *partial);
      status = fail(job, named(call, pending.error()));
      return;
    }
    if (*partial != nullptr) {
      attach_partial(**pending, *partial);
      begin_arrivals(**partial);
      begin_round(**partial);
      if (team.failed()) {  // with the operation that was to open its input
        release_request(job, **pending);
        if (request != nullptr) *request = nullptr;
        status = fail_team(handle, team.fault);
        return;
      }
    }
    auto started = start_operation(handle, call, Finish{finish_request, *pending});
    status = conclude(job, *pending, started, request);
  });
  return status;
}

// Behind what is in the stream of the options, which goes on behind the end of the call.
[[gnu::cold, gnu::noinline]] esp_status start_ordered(esp_team& handle, Call& call,
                                                      const esp_notify* notify,
                                                      esp_request** request) {
  Devices& devices = *handle.job->devices;
  esp_status status = devices.order(handle, call);
  if (status == ESP_OK) status = devices.enter(handle, call);
  return status == ESP_OK ? start_reported(handle, call, notify, request) : status;
}

}  // namespace

esp_status run_call(esp_team* team, Call& call, Purpose purpose) {
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  call.blocking = true;
  call.purpose = purpose;
  if (goes_quick(*team, call)) return run_quick(*team, call);
  const esp_status status = check_call(*team, call, nullptr);
  if (status != ESP_OK) return status;
  if (!may_block(*team->job)) return refuse_blocking(*team->job, caller_of(call));
  // In place, of blocks that differ in length: as quick as that, once it is checked.
  const bool quick = team->team.quick && call.collective >= Collective::kAllgather &&
                     !call.packs_input && !call.packs_output &&
                     ShortOperations::takes(team->team, call);
  return quick ? run_quick(*team, call) : wait_for_end(*team, call);
}

esp_status init_call(esp_team* team, Call call, const esp_coll_options* options,
                     const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  call.purpose = Purpose::kPersistent;
  esp_status status = check_call(*team, call, options);
  if (status == ESP_OK && call.options.stream != nullptr) [[unlikely]]
    status = team->job->devices->order(*team, call);
  if (status != ESP_OK) return status;
  Result<Partial*> partial = static_cast<Partial*>(nullptr);
  on_owner(*team->job, [&] { partial = take_partial(*team, call, notify != nullptr); });
  if (!partial) return fail(*team->job, named(call, partial.error()));
  return init_request(*team, call, *partial, notify, request);
}

esp_status start_call(esp_team* team, Call call, const esp_coll_options* options,
                      const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  const esp_status status = check_call(*team, call, options);
  if (status != ESP_OK) return status;
  if (!reports_once(notify, request)) [[unlikely]] {
    return refuse_report(*team->job, caller_of(call));
  }
  if (call.options.stream != nullptr) [[unlikely]]
    return start_ordered(*team, call, notify, request);
  if (hands_over(*team->job) && call.options.partial == nullptr) {
    return start_handed(*team, call, notify, request);
  }
  return start_reported(*team, call, notify, request);
}

esp_status conclude_slowly(esp_team& handle, bool completed) noexcept {
  handle.job->short_operations->conclude(handle.team);
  return completed ? ESP_OK : fail_team(handle, handle.team.fault);
}

}  // namespace espalier::api
