// esp_job_describe: what was decided, and why.
// path: slow
#include <fmt/format.h>

#include "bootstrap/job.hpp"
#include "core/datatype.hpp"

namespace espalier {
namespace {

template <typename... Args>
void add(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  text += fmt::format(format, std::forward<Args>(args)...) + "\n";
}

std::string pull_threshold_text(const esp_job& job) {
  const std::uint64_t bytes = job.config.cma_threshold_bytes;
  return bytes == 0 ? shm::explain(job.segment->header().path_choice)
                    : fmt::format("flows of {} bytes (CMA_THRESHOLD_BYTES)", bytes);
}

}  // namespace

std::string describe(const esp_job& job) {
  std::string text;
  add(text, "espalier {}.{}.{}", ESP_VERSION_MAJOR, ESP_VERSION_MINOR, ESP_VERSION_PATCH);
  add(text, "job          {}", job.bootstrap->job_id());
  add(text, "bootstrap    {}", job.bootstrap->name());
  const std::string node = job.bootstrap->node_name();
  add(text, "rank         {} of {} on {}{}", job.rank, job.size,
      job.cards[static_cast<std::size_t>(job.rank)].host,
      node.empty() ? "" : fmt::format(" (node {})", node));
  add(text, "cpus         {} for {} ranks of this machine: a waiting rank {}", job.usable_cpus,
      job.locals.size(),
      static_cast<int>(job.locals.size()) > job.usable_cpus ? "gives its core away at once"
                                                            : "looks for a while before it sleeps");
  add(text, "progress     {}", job.threaded ? "a thread of the library" : "the calling thread");
  add(text, "doorbell     futex, {}",
      job.doorbell->asymmetric() ? "publishers pay no fence (membarrier)"
                                 : "publishers pay a fence (no membarrier on some rank)");
  add(text, "short path   {}",
      job.any_threaded ? "off: some rank has a progress thread"
                       : fmt::format("up to {} bytes", job.config.short_bytes));
  add(text, "arena        {} KiB per rank, segments of at most {} KiB",
      job.config.shm_arena_bytes >> 10, job.shm_wire->caps(job.rank).segment_bytes >> 10);
  add(text, "heap         {} KiB of {} KiB in use (esp_alloc)", job.heap->used() >> 10,
      job.config.heap_bytes >> 10);
  add(text, "CMA          {}", job.pull_text);
  if (job.config.cma != CmaMode::kOff) add(text, "CMA from     {}", pull_threshold_text(job));
  add(text, "kernels      {}", isa_name(job.config.isa));
  add(text, "peers");
  for (const Rank r : job.locals) {
    const Card& card = job.cards[static_cast<std::size_t>(r)];
    const auto local = job.shm_wire->local(r);
    const bool pull =
        job.segment->rank_block(job.local_index).may_pull[local].load(std::memory_order_relaxed) ==
        static_cast<std::uint8_t>(shm::PullAccess::kYes);
    add(text, "  rank {:<4} pid {:<8} shared memory (same machine){}{}", r, card.pid,
        pull ? ", CMA" : ", no CMA", r == job.rank ? "  <- this rank" : "");
  }
  return text;
}

}  // namespace espalier
