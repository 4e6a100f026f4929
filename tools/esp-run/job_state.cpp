#include "job_state.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

#include "exit_codes.hpp"

namespace esp_run {

int RankEnd::exit_code() const {
  if (WIFSIGNALED(wait_status)) return kSignalBase + WTERMSIG(wait_status);
  if (WEXITSTATUS(wait_status) != 0) return WEXITSTATUS(wait_status);
  return left == RankLeft::kWithoutFinalize ? 1 : 0;
}

DeathKind RankEnd::death_kind() const {
  if (WIFSIGNALED(wait_status)) return DeathKind::kKilled;
  return WEXITSTATUS(wait_status) != 0 ? DeathKind::kFailed : DeathKind::kWithoutFinalize;
}

std::string RankEnd::text() const {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  if (WEXITSTATUS(wait_status) != 0) {
    return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
  }
  return left == RankLeft::kWithoutFinalize
             ? "exited with code 0 without leaving the job (no finalize)"
             : "exited with code 0";
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> JobState::running_ranks() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < has_ended_.size(); ++rank) {
    if (!has_ended_[rank]) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

bool JobState::rank_ended(int rank, const RankEnd& end) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= has_ended_.size() || has_ended_[index]) return false;
  has_ended_[index] = true;
  ++ended_count_;
  if (end.is_failure()) fail_with(end.exit_code());
  return true;
}

void JobState::fail_with(int exit_code) {
  if (!first_failure_) first_failure_ = exit_code;
}

}  // namespace esp_run
