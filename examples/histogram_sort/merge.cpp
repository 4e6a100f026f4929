#include "merge.hpp"

#include <algorithm>
#include <utility>

namespace sorting {
namespace {

// A tournament of the heads of two or more runs, none empty: the leaves are nodes k to 2k - 1, each
// node above knows who lost there, and a new head plays against those on its way up alone. Ends
// with the first run that does, which is then empty.
Key* merge_until_one_ends(std::span<Run> runs, Key* out) {
  const std::size_t k = runs.size();
  std::vector<std::size_t> winners(2 * k), losers(k);
  std::vector<Key> heads;
  for (const Run& run : runs) heads.push_back(run.front());
  for (std::size_t i = 0; i < k; ++i) winners[k + i] = i;
  for (std::size_t node = k - 1; node > 0; --node) {
    const std::size_t a = winners[2 * node], b = winners[2 * node + 1];
    winners[node] = heads[b] < heads[a] ? b : a;
    losers[node] = heads[b] < heads[a] ? a : b;
  }
  std::size_t winner = winners[1];
  for (;;) {
    *out++ = heads[winner];
    runs[winner] = runs[winner].subspan(1);
    if (runs[winner].empty()) return out;
    heads[winner] = runs[winner].front();
    for (std::size_t node = (k + winner) / 2; node > 0; node /= 2) {
      if (heads[losers[node]] < heads[winner]) std::swap(losers[node], winner);
    }
  }
}

}  // namespace

void merge(std::span<const Run> runs, Key* out) {
  std::vector<Run> left(runs.begin(), runs.end());
  const auto drop_empty = [&] { std::erase_if(left, [](const Run& run) { return run.empty(); }); };
  for (drop_empty(); left.size() > 2; drop_empty()) out = merge_until_one_ends(left, out);
  if (left.size() == 2) {
    std::merge(left[0].begin(), left[0].end(), left[1].begin(), left[1].end(), out);
  } else if (left.size() == 1) {
    std::copy(left[0].begin(), left[0].end(), out);
  }
}

void GroupMerge::add(Run run) {
  waiting_.push_back(run);
  if (waiting_.size() < size_ || size_ == runs_) return;
  std::size_t count = 0;
  for (const Run& one : waiting_) count += one.size();
  memory_.push_back(std::make_unique_for_overwrite<Key[]>(count));
  merge(waiting_, memory_.back().get());
  merged_.emplace_back(memory_.back().get(), count);
  waiting_.clear();
}

void GroupMerge::finish(Key* out) {
  merged_.insert(merged_.end(), waiting_.begin(), waiting_.end());
  merge(merged_, out);
}

}  // namespace sorting
