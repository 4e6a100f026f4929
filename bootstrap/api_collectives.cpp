// C API: collectives. Contracts in espalier.h.
// path: short (blocking small operations), data
#include "bootstrap/api_check.hpp"

using espalier::Call;
using espalier::Collective;
using espalier::Engine;
using espalier::Finish;
using espalier::Result;
using espalier::ShortPath;
using espalier::Status;
using espalier::Team;
namespace api = espalier::api;

namespace {

// Where a blocking call waits for its end.
struct BlockingWait {
  static void finish(void* context, Status status) noexcept {
    auto& self = *static_cast<BlockingWait*>(context);
    self.status = status;
    self.done.store(1, std::memory_order_release);
    if (self.threaded) espalier::futex_wake_all(self.done);
  }
  // Writer: the owner of the worker (release: publishes status). Reader: the blocked thread.
  std::atomic<std::uint32_t> done{0};
  bool threaded = false;
  Status status;
};

Status run_short(esp_job& job, Team& team, const espalier::CallSignature& signature,
                 const Call& call) noexcept {
  ++job.counters.short_operations;
  switch (call.collective) {
    case Collective::kBarrier:
      return job.short_path->barrier(team, signature);
    case Collective::kBcast:
      return job.short_path->bcast(team, signature, call.output, call.bytes());
    case Collective::kReduce:
      return job.short_path->reduce(team, signature, call);
    default:
      return job.short_path->allreduce(team, signature, call);
  }
}

[[gnu::noinline]] esp_status run_engine(esp_team& handle, const Call& call) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  BlockingWait wait;
  wait.threaded = job.threaded;
  Result<Engine::Started> started{Engine::Started{}};
  api::on_owner(job, [&] {
    if (team.failed()) {
      started = Engine::Started{true, team.fault};
      return;
    }
    started = job.engine->start(team, call, Finish{BlockingWait::finish, &wait});
  });
  if (!started) return api::fail(job, started.error());
  Status status = started->status;
  if (!started->done) {
    api::wait_until(
        job, [&] { return wait.done.load(std::memory_order_acquire) != 0; }, &wait.done);
    status = wait.status;
  }
  return status.ok() ? ESP_OK : api::fail_team(handle, status);
}

esp_status run_blocking(esp_team& handle, Call& call) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  if (!api::may_block(job)) {
    return api::fail(job, ESP_ERR_STATE, "a blocking call inside a callback");
  }
  call.blocking = true;
  if (!call.choice_is_free || !ShortPath::takes(team, call.bytes()))
    return run_engine(handle, call);
  if (team.failed()) return api::fail_team(handle, team.fault);
  const espalier::CallSignature signature = call.signature();
  team.enter(signature);
  const Status status = run_short(job, team, signature, call);
  return status.ok() ? ESP_OK : api::fail_team(handle, status);
}

esp_status start(esp_team& handle, const Call& call, const esp_notify* notify,
                 esp_request** request) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  esp_status status = ESP_OK;
  api::on_owner(job, [&] {
    if (team.failed()) {
      status = api::fail_team(handle, team.fault);
      return;
    }
    auto pending = api::make_request(job, notify, request);
    if (!pending) {
      status = api::fail(job, pending.error());
      return;
    }
    auto started = job.engine->start(team, call, Finish{api::finish_request, *pending});
    status = api::conclude(job, *pending, started, request);
  });
  return status;
}

Call barrier_call() noexcept {
  Call call;
  call.collective = Collective::kBarrier;
  return call;
}

Call bcast_call(void* buffer, size_t count, esp_type type, int root) noexcept {
  Call call;
  call.collective = Collective::kBcast;
  call.output = buffer;
  call.count = count;
  call.type = type;
  call.root = root;
  return call;
}

Call reduction(Collective collective, const void* input, void* output, size_t count, esp_type type,
               esp_op op, int root) noexcept {
  Call call;
  call.collective = collective;
  call.input = input;
  call.output = output;
  call.count = count;
  call.type = type;
  call.op = op;
  call.root = root;
  return call;
}

esp_status check(esp_team* team, Call& call, const esp_coll_options* options, bool reduces) {
  const esp_status status = api::complete_call(*team, call, options);
  return status == ESP_OK && reduces ? api::bind_operator(*team, call) : status;
}

esp_status blocking(esp_team* team, Call call, bool reduces) {
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  const esp_status status = check(team, call, nullptr, reduces);
  return status == ESP_OK ? run_blocking(*team, call) : status;
}

esp_status non_blocking(esp_team* team, Call call, bool reduces, const esp_coll_options* options,
                        const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  const esp_status status = check(team, call, options, reduces);
  return status == ESP_OK ? start(*team, call, notify, request) : status;
}

}  // namespace

extern "C" {

esp_status esp_barrier(esp_team* team) {
  return blocking(team, barrier_call(), false);
}

esp_status esp_bcast(esp_team* team, void* buffer, size_t count, esp_type type, int root) {
  return blocking(team, bcast_call(buffer, count, type, root), false);
}

esp_status esp_reduce(esp_team* team, const void* input, void* output, size_t count, esp_type type,
                      esp_op op, int root) {
  return blocking(team, reduction(Collective::kReduce, input, output, count, type, op, root), true);
}

esp_status esp_allreduce(esp_team* team, const void* input, void* output, size_t count,
                         esp_type type, esp_op op) {
  return blocking(team, reduction(Collective::kAllreduce, input, output, count, type, op, 0), true);
}

esp_status esp_barrier_start(esp_team* team, const esp_coll_options* options,
                             const esp_notify* notify, esp_request** request) {
  return non_blocking(team, barrier_call(), false, options, notify, request);
}

esp_status esp_bcast_start(esp_team* team, void* buffer, size_t count, esp_type type, int root,
                           const esp_coll_options* options, const esp_notify* notify,
                           esp_request** request) {
  return non_blocking(team, bcast_call(buffer, count, type, root), false, options, notify, request);
}

esp_status esp_reduce_start(esp_team* team, const void* input, void* output, size_t count,
                            esp_type type, esp_op op, int root, const esp_coll_options* options,
                            const esp_notify* notify, esp_request** request) {
  return non_blocking(team, reduction(Collective::kReduce, input, output, count, type, op, root),
                      true, options, notify, request);
}

esp_status esp_allreduce_start(esp_team* team, const void* input, void* output, size_t count,
                               esp_type type, esp_op op, const esp_coll_options* options,
                               const esp_notify* notify, esp_request** request) {
  return non_blocking(team, reduction(Collective::kAllreduce, input, output, count, type, op, 0),
                      true, options, notify, request);
}

}  // extern "C"
