// Job: this process's membership in a job of the library, in one of its two modes.
//
// What fails ends all ranks: a measurement has nothing to go on with.
// Ownership: the job. Threads: must() any; else as the public API. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/espalier.h"

namespace espalier::bench {

enum class Mode {
  kOwner,     // the caller drives progress
  kProgress,  // a thread of the library does
};

class Job {
 public:
  explicit Job(Mode mode);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  esp_job* get() const { return job_; }
  esp_team* world() const { return esp_job_world(job_); }
  int rank() const { return esp_job_rank(job_); }
  int size() const { return esp_job_size(job_); }
  // Ends the job with an explanation unless the status is ESP_OK.
  void must(esp_status status) const {
    if (status != ESP_OK) [[unlikely]]
      fail(status);
  }

  // Collective, for what is not timed.
  void barrier() const { must(esp_barrier(world())); }
  void mean_over_ranks(std::vector<double>& values) const;
  double most(double value) const;
  double sum(double value) const;
  // How many ranks have the same text.
  int ranks_with(const std::string& text) const;
  // How rank 0 reaches the last rank, in the words of esp_job_describe.
  std::string path() const;

 private:
  [[noreturn]] void fail(esp_status status) const;

  esp_job* job_ = nullptr;
};

}  // namespace espalier::bench
