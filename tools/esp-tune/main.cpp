// esp-tune: measures what is the fastest way of each collective here, and writes it into a profile.
//
//   esp-run -n 8 esp-tune
//
// Exit codes: 0 measured, or nothing was left to measure; 1 a failure of the job or of writing;
// 2 wrong options, or a profile that cannot be read. path: setup
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "tools/esp-tune/tuner.hpp"
#include "tools/esp-tune/whole_file.hpp"

namespace {

// The rules are measured as they are without anybody's wishes and without an older profile. Teams
// of some ranks let the others wait.
constexpr const char* kSettings[] = {"TUNING=off",      "EXPLAIN=0",       "ALGORITHM=auto",
                                     "SHAPE=auto",      "RADIX=0",         "VARIANT=event",
                                     "SEGMENT_BYTES=0", "WINDOW_SEND=0",   "WINDOW_RECV=0",
                                     "LEVEL_SHAPES=",   "STALL_WARNING=0", nullptr};

// One process of a job talks about options; by the launcher's number, because there is no job yet.
bool is_first() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::string(rank) == "0";
  }
  return true;
}

int fail(const std::string& text, int code) {
  fmt::print(stderr, "esp-tune: {}\n", text);
  return code;
}

// What the job cannot do; empty: nothing.
std::string misfit(int size, const esp_tune::Options& options) {
  if (size == 1) {
    return "one rank alone has nothing to choose: start it under a launcher, as in "
           "`esp-run -n 8 esp-tune`";
  }
  if (options.ranks.empty() || options.ranks.back() <= size) return {};
  return fmt::format("--ranks: {} are more than the job's {}", options.ranks.back(), size);
}

int run(const esp_tune::Options& options) {
  char explanation[1024] = "";
  esp_job_options job_options = ESP_JOB_OPTIONS_INIT;
  job_options.settings = kSettings;
  job_options.error_text = explanation;
  job_options.error_text_bytes = sizeof explanation;
  esp_job* job = nullptr;
  const esp_status started = esp_job_init(&job_options, &job);
  if (started != ESP_OK) {
    return fail(explanation[0] != '\0' ? explanation : esp_status_text(started), 1);
  }
  int code = 2;
  if (const std::string why = misfit(esp_job_size(job), options); !why.empty()) {
    if (esp_job_rank(job) == 0) fail(why, 2);
  } else {
    code = esp_tune::tune(job, options);
  }
  const esp_status ended = esp_job_finalize(job);
  return ended == ESP_OK ? code : fail(esp_status_text(ended), 1);
}

}  // namespace

int main(int argc, char** argv) try {
  esp_tune::clean_up_when_interrupted();
  return run(esp_tune::parse_options(argc, argv, is_first()));
} catch (const std::exception& exception) {
  return fail(exception.what(), 1);
}
