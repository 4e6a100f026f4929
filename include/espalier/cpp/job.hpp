// Job: this process's membership in the set of processes that were started together.
//
// Move-only. init() and finalize() are collective over the job. The destructor finalizes if nobody
// did, so that a program may simply end; call finalize() to learn how it went, after all that was
// made from the job has gone: teams, regions, memory, requests, operators (an inner block). Any
// number of jobs may live in one process. path: setup
#ifndef ESPALIER_CPP_JOB_HPP
#define ESPALIER_CPP_JOB_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/cpp/op.hpp"
#include "espalier/cpp/pattern.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/team.hpp"

namespace esp {

struct JobOptions {
  const esp_bootstrap* bootstrap = nullptr;  // A runtime's own; nullptr: PMIx or alone.
  esp_thread_mode thread_mode = ESP_THREAD_OWNER;
  std::vector<std::string> settings = {};  // "NAME=value", before the environment's.
};

// Elements in memory that the other ranks of the node can read in place (esp_alloc). Freed with
// the object, which must go before its job.
template <Element T>
class Memory {
 public:
  Memory(esp_job* job, std::span<T> elements) noexcept : job_(job), elements_(elements) {}
  Memory(Memory&& other) noexcept
      : job_(other.job_), elements_(std::exchange(other.elements_, {})) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    if (elements_.data() != nullptr) esp_free(job_, elements_.data());
  }

  std::span<T> span() const noexcept { return elements_; }
  T& operator[](std::size_t index) const noexcept { return elements_[index]; }

 private:
  esp_job* job_;
  std::span<T> elements_;
};

class Job {
 public:
  static Result<Job> init(const JobOptions& options = {}) {
    std::vector<const char*> settings;
    for (const std::string& setting : options.settings) settings.push_back(setting.c_str());
    settings.push_back(nullptr);
    char text[512] = "";
    esp_job_options c = ESP_JOB_OPTIONS_INIT;
    c.bootstrap = options.bootstrap;
    c.thread_mode = options.thread_mode;
    c.settings = settings.data();
    c.error_text = text;
    c.error_text_bytes = sizeof text;
    esp_job* job = nullptr;
    const esp_status status = esp_job_init(&c, &job);
    if (status != ESP_OK) return Result<Job>(Status(status, text));
    return Result<Job>(Job(job));
  }

  // Takes over the job.
  explicit Job(esp_job* job) noexcept : job_(job) {}
  Job(Job&& other) noexcept : job_(std::exchange(other.job_, nullptr)) {}
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (job_ != nullptr) (void)finalize();
  }
  // After the destructors of all that was made from it: they use the job.
  Status finalize() noexcept { return Status(esp_job_finalize(std::exchange(job_, nullptr))); }
  // Ends all processes of the job.
  [[noreturn]] void abort(int exit_code, const char* message) const noexcept {
    esp_abort(job_, exit_code, message);
    std::abort();
  }

  esp_job* get() const noexcept { return job_; }
  int rank() const noexcept { return esp_job_rank(job_); }
  int size() const noexcept { return esp_job_size(job_); }
  // Number of the node that a rank is on, -1 when out of range; the color of a split by nodes.
  int node(int rank) const noexcept { return esp_job_node(job_, rank); }
  TeamRef world() const noexcept { return TeamRef(esp_job_world(job_)); }
  const char* error() const noexcept { return esp_job_error(job_); }

  // Drives progress once; callbacks run from here. The number of events handled.
  int progress() const noexcept { return esp_progress(job_); }
  // For an event loop of one's own: a descriptor to sleep on, and what comes before each sleep,
  // which is for 0 alone (esp_job_arm). Negative: error() says why.
  int fd() const noexcept { return esp_job_fd(job_); }
  int arm() const noexcept { return esp_job_arm(job_); }
  // How a rank of the job was lost; ok: none is. Slow; for loops of one's own (esp_job_check).
  Status lost() const noexcept {
    const esp_status status = esp_job_check(job_);
    return status == ESP_OK ? Status() : Status(status, error());
  }
  // Drives progress until counter <= value; zero: the configured limit.
  // Ends early when only a rank that is lost could bring it down (esp_counter_wait).
  Status wait_until(std::int64_t& counter, std::int64_t value,
                    std::chrono::duration<double> timeout = {}) const noexcept {
    const esp_status status = esp_counter_wait(job_, &counter, value, timeout.count());
    return status == ESP_OK ? Status() : Status(status, error());
  }

  // An operator of a callable; see UserOp.
  template <Element T, typename F>
  Result<UserOp<T, F>> make_op(F function, Commutative commutative) const {
    return UserOp<T, F>::create(job_, std::move(function), commutative);
  }
  // Elements that lie apart; see Pattern.
  template <Element T>
  Result<Pattern<T>> strided(const Stride& stride) const {
    return Pattern<T>::strided(job_, stride);
  }
  template <Element T>
  Result<Pattern<T>> blocks(std::span<const std::size_t> lengths,
                            std::span<const std::size_t> displs, std::size_t extent = 0) const {
    return Pattern<T>::blocks(job_, lengths, displs, extent);
  }
  // ESP_ERR_NO_MEMORY when the region (setting HEAP_BYTES) is exhausted.
  template <Element T>
  Result<Memory<T>> allocate(std::size_t count) const {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    void* memory = esp_alloc(job_, count <= kMost / sizeof(T) ? count * sizeof(T) : kMost);
    if (memory == nullptr) return Result<Memory<T>>(Status(ESP_ERR_NO_MEMORY, error()));
    return Memory<T>(job_, std::span<T>(static_cast<T*>(memory), count));
  }

  std::vector<esp_counter_value> counters() const {
    std::vector<esp_counter_value> values(esp_counters(job_, nullptr, 0));
    values.resize(std::min(values.size(), esp_counters(job_, values.data(), values.size())));
    return values;
  }
  // A report for people: configuration, topology, and which path is used to whom and why.
  std::string describe() const {
    std::string text(esp_job_describe(job_, nullptr, 0), '\0');
    text.resize(std::min(text.size(), esp_job_describe(job_, text.data(), text.size())));
    while (!text.empty() && text.back() == '\0') text.pop_back();  // the C text's end
    return text;
  }
  Status write_trace(const std::string& path) const noexcept {
    const esp_status status = esp_trace_write(job_, path.c_str());
    return status == ESP_OK ? Status() : Status(status, error());
  }

 private:
  esp_job* job_;
};

}  // namespace esp

#endif  // ESPALIER_CPP_JOB_HPP
