// A question to all daemons of a job, what its ranks do, and what has come of it so far.
//
// Pure bookkeeping of the root. Daemons that do not answer in time are named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "poll_set.hpp"
#include "rank_report.hpp"

namespace esp_run {

class Inquiry {
 public:
  // Ends the job when it is over, or lets it go on.
  enum class Then { kGoOn, kEndJob };

  bool is_open() const { return is_open_; }
  std::uint64_t id() const { return id_; }
  Then then() const { return then_; }
  Deadline deadline() const { return is_open_ ? deadline_ : Deadline(); }
  // `nodes`: that can be asked. One that is open already is for both.
  void open(const std::vector<int>& nodes, Then then, Clock::duration limit);
  void answer(int node, std::uint64_t id, std::string_view payload);
  // It will not answer any more.
  void lose(int node);
  bool is_complete() const { return open_nodes_.empty(); }
  // What there is to say, without the first words; closes it.
  std::string take();

 private:
  bool is_open_ = false;
  std::uint64_t id_ = 0;
  Then then_ = Then::kGoOn;
  Deadline deadline_;
  std::vector<int> open_nodes_;
  std::vector<RankReport> reports_;
};

}  // namespace esp_run
