#include "traces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/config.hpp"
#include "core/descriptor.hpp"
#include "core/trace_export.hpp"
#include "exit_codes.hpp"
#include "job_state.hpp"
#include "say.hpp"

namespace esp_run {
namespace {

constexpr const char* kVariable = "ESPALIER_TRACE";

// Of a rank that never came to the end of its job.
bool is_empty(const std::string& path) {
  std::error_code failure;
  return std::filesystem::file_size(path, failure) == 0 && !failure;
}

}  // namespace

Traces::Traces(JobPlan& plan) {
  for (std::size_t program = 0; program < plan.options.programs.size(); ++program) {
    Program& told = plan.options.programs[program];
    const auto wanted = espalier::parse_trace(value_for(told, kVariable).value_or("off"));
    if (!wanted || wanted->file.empty()) continue;  // What is wrong with it the ranks say.
    File& file = file_at(std::filesystem::absolute(wanted->file));
    told.variables.push_back(fmt::format("{}={}", kVariable, file.path));
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      if (plan.program_of(rank) == static_cast<int>(program)) file.ranks.push_back(rank);
    }
  }
}

Traces::File& Traces::file_at(const std::string& path) {
  const auto known = std::ranges::find(files_, path, &File::path);
  if (known != files_.end()) return *known;
  File& file = files_.emplace_back();
  file.path = path;
  file.is_new = access(path.c_str(), F_OK) != 0;
  const espalier::Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!made.is_open()) fail_with_errno(fmt::format("{}: cannot write {}", kVariable, path));
  return file;
}

std::string Traces::File::of_rank(int rank) const {
  return fmt::format("{}.{}", path, rank);
}

bool Traces::join_all(const File& file, std::vector<int>& missing) {
  const std::string beside = file.path + ".joining";
  auto joined = espalier::TraceJoin::create(beside);
  if (!joined) {
    say("{}: {}", kVariable, joined.error().text);
    return false;
  }
  for (const int rank : file.ranks) {
    if (!joined->add(file.of_rank(rank))) missing.push_back(rank);
  }
  const auto done = joined->finish();
  const bool has_any = missing.size() < file.ranks.size();
  if (done && has_any && rename(beside.c_str(), file.path.c_str()) == 0) return true;
  if (!done) {
    say("{}: {}; the files of the ranks stay", kVariable, done.error().text);
  } else if (has_any) {
    say("{}: cannot write {}: {}", kVariable, file.path, std::strerror(errno));
  }
  unlink(beside.c_str());
  return done.ok() && !has_any;
}

void Traces::join(const File& file) {
  std::vector<int> missing;
  if (!join_all(file, missing)) return;
  for (const int rank : file.ranks) {
    const bool is_missing = std::ranges::binary_search(missing, rank);
    // What is not a trace may be somebody's.
    if (!is_missing || is_empty(file.of_rank(rank))) unlink(file.of_rank(rank).c_str());
  }
  const std::size_t found = file.ranks.size() - missing.size();
  if (found == 0) {
    if (file.is_new) unlink(file.path.c_str());
    return say("{}: no rank has left a trace", kVariable);
  }
  say("the trace of {} rank{} is in {} (for https://ui.perfetto.dev){}{}", found,
      found == 1 ? "" : "s", file.path, missing.empty() ? "" : "; without rank ",
      ranks_text(missing));
}

void Traces::join() const {
  for (const File& file : files_) join(file);
}

}  // namespace esp_run
