// Operation: collectives whose buffers have a block for each rank, or for each neighbour, of
// `bytes` each (block_layout.hpp).
#include <algorithm>
#include <limits>
#include <vector>

#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

// As a new ring is.
bool is_untouched(const std::byte* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0xff}; });
}

}  // namespace

void Operation::set_blocks() {
  const auto ranks = static_cast<std::size_t>(backend_.size());
  const std::size_t floats = bytes_ / sizeof(float);
  // An alltoallw has displacements in bytes.
  const std::size_t elements = ranks * (kind_ == OpKind::kAlltoallw ? bytes_ : floats);
  if (elements > std::size_t{std::numeric_limits<int>::max()}) {
    refusal_ = "blocks of all ranks have more than 2^31 - 1 elements (MPI counts are int)";
    return;
  }
  std::vector<std::size_t> sent, received, displs;
  const int me = backend_.rank();
  for (int r = 0; r < backend_.size(); ++r) {
    sent.push_back(layout_.between(me, r));
    received.push_back(layout_.between(r, me));
    displs.push_back(static_cast<std::size_t>(r) * floats);
  }
  backend_.set_blocks(sent, received, displs);
  if (has_neighbors(kind_)) backend_.set_grid(layout_.extents());
}

void Operation::run_blocks(std::size_t calls) {
  const auto each = [&](auto call) {
    for (std::size_t i = 0; i < calls; ++i) call(input(i), output(i));
  };
  const std::size_t bytes = bytes_, count = bytes / sizeof(float);
  switch (kind_) {
    case OpKind::kAllgather:
      return each([&](auto in, auto out) { backend_.allgather(in, out, bytes); });
    case OpKind::kAllgatherv:
    case OpKind::kAllgathervSkewed:
      return each([&](auto in, auto out) { backend_.allgatherv(in, out); });
    case OpKind::kAlltoall:
      return each([&](auto in, auto out) { backend_.alltoall(in, out, bytes); });
    case OpKind::kAlltoallv:
    case OpKind::kAlltoallvSkewed:
      return each([&](auto in, auto out) { backend_.alltoallv(in, out); });
    case OpKind::kAlltoallw:
      return each([&](auto in, auto out) { backend_.alltoallw(in, out); });
    case OpKind::kReduceScatterBlock:
      return each([&](auto in, auto out) { backend_.reduce_scatter_block_sum(in, out, count); });
    case OpKind::kReduceScatter:
    case OpKind::kReduceScatterSkewed:
      return each([&](auto in, auto out) { backend_.reduce_scatter_sum(in, out); });
    case OpKind::kNeighborAllgather:
      return each([&](auto in, auto out) { backend_.neighbor_allgather(in, out, bytes); });
    case OpKind::kNeighborAlltoall:
      return each([&](auto in, auto out) { backend_.neighbor_alltoall(in, out, bytes); });
    default:
      return run_rooted_blocks(calls);
  }
}

void Operation::run_rooted_blocks(std::size_t calls) {
  const auto each = [&](auto call) {
    for (std::size_t i = 0; i < calls; ++i) call(input(i), output(i), root_of(i));
  };
  const std::size_t bytes = bytes_;
  switch (kind_) {
    case OpKind::kGather:
      return each([&](auto in, auto out, int root) { backend_.gather(in, out, bytes, root); });
    case OpKind::kScatter:
      return each([&](auto in, auto out, int root) { backend_.scatter(in, out, bytes, root); });
    case OpKind::kScatterv:
      return each([&](auto in, auto out, int root) { backend_.scatterv(in, out, root); });
    default:
      return each([&](auto in, auto out, int root) { backend_.gatherv(in, out, root); });
  }
}

void Operation::rewrite_blocks(std::size_t slot, unsigned round) {
  for (std::size_t i = 0; i < layout_.inputs(); ++i) {
    const int to = static_cast<int>(i), me = backend_.rank();
    const std::size_t floats =
        is_reduce_scatter(kind_) ? layout_.between(me, to) : bytes_ / sizeof(float);
    float* block = input(slot) + layout_.input_at(i);
    fill_slot(block, floats * sizeof(float), me, slot, round, to);
  }
}

bool Operation::verify_block(std::size_t slot, std::size_t i) const {
  const std::size_t floats = bytes_ / sizeof(float), got = layout_.received(i);
  const float* block = output(slot) + i * floats;
  const std::size_t beside = (floats - got) * sizeof(float);
  if (!is_untouched(to_read(block + got, beside), beside)) return false;
  if (is_reduce_scatter(kind_)) {
    return is_sum(block, got * sizeof(float), backend_.size(), slot, backend_.rank());
  }
  const BlockLayout::Origin from = layout_.origin(i, root_of(slot));
  return is_slot(block, got * sizeof(float), from.rank, slot, from.block);
}

bool Operation::verify_blocks(std::size_t slot) const {
  if (is_gather(kind_) && backend_.rank() != root_of(slot)) return true;
  for (std::size_t i = 0; i < layout_.outputs(); ++i) {
    if (!verify_block(slot, i)) return false;
  }
  return true;
}

}  // namespace espalier::bench
