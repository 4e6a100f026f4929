// ESPALIER_TRACE=FILE: the traces of the ranks, FILE.0, FILE.1 and so on, become FILE.
//
// A path that cannot be written is told before anything starts, and once. Ranks truncate their
// files when they join, so that what is joined is of this job. path: setup
#pragma once

#include <string>
#include <vector>

namespace esp_run {

class Traces {
 public:
  // From the environment, in which FILE becomes an absolute path: ranks may start in another
  // folder. Throws LaunchError where FILE cannot be made.
  explicit Traces(int ranks);

  // All ranks have ended. Says what there is, or is not.
  void join() const;

 private:
  std::string rank_file(int rank) const;
  // To a file beside it, which takes its place.
  bool join_all(std::vector<int>& missing) const;

  std::string path_;     // empty: off
  bool is_new_ = false;  // there was nothing before
  int ranks_;
};

}  // namespace esp_run
