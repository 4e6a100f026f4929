// The report of a job, through the public API alone.
#include <fmt/format.h>

#include <cstdio>

#include "espalier/espalier.h"
#include "tools/esp-info/commands.hpp"

namespace esp_info {
namespace {

std::string description_of(const esp_job* job) {
  char nothing = '\0';
  std::string text(esp_job_describe(job, &nothing, sizeof nothing), '\0');
  esp_job_describe(job, text.data(), text.size());
  text.resize(text.find('\0'));
  return text;
}

// Word to every other rank and back, so that the report can show over which connection. Of whom
// there is none the report says why.
void meet_everybody(esp_job* job, int printing_rank) {
  esp_team* world = esp_job_world(job);
  const bool prints = esp_job_rank(job) == printing_rank;
  char word = 0;
  for (int peer = 0; prints && peer < esp_job_size(job); ++peer) {
    if (peer == printing_rank) continue;
    if (esp_send(world, &word, sizeof word, peer, 0) != ESP_OK) continue;
    (void)esp_recv(world, &word, sizeof word, peer, 0);
  }
  if (prints || esp_recv(world, &word, sizeof word, printing_rank, 0) != ESP_OK) return;
  (void)esp_send(world, &word, sizeof word, printing_rank, 0);
}

// One rank after the other, so that reports do not mix.
esp_status print_reports(esp_job* job, bool every_rank) {
  const int printing_ranks = every_rank ? esp_job_size(job) : 1;
  for (int rank = 0; rank < printing_ranks; ++rank) {
    meet_everybody(job, rank);
    if (rank == esp_job_rank(job)) {
      fmt::print("{}\n", description_of(job));
      std::fflush(stdout);
    }
    const esp_status status = esp_barrier(esp_job_world(job));
    if (status != ESP_OK) return status;
  }
  return ESP_OK;
}

}  // namespace

int show_job(bool every_rank) {
  char explanation[1024] = "";
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.error_text = explanation;
  options.error_text_bytes = sizeof explanation;
  esp_job* job = nullptr;
  const esp_status started = esp_job_init(&options, &job);
  if (started != ESP_OK) {
    return fail(explanation[0] != '\0' ? explanation : esp_status_text(started));
  }
  const esp_status printed = print_reports(job, every_rank);
  if (printed != ESP_OK) fail(fmt::format("{}: {}", esp_status_text(printed), esp_job_error(job)));
  const esp_status ended = esp_job_finalize(job);
  if (ended != ESP_OK) fail(esp_status_text(ended));
  return printed == ESP_OK && ended == ESP_OK ? 0 : 1;
}

}  // namespace esp_info
