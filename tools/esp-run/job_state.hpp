// Which ranks still run, which failed first, and what that makes of the job's exit code.
//
// Pure bookkeeping of the root, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"

namespace esp_run {

struct RankEnd {
  int wait_status = 0;  // As from waitpid.
  RankLeft left = RankLeft::kProperly;

  bool is_failure() const { return wait_status != 0 || left == RankLeft::kWithoutFinalize; }
  int exit_code() const;
  DeathKind death_kind() const;
  // "exited with code 3", "was killed by signal 9 (Killed)", ...
  std::string text() const;
};

// "0-2, 5" of sorted ranks.
std::string ranks_text(const std::vector<int>& ranks);

class JobState {
 public:
  explicit JobState(int ranks) : has_ended_(static_cast<std::size_t>(ranks)) {}

  bool is_running(int rank) const { return !has_ended_.at(static_cast<std::size_t>(rank)); }
  bool all_ended() const { return ended_count_ == has_ended_.size(); }
  std::vector<int> running_ranks() const;

  // False when that was known already, or there is no such rank.
  bool rank_ended(int rank, const RankEnd& end);
  // The job's code unless another one came before.
  void fail_with(int exit_code);
  // Overrides what ranks say, e.g. because a time limit ended them.
  void force_exit_code(int exit_code) { forced_ = exit_code; }
  int exit_code() const { return forced_.value_or(first_failure_.value_or(0)); }

 private:
  std::vector<bool> has_ended_;
  std::size_t ended_count_ = 0;
  std::optional<int> first_failure_;
  std::optional<int> forced_;
};

}  // namespace esp_run
