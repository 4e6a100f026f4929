// Backend over Espalier's public C API: the job, what has no blocks, and messages.
// path: data
#include "esp-bench/backend_espalier.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace espalier::bench {

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
  state_->call(state_->world, esp_barrier, esp_barrier_start);
}

void Backend::bcast(void* buffer, std::size_t bytes, int root) {
  state_->call(state_->world, esp_bcast, esp_bcast_start, buffer, bytes, ESP_BYTE, root);
}

void Backend::reduce_sum(const float* input, float* output, std::size_t count, int root) {
  state_->call(state_->world, esp_reduce, esp_reduce_start, input, output, count, ESP_FLOAT,
               ESP_SUM, root);
}

void Backend::allreduce_sum(const float* input, float* output, std::size_t count) {
  state_->call(state_->world, esp_allreduce, esp_allreduce_start, input, output, count, ESP_FLOAT,
               ESP_SUM);
}

void Backend::scan_sum(const float* input, float* output, std::size_t count) {
  state_->call(state_->world, esp_scan, esp_scan_start, input, output, count, ESP_FLOAT, ESP_SUM);
}

void Backend::exscan_sum(const float* input, float* output, std::size_t count) {
  state_->call(state_->world, esp_exscan, esp_exscan_start, input, output, count, ESP_FLOAT,
               ESP_SUM);
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
