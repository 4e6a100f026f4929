#include "api/setting_warnings.hpp"

#include "core/host.hpp"
#include "core/said_warnings.hpp"

namespace espalier {
namespace {

bool speaks_for_node(const esp_job& job) noexcept {
  return job.bootstrap == nullptr || job.bootstrap->node_rank() == 0;
}

std::uint64_t digest(const esp_job& job) {
  return hash_text(warnings_digest(job.config.warnings));
}

void say(const esp_job& job, const Log& log) {
  for (const std::string& warning : job.config.warnings) log.warn("{}", warning);
}

}  // namespace

void say_warnings_for_node(const esp_job& job) {
  if (speaks_for_node(job)) say(job, Log(job.config.log_level));
}

void note_warnings(const esp_job& job, shm::Header& header) {
  header.warnings.store(digest(job), std::memory_order_relaxed);
}

void say_differing_warnings(const esp_job& job) {
  const std::uint64_t said = job.segment->header().warnings.load(std::memory_order_relaxed);
  if (!speaks_for_node(job) && said != digest(job)) say(job, job.log);
}

}  // namespace espalier
