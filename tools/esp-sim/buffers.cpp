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

// What is different for each block of an input; block 0 is that of what goes to all.
std::uint64_t offset_of(std::size_t block) noexcept {
  return 101 * block;
}
std::uint64_t contribution(Rank from, std::size_t block, std::uint64_t i) noexcept {
  return (rank_index(from) + 1) * (i % 251 + 1) + offset_of(block);
}
// Of the first n ranks. Sums wrap alike in every width.
std::uint64_t sum(std::uint64_t n, std::uint64_t i) noexcept {
  return n * (n + 1) / 2 * (i % 251 + 1);
}

}  // namespace

std::uint64_t Buffers::bytes_per_rank(const Operation& operation, std::uint32_t ranks) noexcept {
  const CollectiveTraits& traits = traits_of(operation.collective);
  // One message in and one out, where a collective has only one of them, too; on the average, as
  // a root has blocks alone.
  const std::uint64_t in =
      std::max<std::uint64_t>(input_blocks(operation, operation.root, ranks), 1);
  const std::uint64_t out =
      std::max<std::uint64_t>(output_blocks(operation, operation.root, ranks), 1);
  const bool root_alone = traits.rooted && in + out > 2;
  return (root_alone ? 3 : in + out) * operation.bytes;
}

Buffers::Buffers(const Operation& operation, std::uint32_t ranks, bool carry)
    : operation_(operation),
      traits_(traits_of(operation.collective)),
      ranks_(ranks),
      element_bytes_(operation.element_bytes()),
      blocks_(operation, ranks) {
  if (traits_.neighbors) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      grid_.push_back(grid_neighbors(static_cast<Rank>(r), ranks));
    }
  }
  if (carry) {
    memory_.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) fill(static_cast<Rank>(r));
    return;
  }
  const std::uint64_t blocks = std::max(input_blocks(operation, operation.root, ranks),
                                        output_blocks(operation, operation.root, ranks));
  size_ = std::max<std::uint64_t>(blocks * operation.bytes, 1);
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
  call.in_counts = blocks_.input(rank).counts;
  call.out_counts = blocks_.output(rank).counts;
  call.own_count = blocks_.input(rank).elements;
  if (traits_.neighbors) call.neighbors = &grid_[rank_index(rank)];
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
  for_each_output(rank, [&](std::size_t block, std::uint64_t elements) {
    append(expected, elements, [&](std::uint64_t i) { return result(rank, block, i); });
  });
  return output == expected;
}

std::uint64_t Buffers::result(Rank rank, std::size_t block, std::uint64_t i) const noexcept {
  if (traits_.neighbors) return from_neighbor(rank, block, i);
  switch (operation_.collective) {
    case Collective::kReduce:
    case Collective::kAllreduce:
      return sum(ranks_, i);
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter:
      return sum(ranks_, i) + ranks_ * offset_of(rank_index(rank));
    case Collective::kScan:
      return sum(rank_index(rank) + 1, i);
    case Collective::kExscan:
      return sum(rank_index(rank), i);
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kGather:
    case Collective::kGatherv:
      return contribution(static_cast<Rank>(block), 0, i);
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return contribution(static_cast<Rank>(block), rank_index(rank), i);
    case Collective::kScatter:
    case Collective::kScatterv:
      return contribution(operation_.root, rank_index(rank), i);
    default:
      return contribution(operation_.root, 0, i);
  }
}

// What the other end of the same edge sends.
std::uint64_t Buffers::from_neighbor(Rank rank, std::size_t block, std::uint64_t i) const noexcept {
  const Neighbors& mine = grid_[rank_index(rank)];
  const Rank from = mine.sources[block];
  if (traits_.input == Extent::kOne) return contribution(from, 0, i);
  const Neighbors& theirs = grid_[rank_index(from)];
  std::size_t sent = 0;
  while (theirs.destinations[sent] != rank ||
         theirs.destination_edges[sent] != mine.source_edges[block]) {
    ++sent;
  }
  return contribution(from, sent, i);
}

// visit(block, elements), for each block of a buffer of this rank.
template <typename Visit>
void Buffers::for_each_block(const BlockArrays& uneven, std::size_t blocks, Visit visit) const {
  for (std::size_t b = 0; b < blocks; ++b) {
    const bool own = is_irregular(operation_.collective) && uneven.counts == nullptr;
    const std::uint64_t even = own ? uneven.elements : operation_.elements();
    visit(b, uneven.counts != nullptr ? uneven.counts[b] : even);
  }
}

template <typename Visit>
void Buffers::for_each_input(Rank rank, Visit visit) const {
  for_each_block(blocks_.input(rank), input_blocks(operation_, rank, ranks_), visit);
}

template <typename Visit>
void Buffers::for_each_output(Rank rank, Visit visit) const {
  for_each_block(blocks_.output(rank), output_blocks(operation_, rank, ranks_), visit);
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
  for_each_output(rank, [&](std::size_t, std::uint64_t elements) {
    memory.output.resize(memory.output.size() + elements * element_bytes_, kUntouched);
  });
  if (traits_.root_sends && traits_.input == Extent::kNone) {  // and it stands in the output
    if (rank == operation_.root) {
      memory.output.clear();
      append(memory.output, operation_.elements(),
             [&](std::uint64_t i) { return contribution(rank, 0, i); });
    }
    return;
  }
  for_each_input(rank, [&](std::size_t to, std::uint64_t elements) {
    append(memory.input, elements, [&](std::uint64_t i) { return contribution(rank, to, i); });
  });
}

}  // namespace espalier::sim
