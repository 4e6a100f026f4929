// Why a rank could not become its program, told through a pipe between fork and exec.
//
// The children of a daemon share the pipe's write end, which exec closes. A record is written in
// one piece, and before its rank ends.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "job_plan.hpp"

namespace esp_run {

enum class StartStep : std::int32_t { kBind, kDirectory, kExecute };

struct StartFailure {
  std::int32_t rank = -1;
  StartStep step = StartStep::kExecute;
  std::int32_t error = 0;  // errno

  // A rank that cannot be bound runs all the same.
  bool is_final() const { return step != StartStep::kBind; }
  // What a child that cannot go on exits with.
  int exit_code() const;
};

// "cannot execute ./program: Exec format error (...)"
std::string text_of(const StartFailure& failure, const JobPlan& plan);

class StartFailures {
 public:
  StartFailures();
  int fd() const { return read_end_.fd(); }
  int write_end() const { return write_end_.fd(); }
  // What has been told since.
  std::vector<StartFailure> take();
  // In the child; async-signal-safe.
  static void tell(int write_end, const StartFailure& failure);

 private:
  espalier::Descriptor read_end_;
  espalier::Descriptor write_end_;
};

// The root's: what has been said of ranks that could not begin.
class StartFailureTexts {
 public:
  // False: of this program the same has been said.
  bool add(const StartFailure& failure, const JobPlan& plan);
  // Whether it has been said why this rank ended.
  bool explain_end_of(int rank) const { return ended_.contains(rank); }

 private:
  std::set<std::string> said_;
  std::set<int> ended_;
};

}  // namespace esp_run
