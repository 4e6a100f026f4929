#include "esp-bench/block_layout.hpp"

namespace espalier::bench {
namespace {

std::vector<int> extents_of(int ranks) {
  int rows = 1;
  for (int n = 2; n * n <= ranks; ++n) {
    if (ranks % n == 0) rows = n;
  }
  if (rows == 1) return {ranks};
  return {rows, ranks / rows};
}

// In dimension d the lower, then the upper one.
std::vector<int> neighbors_of(int rank, const std::vector<int>& extents) {
  const int columns = extents.back();
  const int row = rank / columns, column = rank % columns;
  const auto along = [&](int step) { return row * columns + (column + step + columns) % columns; };
  if (extents.size() == 1) return {along(-1), along(1)};
  const int rows = extents.front();
  const auto across = [&](int step) { return (row + step + rows) % rows * columns + column; };
  return {across(-1), across(1), along(-1), along(1)};
}

}  // namespace

BlockLayout::BlockLayout(OpKind kind, int rank, int ranks, std::size_t floats)
    : kind_(kind), rank_(rank), ranks_(ranks), floats_(floats) {
  if (!has_neighbors(kind)) return;
  extents_ = extents_of(ranks);
  neighbors_ = neighbors_of(rank, extents_);
}

std::size_t BlockLayout::inputs() const {
  if (kind_ == OpKind::kNeighborAlltoall) return neighbors_.size();
  const bool for_each = kind_ >= OpKind::kAlltoall && kind_ <= OpKind::kReduceScatterSkewed;
  return for_each ? static_cast<std::size_t>(ranks_) : 1;
}

std::size_t BlockLayout::outputs() const {
  if (has_neighbors(kind_)) return neighbors_.size();
  const bool of_each = kind_ >= OpKind::kAllgather && kind_ <= OpKind::kAlltoallw;
  return of_each ? static_cast<std::size_t>(ranks_) : 1;
}

std::size_t BlockLayout::between(int from, int to) const {
  const int last = ranks_ - 1;
  switch (kind_) {
    case OpKind::kAllgatherv:
      return from == last ? 0 : floats_;
    case OpKind::kGatherv:
      return from == 0 ? 0 : floats_;
    case OpKind::kScatterv:
      return to == 0 ? 0 : floats_;
    case OpKind::kAlltoallv:
    case OpKind::kAlltoallw:
      return (from + to) % ranks_ == 0 ? 0 : floats_;
    case OpKind::kReduceScatter:
      return to == last ? floats_ - 1 : floats_;
    case OpKind::kAllgathervSkewed:
    case OpKind::kGathervSkewed:
    case OpKind::kAlltoallvSkewed:
      return from == last ? floats_ : 1;
    case OpKind::kReduceScatterSkewed:
      return to == last ? floats_ : 1;
    default:
      return floats_;
  }
}

BlockLayout::Origin BlockLayout::origin(std::size_t i, int root) const {
  const int block = static_cast<int>(i);
  if (is_scatter(kind_)) return {root, rank_};
  // What a lower neighbour sends is its block for the upper one.
  if (kind_ == OpKind::kNeighborAlltoall) return {neighbors_[i], block ^ 1};
  if (kind_ == OpKind::kNeighborAllgather) return {neighbors_[i], 0};
  return {block, inputs() == 1 ? 0 : rank_};
}

}  // namespace espalier::bench
