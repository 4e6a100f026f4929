#include "session.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace examples {
namespace {

constexpr int kFailure = 1;

int allgather(void* context, const void* mine, std::size_t bytes, void* all) {
  const auto* job = static_cast<const esp::Job*>(context);
  return esp_allgather(job->world().get(), mine, all, bytes, ESP_BYTE) == ESP_OK ? 0 : 1;
}

void abort(void* context, int exit_code, const char* message) {
  static_cast<const esp::Job*>(context)->abort(exit_code, message);
}

}  // namespace

const esp::Job& Session::threaded() {
  if (threaded_.has_value()) return *threaded_;
  bootstrap_ = {&own_, rank(), size(), allgather, abort};
  auto job = esp::Job::init({.bootstrap = &bootstrap_, .thread_mode = ESP_THREAD_PROGRESS});
  if (!job.ok()) fail("cannot make a job with a thread: " + job.error().text);
  return threaded_.emplace(std::move(job).value());
}

bool Session::any_complains(const std::string& complaint) const {
  std::array first{complaint.empty() ? size() : rank()};
  own_.world().allreduce_in_place(first, esp::kMin).check();
  if (first[0] == rank()) {
    fmt::print(stderr, "{}: {}\n", program_, complaint);
    std::fflush(stderr);
  }
  return first[0] < size();
}

bool Session::finalize() {
  const bool sound = !threaded_.has_value() || threaded_->finalize().ok();
  threaded_.reset();
  return own_.finalize().ok() && sound;
}

void Session::fail(const std::string& reason) const {
  const std::string message = fmt::format("{}: rank {}: {}", program_, rank(), reason);
  fmt::print(stderr, "{}\n", message);
  std::fflush(nullptr);
  own_.abort(kFailure, message.c_str());
}

void require(esp_team* team, esp_status status, const char* what) {
  if (status == ESP_OK) return;
  std::string reason = esp_team_error(team);
  if (reason.empty()) reason = esp_status_text(status);
  const std::string message = fmt::format("rank {}: {}: {}", esp_team_rank(team), what, reason);
  fmt::print(stderr, "{}\n", message);
  std::fflush(nullptr);
  esp_abort(esp_team_job(team), kFailure, message.c_str());
  std::abort();
}

}  // namespace examples
