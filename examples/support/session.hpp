// The jobs of a program that compares who drives progress: the caller, or a thread of the library.
//
// One process is in both jobs, as the same rank. The first is the launcher's; the second, made when
// it is first asked for, finds its ranks through the first. Programs use one of them at a time.
// Failures end all processes of the job, with the reason. path: setup
#pragma once

#include <espalier/espalier.hpp>
#include <optional>
#include <string>

namespace examples {

class Session {
 public:
  // `program`: how its messages begin.
  Session(std::string program, esp::Job job) : program_(std::move(program)), own_(std::move(job)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return own_.rank(); }
  int size() const { return own_.size(); }
  // The caller drives progress (ESP_THREAD_OWNER).
  const esp::Job& own() const { return own_; }
  // A thread of the library does (ESP_THREAD_PROGRESS). Collective when it is first called.
  const esp::Job& threaded();

  // Collective. Whether any rank has something to complain of (not ""); the lowest of them says it.
  bool any_complains(const std::string& complaint) const;
  // Collective, at the end; false when something went wrong after all.
  bool finalize();
  // Does not return.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string program_;
  esp::Job own_;
  esp_bootstrap bootstrap_{};
  std::optional<esp::Job> threaded_;
};

// Any thread: ends the whole job with the library's explanation unless `status` is ESP_OK.
void require(esp_team* team, esp_status status, const char* what);

}  // namespace examples
