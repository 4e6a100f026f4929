#include "traces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/config.hpp"
#include "core/trace_export.hpp"
#include "exit_codes.hpp"
#include "job_state.hpp"
#include "say.hpp"
#include "unique_fd.hpp"

namespace esp_run {
namespace {

constexpr const char* kVariable = "ESPALIER_TRACE";

// Of a rank that never came to the end of its job.
bool is_empty(const std::string& path) {
  std::error_code failure;
  return std::filesystem::file_size(path, failure) == 0 && !failure;
}

}  // namespace

Traces::Traces(int ranks) : ranks_(ranks) {
  const char* setting = std::getenv(kVariable);
  const auto wanted = espalier::parse_trace(setting != nullptr ? setting : "off");
  if (!wanted || wanted->file.empty()) return;  // What is wrong with it the ranks say.
  path_ = std::filesystem::absolute(wanted->file);
  is_new_ = access(path_.c_str(), F_OK) != 0;
  const UniqueFd file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) fail_with_errno(fmt::format("{}: cannot write {}", kVariable, path_));
  setenv(kVariable, path_.c_str(), 1);
}

std::string Traces::rank_file(int rank) const {
  return fmt::format("{}.{}", path_, rank);
}

bool Traces::join_all(std::vector<int>& missing) const {
  const std::string beside = path_ + ".joining";
  auto joined = espalier::TraceJoin::create(beside);
  if (!joined) {
    say("{}: {}", kVariable, joined.error().text);
    return false;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!joined->add(rank_file(rank))) missing.push_back(rank);
  }
  const auto done = joined->finish();
  const bool has_any = missing.size() < static_cast<std::size_t>(ranks_);
  if (done && has_any && rename(beside.c_str(), path_.c_str()) == 0) return true;
  if (!done) {
    say("{}: {}; the files of the ranks stay", kVariable, done.error().text);
  } else if (has_any) {
    say("{}: cannot write {}: {}", kVariable, path_, std::strerror(errno));
  }
  unlink(beside.c_str());
  return done.ok() && !has_any;
}

void Traces::join() const {
  if (path_.empty()) return;
  std::vector<int> missing;
  if (!join_all(missing)) return;
  std::size_t next = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool is_missing = next < missing.size() && missing[next] == rank;
    if (is_missing) ++next;
    // What is not a trace may be somebody's.
    if (!is_missing || is_empty(rank_file(rank))) unlink(rank_file(rank).c_str());
  }
  const std::size_t found = static_cast<std::size_t>(ranks_) - missing.size();
  if (found == 0) {
    if (is_new_) unlink(path_.c_str());
    return say("{}: no rank has left a trace", kVariable);
  }
  say("the trace of {} rank{} is in {} (for https://ui.perfetto.dev){}{}", found,
      found == 1 ? "" : "s", path_, missing.empty() ? "" : "; without rank ", ranks_text(missing));
}

}  // namespace esp_run
