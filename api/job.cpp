// C API: jobs, memory, progress, counters, traces. Contracts in espalier.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/api.hpp"
#include "core/trace_export.hpp"

namespace api = espalier::api;

namespace espalier::api {

esp_status fail(esp_job& job, esp_status code, std::string text) {
  job.log.debug("{}: {}", esp_status_text(code), text);
  job.errors.set(std::move(text));
  return code;
}

esp_status bad_argument(esp_job& job, std::string_view caller, std::string_view what) {
  return fail(job, ESP_ERR_ARGUMENT, fmt::format("{}: {}", caller, what));
}

esp_status refuse_blocking(esp_job& job, std::string_view caller) {
  return fail(job, ESP_ERR_STATE, fmt::format("{}: a blocking call inside a callback", caller));
}

esp_status fail_team(esp_team& handle, Status status) {
  handle.job->errors.set(handle.team.fault_text);
  return status.code();
}

}  // namespace espalier::api

namespace {

void copy_text(const std::string& text, char* to, size_t room) {
  if (to == nullptr || room == 0) return;
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

// There is no job to ask: the explanation goes where the options say, else to stderr.
esp_status refuse(const esp_job_options& options, esp_status code, const std::string& text) {
  copy_text(text, options.error_text, options.error_text_bytes);
  if (options.error_text == nullptr) {
    espalier::Log(espalier::LogLevel::kError).error("esp_job_init: {}", text);
  }
  return code;
}

// One line, whatever the level of the log is: it was asked for.
void log_counters(const esp_job& job) {
  std::string text;
  for (const espalier::CounterInfo& info : espalier::counter_table()) {
    const std::uint64_t value = (job.counters.*info.member).value();
    if (value > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", info.name, value);
  }
  espalier::Log(espalier::LogLevel::kInfo, job.rank).info("counters: {}", text);
}

// To sleep on; -1: a reported error.
int descriptor(esp_job& job, const char* caller) {
  if (job.threaded) {
    (void)api::fail(job, ESP_ERR_STATE,
                    fmt::format("{}: the library's own thread drives this job", caller));
    return -1;
  }
  espalier::Status failure;
  const int fd = job.worker->descriptor(failure);
  if (fd < 0) {
    (void)api::fail(job, failure.code(), fmt::format("{}: no descriptor for the doorbell", caller));
  }
  return fd;
}

}  // namespace

extern "C" {

esp_status esp_job_init(const esp_job_options* options, esp_job** job) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  *job = nullptr;
  esp_job_options used = ESP_JOB_OPTIONS_INIT;
  if (options != nullptr) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof used) {
      return refuse(used, ESP_ERR_ARGUMENT,
                    fmt::format("esp_job_options.struct_size is {}: begin with "
                                "ESP_JOB_OPTIONS_INIT",
                                options->struct_size));
    }
    std::memcpy(static_cast<void*>(&used), options, options->struct_size);
  }
  if (used.error_text != nullptr && used.error_text_bytes > 0) used.error_text[0] = 0;
  if (used.thread_mode != ESP_THREAD_OWNER && used.thread_mode != ESP_THREAD_PROGRESS) {
    return refuse(used, ESP_ERR_ARGUMENT,
                  "esp_job_options.thread_mode is not one of esp_thread_mode");
  }
  auto made = espalier::bring_up(used);
  if (!made) return refuse(used, made.error().status.code(), made.error().text);
  *job = made->release();
  return ESP_OK;
}

esp_status esp_job_finalize(esp_job* job) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (!api::may_block(*job))
    return api::fail(*job, ESP_ERR_STATE, "esp_job_finalize in a callback");
  const auto done = espalier::take_down(*job);
  const esp_status status = done.ok() ? ESP_OK : done.error().status.code();
  if (!done.ok()) job->log.error("esp_job_finalize: {}", done.error().text);
  if (job->config.counters) log_counters(*job);
  delete job;
  return status;
}

void esp_abort(esp_job* job, int exit_code, const char* message) {
  if (job == nullptr) {
    std::fprintf(stderr, "espalier: abort: %s\n", message != nullptr ? message : "");
    std::_Exit(exit_code);
  }
  // Its thread may be writing to the trace.
  if (!job->threaded) espalier::write_trace_file(*job);
  job->bootstrap->abort(exit_code, message != nullptr ? message : "");
}

int esp_job_rank(const esp_job* job) {
  return job != nullptr ? job->rank : -1;
}
int esp_job_size(const esp_job* job) {
  return job != nullptr ? job->size : 0;
}
int esp_job_node(const esp_job* job, int rank) {
  if (job == nullptr || rank < 0 || rank >= job->size) return -1;
  return job->directory.node_of(rank);
}
esp_team* esp_job_world(esp_job* job) {
  return job != nullptr ? job->world : nullptr;
}
const char* esp_job_error(const esp_job* job) {
  return job != nullptr ? job->errors.last() : "";
}

int esp_progress(esp_job* job) {
  if (job == nullptr || !api::may_block(*job) || job->threaded) return 0;
  return api::poll_once(*job);
}

esp_status esp_job_set_idle(esp_job* job, esp_idle_function function, void* context) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  if (!api::may_block(*job)) return api::refuse_blocking(*job, __func__);
  job->idle = {function, context};
  if (!job->threaded) job->worker->set_idle(job->idle);
  return ESP_OK;
}

int esp_job_fd(esp_job* job) {
  return job != nullptr ? descriptor(*job, __func__) : -1;
}

int esp_job_arm(esp_job* job) {
  if (job == nullptr) return -1;
  if (!api::may_block(*job)) {
    (void)api::fail(*job, ESP_ERR_STATE, "esp_job_arm: inside a callback");
    return -1;
  }
  if (descriptor(*job, __func__) < 0) return -1;
  if (job->has_open_operations()) api::look_around(*job);
  const int events = job->worker->arm();
  if (events == 0) job->clock.sleeps(job->worker->alarm_ns());
  return events;
}

double esp_time(void) {
  return static_cast<double>(espalier::SteadyClock().now_ns()) * 1e-9;
}

void* esp_alloc(esp_job* job, size_t bytes) {
  if (job == nullptr) return nullptr;
  void* memory = nullptr;
  api::on_owner(*job, [&] {
    memory = job->heap->allocate(bytes);
    if (memory != nullptr && job->network != nullptr) job->network->hold(memory, bytes);
  });
  if (memory == nullptr) {
    (void)api::fail(
        *job, ESP_ERR_NO_MEMORY,
        fmt::format("esp_alloc: no {} bytes left in the region of {} (ESPALIER_HEAP_BYTES)", bytes,
                    job->config.heap_bytes));
  }
  return memory;
}

void esp_free(esp_job* job, void* memory) {
  if (job == nullptr || memory == nullptr) return;
  bool known = false;
  api::on_owner(*job, [&] {
    if (job->network != nullptr) job->network->let_go(memory);
    known = job->heap->release(memory);
  });
  if (!known) {
    (void)api::fail(*job, ESP_ERR_ARGUMENT, "esp_free: the memory is not from esp_alloc");
    job->log.error("esp_free: {} is not from esp_alloc (or was freed before)", memory);
  }
}

size_t esp_counters(const esp_job* job, esp_counter_value* values, size_t capacity) {
  const auto table = espalier::counter_table();
  for (size_t i = 0; values != nullptr && i < std::min(capacity, table.size()); ++i) {
    const std::uint64_t value = job == nullptr ? 0 : (job->counters.*table[i].member).value();
    values[i] = {table[i].name, table[i].doc, value};
  }
  return table.size();
}

esp_status esp_trace_write(esp_job* job, const char* path) {
  if (job == nullptr || path == nullptr) return ESP_ERR_ARGUMENT;
  if (!job->trace.enabled()) {
    return api::fail(*job, ESP_ERR_STATE, "esp_trace_write: tracing is off (ESPALIER_TRACE=1)");
  }
  espalier::Outcome written = espalier::Unit{};
  api::on_owner(*job, [&] { written = espalier::write_trace(job->trace, job->rank, path); });
  if (!written) return api::fail(*job, written.error());
  return ESP_OK;
}

size_t esp_job_describe(const esp_job* job, char* text, size_t bytes) {
  if (job == nullptr) return 0;
  std::string description;
  // The peers' state belongs to the owner, which may be the library's thread.
  api::on_owner(const_cast<esp_job&>(*job), [&] { description = espalier::describe(*job); });
  copy_text(description, text, bytes);
  return description.size() + 1;
}

}  // extern "C"
