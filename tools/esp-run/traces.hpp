// ESPALIER_TRACE=FILE: the traces of the ranks, FILE.0, FILE.1 and so on, become FILE.
//
// A path that cannot be written is told before anything starts, and once. Ranks truncate their
// files when they join, so that what is joined is of this job. path: setup
#pragma once

#include <string>
#include <vector>

#include "job_plan.hpp"

namespace esp_run {

class Traces {
 public:
  // Of each program, as -x or the launcher's environment has it. FILE becomes an absolute path for
  // the ranks: they may start in another folder. Throws LaunchError where a FILE cannot be made.
  explicit Traces(JobPlan& plan);

  // All ranks have ended. Says what there is, or is not.
  void join() const;

 private:
  struct File {
    std::string path;
    bool is_new = false;     // there was nothing before
    std::vector<int> ranks;  // ascending
    std::string of_rank(int rank) const;
  };

  // The one with this path; made when it is first asked for.
  File& file_at(const std::string& path);
  static void join(const File& file);
  // To a file beside it, which takes its place.
  static bool join_all(const File& file, std::vector<int>& missing);

  std::vector<File> files_;
};

}  // namespace esp_run
