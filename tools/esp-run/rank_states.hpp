// What the ranks of a node do: the daemon's side of core/rank_state.hpp.
//
// A rank in a long wait answers within a tenth of a second. Others cannot, and are told from each
// other by what they have written down and by the state of their process. Where memory files are
// refused, the latter is all.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"
#include "core/rank_state.hpp"
#include "poll_set.hpp"
#include "rank_report.hpp"

namespace esp_run {

class RankStates {
 public:
  struct Process {
    int rank;
    std::size_t index;  // on this node
    pid_t pid;          // of what was started, which may be a script
    pid_t inside = 0;   // the rank itself, where that is in another PID namespace
  };

  explicit RankStates(std::size_t ranks);
  ~RankStates();
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  int fd() const { return file_.fd(); }
  // For the environment of the rank, which finds the file at `descriptor`.
  std::string variable(std::size_t index, int descriptor) const;

  // One question at a time; what comes meanwhile is part of it.
  void ask(std::vector<Process> processes);
  bool is_asking() const { return is_asking_; }
  // When to look whether all have answered that will.
  Deadline next_look() const;
  bool is_over();
  // Of those that are asked, in the order of their reports; of the ranks themselves, where known.
  std::vector<pid_t> asked_processes() const;
  // Ends the question.
  std::vector<RankReport> take();

 private:
  void find_namespaced();
  pid_t process_of(const Process& process) const;
  const espalier::RankStatePage* page(std::size_t index) const;
  bool is_settled(const Process& process) const;
  bool has_answered(const espalier::RankStatePage& page) const;
  bool polls(const espalier::RankStatePage& page) const;
  RankReport report(const Process& process) const;
  void add_answer(RankReport& report, const espalier::RankStatePage& page) const;
  void describe_silent(RankReport& report, const espalier::RankStatePage& page, char letter) const;

  espalier::Descriptor file_;
  std::byte* memory_ = nullptr;  // nullptr: there is none
  std::size_t page_bytes_ = 0, ranks_ = 0;
  std::uint64_t nonce_ = 0;
  std::vector<Process> asked_;
  std::uint32_t question_ = 0;
  std::uint64_t asked_ns_ = 0;
  bool is_asking_ = false;
};

}  // namespace esp_run
