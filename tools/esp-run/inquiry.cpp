#include "inquiry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "job_state.hpp"

namespace esp_run {

void Inquiry::open(const std::vector<int>& nodes, Then then, Clock::duration limit) {
  if (then == Then::kEndJob) then_ = then;
  if (is_open_) return;
  is_open_ = true;
  ++id_;
  then_ = then;
  open_nodes_ = nodes;
  deadline_ = Clock::now() + limit;
  reports_.clear();
}

void Inquiry::answer(int node, std::uint64_t id, std::string_view payload) {
  if (!is_open_ || id != id_) return;
  std::vector<RankReport> more = unpack_reports(payload);
  std::move(more.begin(), more.end(), std::back_inserter(reports_));
  lose(node);
}

void Inquiry::lose(int node) {
  std::erase(open_nodes_, node);
}

std::string Inquiry::take() {
  is_open_ = false;
  std::string text = reports_text(reports_);
  const bool has_stacks =
      std::any_of(reports_.begin(), reports_.end(),
                  [](const RankReport& report) { return !report.stack.empty(); });
  if (has_stacks) text += stacks_text(reports_);
  if (!open_nodes_.empty()) {
    text += fmt::format("\n  no answer from the daemon{} of node{} {}",
                        open_nodes_.size() == 1 ? "" : "s", open_nodes_.size() == 1 ? "" : "s",
                        ranks_text(open_nodes_));
  }
  return text;
}

}  // namespace esp_run
