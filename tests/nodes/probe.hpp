// What the programs of this folder share: a rank, and expectations of it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "espalier/espalier.h"

struct Rank {
  esp_job* job = nullptr;
  esp_team* world = nullptr;
  int rank = 0, size = 0;
};

[[noreturn]] inline void bad(const Rank& r, const std::string& what) {
  std::printf("BAD rank %d: %s [%s]\n", r.rank, what.c_str(), r.job ? esp_job_error(r.job) : "");
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(const Rank& r, bool condition, const std::string& what) {
  if (!condition) bad(r, what);
}

// Ends the process where there is no job.
inline Rank join(const esp_job_options* options = nullptr) {
  Rank r;
  if (esp_job_init(options, &r.job) != ESP_OK) bad(r, "no job");
  r.world = esp_job_world(r.job);
  r.rank = esp_job_rank(r.job);
  r.size = esp_job_size(r.job);
  return r;
}

inline std::uint64_t counter(const Rank& r, const char* name) {
  std::vector<esp_counter_value> values(esp_counters(r.job, nullptr, 0));
  esp_counters(r.job, values.data(), values.size());
  for (const esp_counter_value& value : values) {
    if (std::strcmp(value.name, name) == 0) return value.value;
  }
  bad(r, std::string("no counter ") + name);
}
