// Operation: allgather and alltoall, whose messages are blocks of `bytes` each.
//
// Of the v-forms one block is empty: of an allgatherv that of the last rank, of an alltoallv those
// between ranks whose sum is 0 modulo their number, one in each buffer of each rank.
#include <algorithm>
#include <limits>
#include <vector>

#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

// As a new ring is.
bool is_untouched(const float* data, std::size_t bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0xff}; });
}

}  // namespace

bool Operation::is_empty(int from, int to) const {
  const int ranks = backend_.size();
  if (kind_ == OpKind::kAllgatherv) return from == ranks - 1;
  return kind_ == OpKind::kAlltoallv && (from + to) % ranks == 0;
}

void Operation::set_blocks() {
  const auto ranks = static_cast<std::size_t>(backend_.size());
  const std::size_t floats = bytes_ / sizeof(float);
  if (ranks * floats > std::size_t{std::numeric_limits<int>::max()}) {
    refusal_ = "blocks of all ranks have more than 2^31 - 1 floats (MPI counts are int)";
    return;
  }
  std::vector<std::size_t> counts, displs;
  for (std::size_t r = 0; r < ranks; ++r) {
    counts.push_back(is_empty(static_cast<int>(r), backend_.rank()) ? 0 : floats);
    displs.push_back(r * floats);
  }
  backend_.set_blocks(counts, displs);
}

void Operation::run_blocks(std::size_t calls) {
  switch (kind_) {
    case OpKind::kAllgather:
      for (std::size_t i = 0; i < calls; ++i) backend_.allgather(input(i), output(i), bytes_);
      return;
    case OpKind::kAllgatherv:
      for (std::size_t i = 0; i < calls; ++i) backend_.allgatherv(input(i), output(i));
      return;
    case OpKind::kAlltoall:
      for (std::size_t i = 0; i < calls; ++i) backend_.alltoall(input(i), output(i), bytes_);
      return;
    default:
      for (std::size_t i = 0; i < calls; ++i) backend_.alltoallv(input(i), output(i));
  }
}

void Operation::rewrite_blocks(std::size_t slot, unsigned round) {
  for (int to = 0; to < (sends_blocks(kind_) ? backend_.size() : 1); ++to) {
    float* block = input(slot) + static_cast<std::size_t>(to) * (bytes_ / sizeof(float));
    fill_slot(block, bytes_, backend_.rank(), slot, round, to);
  }
}

bool Operation::verify_blocks(std::size_t slot, unsigned round) const {
  const int me = backend_.rank();
  const int number = sends_blocks(kind_) ? me : 0;
  for (int from = 0; from < backend_.size(); ++from) {
    const float* block = output(slot) + static_cast<std::size_t>(from) * (bytes_ / sizeof(float));
    const bool right = is_empty(from, me) ? is_untouched(block, bytes_)
                                          : is_slot(block, bytes_, from, slot, round, number);
    if (!right) return false;
  }
  return true;
}

}  // namespace espalier::bench
