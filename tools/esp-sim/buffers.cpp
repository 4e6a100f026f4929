#include "tools/esp-sim/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"
#include "core/kernels/isa.hpp"

namespace espalier::sim {
namespace {

constexpr std::byte kUntouched{0xee};

std::size_t rank_index(Rank rank) noexcept {
  return static_cast<std::size_t>(rank);
}

// What is sent `to` a rank; 0 where it goes to all.
std::uint64_t contribution(Rank from, Rank to, std::uint64_t i) noexcept {
  return (rank_index(from) + 1) * (i % 251 + 1) + 101 * rank_index(to);
}
// Of the first n ranks. Sums wrap alike in every width.
std::uint64_t sum(std::uint64_t n, std::uint64_t i) noexcept {
  return n * (n + 1) / 2 * (i % 251 + 1);
}

std::uint64_t blocks_of(Extent extent, std::uint32_t ranks) noexcept {
  if (extent == Extent::kNone) return 0;
  return extent == Extent::kOne ? 1 : ranks;
}

}  // namespace

std::uint64_t Buffers::bytes_per_rank(const Operation& operation, std::uint32_t ranks) noexcept {
  const CollectiveTraits& traits = traits_of(operation.collective);
  // One message in and one out, where a collective has only one of them, too.
  const std::uint64_t blocks = std::max<std::uint64_t>(blocks_of(traits.input, ranks), 1) +
                               std::max<std::uint64_t>(blocks_of(traits.output, ranks), 1);
  return blocks * operation.bytes;
}

Buffers::Buffers(const Operation& operation, std::uint32_t ranks, bool carry)
    : operation_(operation),
      traits_(traits_of(operation.collective)),
      ranks_(ranks),
      element_bytes_(operation.element_bytes()),
      blocks_(operation, ranks) {
  if (carry) {
    memory_.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) fill(static_cast<Rank>(r));
    return;
  }
  size_ = std::max<std::uint64_t>(blocks_of(traits_.output, ranks) * operation.bytes, 1);
  shared_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ESP_ASSERT(shared_ != MAP_FAILED);
}

Buffers::~Buffers() {
  if (shared_ != nullptr) ::munmap(shared_, size_);
}

Call Buffers::call(Rank rank) {
  Call call;
  call.collective = operation_.collective;
  call.root = operation_.root;
  call.options = operation_.options;
  call.type = element_bytes_ == 8 ? ESP_UINT64 : ESP_UINT8;
  call.element_bytes = element_bytes_;
  call.count = call_count(operation_, ranks_);
  if (traits_.output == Extent::kCounts) call.out_counts = blocks_.counts(rank);
  if (traits_.input == Extent::kCounts) call.in_counts = blocks_.counts(rank);
  call.input = call.output = shared_;
  if (traits_.reduces) {
    call.combiner = Combiner(combine_kernel_for(best_isa(), ESP_SUM, call.type), call.type);
  }
  if (shared_ == nullptr) {
    call.input = memory_[rank_index(rank)].input.data();
    call.output = memory_[rank_index(rank)].output.data();
  }
  return call;
}

bool Buffers::right(Rank rank) const {
  if (shared_ != nullptr || (traits_.root_gets && rank != operation_.root)) return true;
  const std::vector<std::byte>& output = memory_[rank_index(rank)].output;
  if (operation_.collective == Collective::kExscan && rank == 0) {
    return std::all_of(output.begin(), output.end(), [](std::byte b) { return b == kUntouched; });
  }
  std::vector<std::byte> expected;
  for_each_block(traits_.output, rank, [&](Rank block, std::uint64_t elements) {
    append(expected, elements, [&](std::uint64_t i) { return result(rank, block, i); });
  });
  return output == expected;
}

std::uint64_t Buffers::result(Rank rank, Rank block, std::uint64_t i) const noexcept {
  switch (operation_.collective) {
    case Collective::kReduce:
    case Collective::kAllreduce:
      return sum(ranks_, i);
    case Collective::kScan:
      return sum(rank_index(rank) + 1, i);
    case Collective::kExscan:
      return sum(rank_index(rank), i);
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return contribution(block, 0, i);
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
      return contribution(block, rank, i);
    default:
      return contribution(operation_.root, 0, i);
  }
}

// visit(block, elements), for each block of a buffer of this rank.
template <typename Visit>
void Buffers::for_each_block(Extent extent, Rank rank, Visit visit) const {
  const bool is_one = extent == Extent::kOne;
  for (std::uint64_t b = 0; b < blocks_of(extent, ranks_); ++b) {
    // An input that is one block is as long as this rank's block of the output.
    const std::size_t at = is_one ? rank_index(rank) : b;
    const bool uneven = traits_.output == Extent::kCounts;
    visit(static_cast<Rank>(b), uneven ? blocks_.counts(rank)[at] : operation_.elements());
  }
}

template <typename Value>
void Buffers::append(std::vector<std::byte>& to, std::uint64_t elements, Value value) const {
  std::size_t at = to.size();
  to.resize(at + elements * element_bytes_);
  for (std::uint64_t i = 0; i < elements; ++i, at += element_bytes_) {
    const std::uint64_t v = value(i);
    std::memcpy(to.data() + at, &v, element_bytes_);  // little-endian
  }
}

void Buffers::fill(Rank rank) {
  Memory& memory = memory_[rank_index(rank)];
  for_each_block(traits_.output, rank, [&](Rank, std::uint64_t elements) {
    memory.output.resize(memory.output.size() + elements * element_bytes_, kUntouched);
  });
  if (traits_.root_sends) {  // and it stands in the output
    if (rank == operation_.root) {
      memory.output.clear();
      append(memory.output, operation_.elements(),
             [&](std::uint64_t i) { return contribution(rank, 0, i); });
    }
    return;
  }
  for_each_block(traits_.input, rank, [&](Rank to, std::uint64_t elements) {
    append(memory.input, elements, [&](std::uint64_t i) { return contribution(rank, to, i); });
  });
}

}  // namespace espalier::sim
