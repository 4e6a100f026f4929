// C API: collectives. Contracts in espalier.h.
// path: short (blocking small operations), data
#include "api/check.hpp"

using espalier::Call;
using espalier::CallSignature;
using espalier::Collective;
using espalier::Engine;
using espalier::Error;
using espalier::Finish;
using espalier::Purpose;
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
    const bool wake = self.threaded;
    // The blocked thread may return as soon as it sees done: from here on, the address alone.
    self.done.store(1, std::memory_order_release);
    if (wake) espalier::futex_wake_all(self.done);
  }
  // Writer: the owner of the worker (release: publishes status). Reader: the blocked thread.
  std::atomic<std::uint32_t> done{0};
  bool threaded = false;
  Status status;
};

// An error of the engine's, with the function that it is for.
[[gnu::cold]] Error named(const Call& call, const Error& refused) {
  Error failure = refused;
  failure.text.insert(0, std::string(api::caller_of(call)) + ": ");
  return failure;
}

[[gnu::noinline]] esp_status run_engine(esp_team& handle, const Call& call) {
  const api::Caller caller(handle);
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
    if (started) job.short_path->announce(team);
  });
  if (!started) return api::fail(job, named(call, started.error()));
  Status status = started->status;
  if (!started->done) {
    api::wait_until(
        job, [&] { return wait.done.load(std::memory_order_acquire) != 0; }, &wait.done);
    status = wait.status;
  }
  api::flush(job);
  return status.ok() ? ESP_OK : api::fail_team(handle, status);
}

// conclude_quick() is for the quick ways in alone: used here, too, it would not be inlined there.
[[gnu::cold, gnu::noinline]] esp_status conclude_slowly(esp_team& handle, bool completed) noexcept;

esp_status run_blocking(esp_team& handle, Call& call) {
  esp_job& job = *handle.job;
  if (!api::may_block(job)) return api::refuse_blocking(job, api::caller_of(call));
  if (api::takes_traced_short_path(handle, call)) {
    return conclude_slowly(handle, api::run_traced_short_path(handle, call));
  }
  return run_engine(handle, call);
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
      status = api::fail(job, named(call, pending.error()));
      return;
    }
    auto started = job.engine->start(team, call, Finish{api::finish_request, *pending});
    if (started) {
      job.short_path->announce(team);
    } else {
      started = named(call, started.error());
    }
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

esp_status blocking(esp_team* team, Call call, bool reduces, Purpose purpose) {
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  call.blocking = true;
  call.purpose = purpose;
  const esp_status status = check(team, call, nullptr, reduces);
  return status == ESP_OK ? run_blocking(*team, call) : status;
}

esp_status non_blocking(esp_team* team, Call call, bool reduces, const esp_coll_options* options,
                        const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  const esp_status status = check(team, call, options, reduces);
  if (status != ESP_OK) return status;
  if (!api::reports_once(notify, request)) [[unlikely]] {
    return api::refuse_report(*team->job, api::caller_of(call));
  }
  return start(*team, call, notify, request);
}

// The long way, kept apart so that the quick way below stays small.
[[gnu::noinline]] esp_status long_barrier(esp_team* team, Purpose purpose) {
  return blocking(team, barrier_call(), false, purpose);
}
[[gnu::noinline]] esp_status long_bcast(esp_team* team, void* buffer, size_t count, esp_type type,
                                        int root) {
  return blocking(team, bcast_call(buffer, count, type, root), false, Purpose::kUser);
}
[[gnu::noinline]] esp_status long_reduce(esp_team* team, const void* input, void* output,
                                         size_t count, esp_type type, esp_op op, int root) {
  return blocking(team, reduction(Collective::kReduce, input, output, count, type, op, root), true,
                  Purpose::kUser);
}
[[gnu::noinline]] esp_status long_allreduce(esp_team* team, const void* input, void* output,
                                            size_t count, esp_type type, esp_op op,
                                            Purpose purpose) {
  return blocking(team, reduction(Collective::kAllreduce, input, output, count, type, op, 0), true,
                  purpose);
}

// The quick way in: calls that need no choice and are in order. Everything else, and everything
// wrong, goes the long way, which knows how to complain.

// The operation's size when it may go the quick way; kLong otherwise.
constexpr std::uint64_t kLong = ~std::uint64_t{0};

std::uint64_t quick_bytes(const esp_team* team, size_t count, esp_type type) noexcept {
  if (team == nullptr || static_cast<unsigned>(type) >= ESP_TYPE_COUNT) return kLong;
  const esp_job& job = *team->job;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, job.short_tables.type_bytes[type], &bytes)) return kLong;
  return ShortPath::takes(team->team, bytes) && !job.worker->in_progress() ? bytes : kLong;
}

CallSignature quick_signature(Collective collective, size_t count, esp_type type, esp_op op,
                              int root, Purpose purpose) noexcept {
  CallSignature signature;
  signature.collective = static_cast<std::uint8_t>(collective);
  signature.type = static_cast<std::uint8_t>(type);
  signature.op = static_cast<std::uint8_t>(op);
  signature.options = static_cast<std::uint8_t>(purpose);
  signature.root = root;
  signature.count = count;
  return signature;
}

// The team has failed, or callbacks have entered its next operations meanwhile.
[[gnu::cold, gnu::noinline]] esp_status conclude_slowly(esp_team& handle, bool completed) noexcept {
  if (!handle.team.held_calls.empty()) {
    handle.team.show_held_calls();
    handle.job->short_path->announce(handle.team);
  }
  return completed ? ESP_OK : api::fail_team(handle, handle.team.fault);
}

inline esp_status conclude_quick(esp_team& handle, bool completed) noexcept {
  ++handle.job->counters.short_operations;
  if (completed && handle.team.held_calls.empty()) [[likely]]
    return ESP_OK;
  return conclude_slowly(handle, completed);
}

// In place or not: false when the buffers are not in order.
bool quick_buffers(const void*& input, const void* output, bool output_counts,
                   std::uint64_t bytes) noexcept {
  if (input == ESP_IN_PLACE) {
    input = output;
    return output_counts && (bytes == 0 || output != nullptr);
  }
  if (bytes == 0) return true;
  return input != nullptr && (!output_counts || (output != nullptr && output != input));
}

espalier::CombineKernel quick_kernel(const esp_team& team, esp_op op, esp_type type) noexcept {
  if (static_cast<unsigned>(op) >= ESP_OP_BUILTIN_COUNT) return nullptr;
  return team.job->short_tables.kernels[static_cast<size_t>(op)][type];
}

inline esp_status barrier(esp_team* team, Purpose purpose) {
  if (quick_bytes(team, 0, ESP_BYTE) == kLong) return long_barrier(team, purpose);
  team->team.enter(quick_signature(Collective::kBarrier, 0, ESP_BYTE, ESP_SUM, 0, purpose));
  return conclude_quick(*team, team->job->short_path->barrier(team->team));
}

inline esp_status allreduce(esp_team* team, const void* input, void* output, size_t count,
                            esp_type type, esp_op op, Purpose purpose) {
  const std::uint64_t bytes = quick_bytes(team, count, type);
  const void* from = input;
  const bool quick = bytes != kLong && quick_buffers(from, output, true, bytes);
  const espalier::CombineKernel kernel = quick ? quick_kernel(*team, op, type) : nullptr;
  if (kernel == nullptr) return long_allreduce(team, input, output, count, type, op, purpose);
  team->team.enter(quick_signature(Collective::kAllreduce, count, type, op, 0, purpose));
  return conclude_quick(
      *team, team->job->short_path->allreduce(team->team, {from, output, count, bytes, kernel}));
}

}  // namespace

esp_status api::meet(esp_team& team, Purpose purpose) {
  return barrier(&team, purpose);
}

esp_status api::sum_words(esp_team& team, std::vector<std::uint64_t>& words, Purpose purpose) {
  return allreduce(&team, ESP_IN_PLACE, words.data(), words.size(), ESP_UINT64, ESP_SUM, purpose);
}

extern "C" {

esp_status esp_barrier(esp_team* team) {
  return barrier(team, Purpose::kUser);
}

esp_status esp_bcast(esp_team* team, void* buffer, size_t count, esp_type type, int root) {
  const std::uint64_t bytes = quick_bytes(team, count, type);
  if (bytes == kLong || static_cast<unsigned>(root) >= static_cast<unsigned>(team->team.size()) ||
      (buffer == nullptr && bytes > 0)) {
    return long_bcast(team, buffer, count, type, root);
  }
  team->team.enter(quick_signature(Collective::kBcast, count, type, ESP_SUM, root, Purpose::kUser));
  return conclude_quick(*team, team->job->short_path->bcast(team->team, root, buffer, bytes));
}

esp_status esp_reduce(esp_team* team, const void* input, void* output, size_t count, esp_type type,
                      esp_op op, int root) {
  const std::uint64_t bytes = quick_bytes(team, count, type);
  const void* from = input;
  const bool here = team != nullptr && team->team.rank == root;
  const bool quick = bytes != kLong &&
                     static_cast<unsigned>(root) < static_cast<unsigned>(team->team.size()) &&
                     quick_buffers(from, output, here, bytes);
  const espalier::CombineKernel kernel = quick ? quick_kernel(*team, op, type) : nullptr;
  if (kernel == nullptr) return long_reduce(team, input, output, count, type, op, root);
  team->team.enter(quick_signature(Collective::kReduce, count, type, op, root, Purpose::kUser));
  return conclude_quick(
      *team, team->job->short_path->reduce(team->team, root, {from, output, count, bytes, kernel}));
}

esp_status esp_allreduce(esp_team* team, const void* input, void* output, size_t count,
                         esp_type type, esp_op op) {
  return allreduce(team, input, output, count, type, op, Purpose::kUser);
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
