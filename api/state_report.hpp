// StateReport: answers the launcher that asks what this rank waits for (core/rank_state.hpp).
//
// Stands before the watchdog of the teams, and so looks whenever a wait, or somebody who polls,
// does. The answer is lines: "asleep" or "awake" (in a wait), "polls", or "thread" (the progress
// thread answers, whatever the program's own threads do), then one "WAITED_NS<tab>TEXT" for each
// thing that is under way.
//
// Ownership: borrows the job's parts. Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <string>

#include "coll/team/watch.hpp"
#include "core/rank_state.hpp"

struct esp_job;

namespace espalier {

class StateReport final : public Watchdog {
 public:
  StateReport(esp_job& job, TeamWatch& teams) noexcept : job_(job), teams_(teams) {}
  void look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept override;
  // Of a caller that does not wait, but polls.
  void look_of_poller(std::uint64_t since_ns, std::uint64_t now_ns) noexcept;

 private:
  std::string text(const char* how, std::uint64_t since_ns, std::uint64_t now_ns);

  esp_job& job_;
  TeamWatch& teams_;
  std::uint64_t parks_ = 0;  // at the last look
};

// The state of this process where its launcher keeps one; else nullptr. Once per process.
std::unique_ptr<RankState> open_rank_state(const Log& log);

}  // namespace espalier
