// Backend over Espalier's public C API.
//
// Blocking calls unless choose() asked for a particular algorithm; then the start/wait pair, which
// is where the API takes options. path: data
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "esp-bench/backend.hpp"
#include "espalier/espalier.h"

namespace espalier::bench {

struct Backend::State {
  esp_job* job = nullptr;
  esp_team* world = nullptr;
  bool chosen = false;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  std::string refusal;
  std::vector<esp_request*> requests;
  std::vector<std::size_t> counts, displs;

  // Ends the job with the library's explanation.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(esp_status status) const {
    std::fprintf(stderr, "esp-bench: %s: %s\n", esp_status_text(status), esp_team_error(world));
    esp_abort(job, 1, "esp-bench: a measured call failed");
    std::abort();  // esp_abort does not return.
  }
  void check(esp_status status) const {
    if (status != ESP_OK) [[unlikely]]
      fail(status);
  }
  // After a ..._start with options: the library may say no to them.
  void finish(esp_status started, esp_request* request) {
    if (started == ESP_ERR_ARGUMENT || started == ESP_ERR_UNSUPPORTED) [[unlikely]] {
      refusal = esp_team_error(world);
      return;
    }
    check(started);
    check(esp_request_wait(&request));
  }
  // `plain`, or `start` with the options that were chosen.
  template <typename... Args>
  using Start = esp_status (*)(esp_team*, Args..., const esp_coll_options*, const esp_notify*,
                               esp_request**);
  template <typename... Args>
  void call(esp_status (*plain)(esp_team*, Args...), std::type_identity_t<Start<Args...>> start,
            std::type_identity_t<Args>... args) {
    if (!chosen) return check(plain(world, args...));
    esp_request* request = nullptr;
    const esp_status started = start(world, args..., &options, nullptr, &request);
    finish(started, request);
  }
};

namespace {

constexpr unsigned kChannel = 1;

}  // namespace

Backend::Backend(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::unique_ptr<Backend> Backend::open(std::size_t heap_bytes) {
  char text[512] = {};
  const std::string heap = "HEAP_BYTES=" + std::to_string(heap_bytes);
  const char* const settings[] = {heap.c_str(), nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.error_text = text;
  options.error_text_bytes = sizeof text;
  if (heap_bytes > 0) options.settings = settings;
  auto state = std::make_unique<State>();
  const esp_status status = esp_job_init(&options, &state->job);
  if (status != ESP_OK) {
    std::fprintf(stderr, "esp-bench: cannot join the job: %s\n",
                 text[0] != '\0' ? text : esp_status_text(status));
    std::exit(1);
  }
  state->world = esp_job_world(state->job);
  return std::unique_ptr<Backend>(new Backend(std::move(state)));
}

Backend::~Backend() {
  esp_job_finalize(state_->job);
}

std::string Backend::library() {
  return "Espalier " + std::to_string(ESP_VERSION_MAJOR) + "." + std::to_string(ESP_VERSION_MINOR) +
         "." + std::to_string(ESP_VERSION_PATCH);
}

bool Backend::has_choices() {
  return true;
}
int Backend::rank() const {
  return esp_job_rank(state_->job);
}
int Backend::size() const {
  return esp_job_size(state_->job);
}

void Backend::barrier() {
  state_->call(esp_barrier, esp_barrier_start);
}

void Backend::bcast(void* buffer, std::size_t bytes, int root) {
  state_->call(esp_bcast, esp_bcast_start, buffer, bytes, ESP_BYTE, root);
}

void Backend::reduce_sum(const float* input, float* output, std::size_t count, int root) {
  state_->call(esp_reduce, esp_reduce_start, input, output, count, ESP_FLOAT, ESP_SUM, root);
}

void Backend::allreduce_sum(const float* input, float* output, std::size_t count) {
  state_->call(esp_allreduce, esp_allreduce_start, input, output, count, ESP_FLOAT, ESP_SUM);
}

void Backend::allgather(const void* input, void* output, std::size_t bytes) {
  state_->call(esp_allgather, esp_allgather_start, input, output, bytes, ESP_BYTE);
}

void Backend::alltoall(const void* input, void* output, std::size_t bytes) {
  state_->call(esp_alltoall, esp_alltoall_start, input, output, bytes, ESP_BYTE);
}

void Backend::set_blocks(std::span<const std::size_t> counts, std::span<const std::size_t> displs) {
  state_->counts.assign(counts.begin(), counts.end());
  state_->displs.assign(displs.begin(), displs.end());
}

void Backend::allgatherv(const float* input, float* output) {
  state_->call(esp_allgatherv, esp_allgatherv_start, input, output, state_->counts.data(),
               state_->displs.data(), ESP_FLOAT);
}

void Backend::alltoallv(const float* input, float* output) {
  const std::size_t* counts = state_->counts.data();
  const std::size_t* displs = state_->displs.data();
  state_->call(esp_alltoallv, esp_alltoallv_start, input, counts, displs, output, counts, displs,
               ESP_FLOAT);
}

void Backend::scan_sum(const float* input, float* output, std::size_t count) {
  state_->call(esp_scan, esp_scan_start, input, output, count, ESP_FLOAT, ESP_SUM);
}

void Backend::exscan_sum(const float* input, float* output, std::size_t count) {
  state_->call(esp_exscan, esp_exscan_start, input, output, count, ESP_FLOAT, ESP_SUM);
}

void Backend::combine(std::span<double> values, Combine how) {
  state_->check(esp_allreduce(state_->world, ESP_IN_PLACE, values.data(), values.size(), ESP_DOUBLE,
                              how == Combine::kSum ? ESP_SUM : ESP_MAX));
}

void Backend::send(const void* buffer, std::size_t bytes, int peer) {
  state_->check(esp_send(state_->world, buffer, bytes, peer, kChannel));
}

void Backend::recv(void* buffer, std::size_t bytes, int peer) {
  state_->check(esp_recv(state_->world, buffer, bytes, peer, kChannel));
}

void Backend::send_window(std::span<void* const> buffers, std::size_t bytes, int peer) {
  state_->requests.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    state_->check(esp_send_start(state_->world, buffers[i], bytes, peer, kChannel, nullptr,
                                 &state_->requests[i]));
  }
  state_->check(esp_request_wait_all(state_->requests.data(), buffers.size()));
}

void Backend::recv_window(std::span<void* const> buffers, std::size_t bytes, int peer) {
  state_->requests.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    state_->check(esp_recv_start(state_->world, buffers[i], bytes, peer, kChannel, nullptr,
                                 &state_->requests[i]));
  }
  state_->check(esp_request_wait_all(state_->requests.data(), buffers.size()));
}

void* Backend::native_job() const {
  return state_->job;
}

void Backend::choose(const Choice& choice) {
  state_->chosen = choice != Choice{};
  state_->options = ESP_COLL_OPTIONS_INIT;
  state_->options.algorithm = static_cast<esp_algorithm>(choice.algorithm);
  state_->options.shape = static_cast<esp_shape>(choice.shape);
  state_->options.radix = choice.radix;
  state_->options.segment_bytes = choice.segment_bytes;
  state_->options.window_send = choice.window_send;
  state_->options.window_recv = choice.window_recv;
  state_->options.variant = static_cast<esp_variant>(choice.variant);
}

std::string Backend::take_refusal() {
  return std::exchange(state_->refusal, {});
}

void* Backend::allocate(std::size_t bytes) {
  return esp_alloc(state_->job, bytes);
}
void Backend::release(void* memory) {
  esp_free(state_->job, memory);
}

}  // namespace espalier::bench
