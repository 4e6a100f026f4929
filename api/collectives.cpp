// C API: the collectives that have a short path: barrier, bcast, reduce, allreduce. Contracts in
// collectives.h. path: short (blocking small operations), data
#include "api/forms.hpp"

using espalier::CallSignature;
using espalier::Collective;
using espalier::Purpose;
using espalier::ShortPath;
namespace api = espalier::api;

// The long way, kept apart so that the quick way below stays small, and the forms that start.
ESP_STARTED_FORMS(kBarrier, barrier, ());
ESP_LONG_FORMS(kBcast, bcast, (void* buffer, size_t count, esp_type type, int root),
               call.output = buffer, call.count = count, call.type = type, call.root = root);
static ESP_NON_BLOCKING(start_call, long_bcast_start,
                        (void* buffer, size_t count, esp_type type, int root), kBcast,
                        call.output = buffer, call.count = count, call.type = type,
                        call.root = root);
ESP_STARTED_FORMS(kReduce, reduce,
                  (const void* input, void* output, size_t count, esp_type type, esp_op op,
                   int root),
                  call.input = input, call.output = output, call.count = count, call.type = type,
                  call.op = op, call.root = root);
ESP_STARTED_FORMS(kAllreduce, allreduce,
                  (const void* input, void* output, size_t count, esp_type type, esp_op op),
                  call.input = input, call.output = output, call.count = count, call.type = type,
                  call.op = op);

namespace {

// The quick way in: calls that need no choice and are in order. Everything else, and everything
// wrong, goes the long way, which knows how to complain.

// The operation's size when it may go the quick way; kLong otherwise.
constexpr std::uint64_t kLong = ~std::uint64_t{0};

[[gnu::always_inline]] inline std::uint64_t quick_bytes(const esp_team* team, Collective collective,
                                                        size_t count, esp_type type) noexcept {
  if (team == nullptr || static_cast<unsigned>(type) >= ESP_TYPE_COUNT) return kLong;
  const esp_job& job = *team->job;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, job.short_tables.type_bytes[type], &bytes)) return kLong;
  const bool takes = ShortPath::takes(team->team, collective, bytes);
  return takes && !job.worker->in_progress() && !job.devices->may_be() ? bytes : kLong;
}

// Of blocking calls; and of started ones that leave everything to choice.
constexpr auto kStarted = espalier::hash_options(ESP_COLL_OPTIONS_INIT, true, false);

CallSignature quick_signature(Collective collective, size_t count, esp_type type, esp_op op,
                              int root, std::uint8_t options) noexcept {
  CallSignature signature;
  signature.collective = static_cast<std::uint8_t>(collective);
  signature.type = static_cast<std::uint8_t>(type);
  signature.op = static_cast<std::uint8_t>(op);
  signature.options = options;
  signature.root = root;
  signature.count = count;
  return signature;
}
CallSignature quick_signature(Collective collective, size_t count, esp_type type, esp_op op,
                              int root, Purpose purpose) noexcept {
  return quick_signature(collective, count, type, op, root, static_cast<std::uint8_t>(purpose));
}

inline bool is_memory(const void* buffer) noexcept {
  return buffer != nullptr && buffer != ESP_IN_PLACE;
}

// Are the arguments of a broadcast in order?
inline bool quick_bcast(const esp_team* team, const void* buffer, std::uint64_t bytes,
                        int root) noexcept {
  return bytes != kLong && static_cast<unsigned>(root) < static_cast<unsigned>(team->team.size()) &&
         (is_memory(buffer) || bytes == 0);
}

inline esp_status conclude_quick(esp_team& handle, bool completed) noexcept {
  ++handle.job->counters.short_operations;
  if (completed && handle.team.shown_unread == 0) [[likely]]
    return ESP_OK;
  return api::conclude_slowly(handle, completed);
}

// In place or not: false when the buffers are not in order.
bool quick_buffers(const void*& input, const void* output, bool output_counts,
                   std::uint64_t bytes) noexcept {
  if (input == ESP_IN_PLACE) {
    input = output;
    return output_counts && (bytes == 0 || is_memory(output));
  }
  if (bytes == 0) return true;
  return input != nullptr && (!output_counts || (is_memory(output) && output != input));
}

espalier::CombineKernel quick_kernel(const esp_team& team, esp_op op, esp_type type) noexcept {
  if (static_cast<unsigned>(op) >= ESP_OP_BUILTIN_COUNT) return nullptr;
  return team.job->short_tables.kernels[static_cast<size_t>(op)][type];
}

inline esp_status barrier(esp_team* team, Purpose purpose) {
  if (quick_bytes(team, Collective::kBarrier, 0, ESP_BYTE) == kLong)
    return long_barrier(purpose, team);
  team->team.enter(quick_signature(Collective::kBarrier, 0, ESP_BYTE, ESP_SUM, 0, purpose));
  return conclude_quick(*team, team->job->short_path->barrier(team->team));
}

inline esp_status allreduce(esp_team* team, const void* input, void* output, size_t count,
                            esp_type type, esp_op op, Purpose purpose) {
  const std::uint64_t bytes = quick_bytes(team, Collective::kAllreduce, count, type);
  const void* from = input;
  const bool quick = bytes != kLong && quick_buffers(from, output, true, bytes);
  const espalier::CombineKernel kernel = quick ? quick_kernel(*team, op, type) : nullptr;
  if (kernel == nullptr) return long_allreduce(purpose, team, input, output, count, type, op);
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

// One whose line is there, or has room, is complete at once: nothing need be remembered.
esp_status esp_bcast_start(esp_team* team, void* buffer, size_t count, esp_type type, int root,
                           const esp_coll_options* options, const esp_notify* notify,
                           esp_request** request) {
  const std::uint64_t bytes = quick_bytes(team, Collective::kBcast, count, type);
  const bool plain =
      (options == nullptr || api::leaves_all(*options)) && notify == nullptr && request != nullptr;
  if (!plain || !quick_bcast(team, buffer, bytes, root) ||
      !team->job->short_path->try_bcast(
          team->team, root, buffer, bytes,
          quick_signature(Collective::kBcast, count, type, ESP_SUM, root, kStarted))) {
    return long_bcast_start(team, buffer, count, type, root, options, notify, request);
  }
  ++team->job->counters.short_operations;
  *request = &team->job->completed;
  return ESP_OK;
}

esp_status esp_bcast(esp_team* team, void* buffer, size_t count, esp_type type, int root) {
  const std::uint64_t bytes = quick_bytes(team, Collective::kBcast, count, type);
  if (!quick_bcast(team, buffer, bytes, root)) {
    return long_bcast(Purpose::kUser, team, buffer, count, type, root);
  }
  team->team.enter(quick_signature(Collective::kBcast, count, type, ESP_SUM, root, Purpose::kUser));
  return conclude_quick(*team, team->job->short_path->bcast(team->team, root, buffer, bytes));
}

esp_status esp_reduce(esp_team* team, const void* input, void* output, size_t count, esp_type type,
                      esp_op op, int root) {
  const std::uint64_t bytes = quick_bytes(team, Collective::kReduce, count, type);
  const void* from = input;
  const bool here = team != nullptr && team->team.rank == root;
  const bool quick = bytes != kLong &&
                     static_cast<unsigned>(root) < static_cast<unsigned>(team->team.size()) &&
                     quick_buffers(from, output, here, bytes);
  const espalier::CombineKernel kernel = quick ? quick_kernel(*team, op, type) : nullptr;
  if (kernel == nullptr)
    return long_reduce(Purpose::kUser, team, input, output, count, type, op, root);
  team->team.enter(quick_signature(Collective::kReduce, count, type, op, root, Purpose::kUser));
  return conclude_quick(
      *team, team->job->short_path->reduce(team->team, root, {from, output, count, bytes, kernel}));
}

esp_status esp_allreduce(esp_team* team, const void* input, void* output, size_t count,
                         esp_type type, esp_op op) {
  return allreduce(team, input, output, count, type, op, Purpose::kUser);
}

}  // extern "C"
