#include "threads/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace espalier::bench {

Job::Job(Mode mode) {
  char text[512] = {};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.thread_mode = mode == Mode::kProgress ? ESP_THREAD_PROGRESS : ESP_THREAD_OWNER;
  // What is called the owner's is the owner's, whatever the environment says.
  const char* const settings[] = {
      mode == Mode::kProgress ? "PROGRESS_THREAD=on" : "PROGRESS_THREAD=off", nullptr};
  options.settings = settings;
  options.error_text = text;
  options.error_text_bytes = sizeof text;
  const esp_status status = esp_job_init(&options, &job_);
  if (status == ESP_OK) return;
  throw std::runtime_error(std::string("cannot join the job: ") +
                           (text[0] != '\0' ? text : esp_status_text(status)));
}

Job::~Job() {
  esp_job_finalize(job_);
}

void Job::fail(esp_status status) const {
  const std::string text = fmt::format("esp-threads: rank {}: {}: {}\n", rank(),
                                       esp_status_text(status), esp_team_error(world()));
  std::fputs(text.c_str(), stderr);
  esp_abort(job_, 1, text.c_str());
  std::abort();  // not reached
}

void Job::mean_over_ranks(std::vector<double>& values) const {
  must(esp_allreduce(world(), ESP_IN_PLACE, values.data(), values.size(), ESP_DOUBLE, ESP_SUM));
  for (double& value : values) value /= size();
}

double Job::most(double value) const {
  must(esp_allreduce(world(), ESP_IN_PLACE, &value, 1, ESP_DOUBLE, ESP_MAX));
  return value;
}

double Job::sum(double value) const {
  must(esp_allreduce(world(), ESP_IN_PLACE, &value, 1, ESP_DOUBLE, ESP_SUM));
  return value;
}

int Job::ranks_with(const std::string& text) const {
  const std::uint64_t mine = std::hash<std::string>()(text);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
  must(esp_allgather(world(), &mine, all.data(), 1, ESP_UINT64));
  return static_cast<int>(std::count(all.begin(), all.end(), mine));
}

std::string Job::path() const {
  if (size() == 1) return "alone";
  std::string text(esp_job_describe(job_, nullptr, 0), '\0');
  esp_job_describe(job_, text.data(), text.size());
  std::istringstream lines(text);
  const std::string peer = fmt::format("  rank {} ", size() - 1);
  std::string path = "unknown";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(peer)) continue;
    const auto on = line.find(" on ");
    const auto name = on == std::string::npos ? on : line.find_first_not_of(' ', on + 4);
    const auto space = name == std::string::npos ? name : line.find(' ', name);
    const auto begin = space == std::string::npos ? space : line.find_first_not_of(' ', space);
    if (begin != std::string::npos) path = line.substr(begin);
  }
  return path;
}

}  // namespace espalier::bench
