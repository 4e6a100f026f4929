// What simulated collectives must bring: by hand, and that a wrong byte is noticed.
#include "tools/esp-sim/buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace espalier::sim {
namespace {

constexpr std::uint64_t kBytes = 24;
constexpr std::size_t kElements = kBytes / 8;

Operation operation_of(Collective collective) {
  Operation operation;
  operation.collective = collective;
  operation.bytes = kBytes;
  operation.root = 1;
  return operation;
}

// The calls of all ranks, and what their collective does.
class Job {
 public:
  Job(Collective collective, std::uint32_t ranks)
      : collective_(collective), buffers_(operation_of(collective), ranks, true) {
    for (std::uint32_t r = 0; r < ranks; ++r) calls_.push_back(buffers_.call(static_cast<Rank>(r)));
  }

  std::size_t ranks() const { return calls_.size(); }
  std::byte* output(std::size_t r) { return static_cast<std::byte*>(calls_[r].output); }
  bool right(std::size_t r) const { return buffers_.right(static_cast<Rank>(r)); }

  // Bytes of the output.
  std::size_t deliver(std::size_t r) {
    switch (collective_) {
      case Collective::kBcast:
        std::memmove(output(r), output(1), kBytes);
        return kBytes;
      case Collective::kAllgather:
      case Collective::kAllgatherv:
      case Collective::kAlltoall:
      case Collective::kAlltoallv:
        return deliver_blocks(r);
      case Collective::kGather:
        return r == 1 ? deliver_blocks(r) : 0;
      case Collective::kScatter:
        std::memcpy(output(r), static_cast<const std::byte*>(calls_[1].input) + r * kBytes, kBytes);
        return kBytes;
      case Collective::kNeighborAllgather:
        return deliver_from_neighbors(r);
      default:
        return deliver_sum(r);
    }
  }

 private:
  std::size_t deliver_blocks(std::size_t r) {
    std::size_t at = 0;
    for (std::size_t from = 0; from < ranks(); ++from) {
      const Call& sender = calls_[from];
      const auto* input = static_cast<const std::byte*>(sender.input);
      std::size_t length = kBytes;
      if (collective_ == Collective::kAlltoall) input += r * kBytes;
      if (collective_ == Collective::kAllgatherv) length = 8 * calls_[r].out_counts[from];
      if (collective_ == Collective::kAlltoallv) {
        for (std::size_t to = 0; to < r; ++to) input += 8 * sender.in_counts[to];
        length = 8 * sender.in_counts[r];
        EXPECT_EQ(sender.in_counts[r], calls_[r].out_counts[from]);
      }
      if (length > 0) std::memcpy(output(r) + at, input, length);
      at += length;
    }
    return at;
  }

  std::size_t deliver_from_neighbors(std::size_t r) {
    std::size_t at = 0;
    for (const std::int32_t from : calls_[r].neighbors->sources) {
      std::memcpy(output(r) + at, calls_[static_cast<std::size_t>(from)].input, kBytes);
      at += kBytes;
    }
    return at;
  }

  std::size_t deliver_sum(std::size_t r) {
    std::size_t first = ranks();
    const std::size_t begin = collective_ == Collective::kReduceScatterBlock ? r * kBytes : 0;
    if (collective_ == Collective::kScan) first = r + 1;
    if (collective_ == Collective::kExscan) first = r;
    if (first == 0) return 0;
    std::vector<std::uint64_t> sum(kElements, 0);
    for (std::size_t from = 0; from < first; ++from) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, static_cast<const std::byte*>(calls_[from].input) + begin + 8 * i, 8);
        sum[i] += value;
      }
    }
    std::memcpy(output(r), sum.data(), kBytes);
    return kBytes;
  }

  Collective collective_;
  Buffers buffers_;
  std::vector<Call> calls_;
};

class AllCollectives : public testing::TestWithParam<Collective> {};

TEST_P(AllCollectives, AreRightOnceEverybodyHasWhatItGets) {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    Job job(GetParam(), ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      const bool is_root = GetParam() == Collective::kBcast && r == 1;
      const bool gets_nothing = GetParam() == Collective::kExscan && r == 0;
      const bool is_no_root = GetParam() == Collective::kGather && r != 1;
      EXPECT_EQ(job.right(r), is_root || is_no_root || gets_nothing) << "before";
      const std::size_t bytes = job.deliver(r);
      EXPECT_TRUE(job.right(r)) << collective_name(GetParam()) << " " << r << " of " << ranks;
      for (std::size_t i = 0; i < std::max(bytes, gets_nothing ? kBytes : 0); ++i) {
        job.output(r)[i] ^= std::byte{1};
        EXPECT_FALSE(job.right(r)) << collective_name(GetParam()) << " byte " << i;
        job.output(r)[i] ^= std::byte{1};
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Buffers, AllCollectives,
                         testing::Values(Collective::kBcast, Collective::kAllreduce,
                                         Collective::kAllgather, Collective::kAllgatherv,
                                         Collective::kAlltoall, Collective::kAlltoallv,
                                         Collective::kScan, Collective::kExscan,
                                         Collective::kGather, Collective::kScatter,
                                         Collective::kReduceScatterBlock,
                                         Collective::kNeighborAllgather));

// A block in the place of another one, and one of another sender, are told from the right one.
TEST(Buffers, BlocksDiffer) {
  Job job(Collective::kAlltoall, 5);
  std::vector<std::vector<std::byte>> seen;
  for (std::size_t r = 0; r < 5; ++r) {
    (void)job.deliver(r);
    for (std::size_t from = 0; from < 5; ++from) {
      const std::byte* begin = job.output(r) + from * kBytes;
      seen.emplace_back(begin, begin + kBytes);
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(UnevenBlocks, OneOfEachBufferIsEmpty) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 8U}) {
    const UnevenBlocks gather(operation_of(Collective::kAllgatherv), ranks);
    const UnevenBlocks exchange(operation_of(Collective::kAlltoallv), ranks);
    for (std::uint32_t s = 0; s < ranks; ++s) {
      EXPECT_EQ(gather.output(0).counts[s], s + 1 < ranks ? kElements : 0);
      const std::size_t* sent = exchange.input(static_cast<Rank>(s)).counts;
      EXPECT_EQ(std::count(sent, sent + ranks, 0U), 1);
      EXPECT_EQ(std::count(sent, sent + ranks, kElements), ranks - 1);
      for (std::uint32_t r = 0; r < ranks; ++r) {
        EXPECT_EQ(sent[r], exchange.output(static_cast<Rank>(r)).counts[s])
            << "what the other receives";
        EXPECT_EQ(sent[r] == 0, (s + r) % ranks == 0);
      }
    }
  }
}

// Counts are the root's, and each rank knows its own.
TEST(UnevenBlocks, OfARoot) {
  const UnevenBlocks gather(operation_of(Collective::kGatherv), 3);
  const UnevenBlocks scatter(operation_of(Collective::kScatterv), 3);
  for (const Rank rank : {0, 1, 2}) {
    const std::size_t own = rank < 2 ? kElements : 0;
    EXPECT_EQ(gather.input(rank).counts, nullptr);
    EXPECT_EQ(gather.input(rank).elements, own);
    EXPECT_EQ(gather.output(rank).counts != nullptr, rank == 1);
    EXPECT_EQ(scatter.input(rank).counts != nullptr, rank == 1);
    EXPECT_EQ(scatter.output(rank).elements, own);
    EXPECT_EQ(gather.output(1).counts[rank], own);
    EXPECT_EQ(scatter.input(1).counts[rank], own);
  }
}

TEST(UnevenBlocks, OfNeighbors) {
  const UnevenBlocks exchange(operation_of(Collective::kNeighborAlltoallv), 6);
  for (Rank rank = 0; rank < 6; ++rank) {
    const Neighbors near = grid_neighbors(rank, 6);
    for (std::size_t b = 0; b < kGridNeighbors; ++b) {
      EXPECT_EQ(exchange.input(rank).counts[b], rank < 5 ? kElements : 0);
      EXPECT_EQ(exchange.output(rank).counts[b], near.sources[b] < 5 ? kElements : 0);
    }
  }
}

using List = std::vector<std::int32_t>;

TEST(Grid, IsAsSquareAsPossible) {
  EXPECT_EQ(grid_neighbors(0, 1).sources, (List{0, 0, 0, 0}));
  EXPECT_EQ(grid_neighbors(1, 3).sources, (List{1, 1, 0, 2}));
  EXPECT_EQ(grid_neighbors(0, 6).sources, (List{3, 3, 2, 1}));  // 2 rows of 3
  EXPECT_EQ(grid_neighbors(5, 16).sources, (List{1, 9, 4, 6}));
  const Neighbors twice = grid_neighbors(0, 2);
  EXPECT_EQ(twice.sources, (List{0, 0, 1, 1}));
  EXPECT_EQ(twice.source_edges, (std::vector<std::uint8_t>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace espalier::sim
