// Buffers: the memory that the ranks of a simulated operation use, and what must be in it.
//
// With data every rank has buffers of its own, and every result can be checked. Without, all
// buffers are one mapping that nobody touches.
// Ownership: owns the memory. Threads: one. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/team/team.hpp"
#include "tools/esp-sim/grid.hpp"
#include "tools/esp-sim/operation.hpp"

namespace espalier::sim {

class Buffers {
 public:
  Buffers(const Operation& operation, std::uint32_t ranks, bool carry);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Valid as long as the buffers are.
  Call call(Rank rank);
  // Whether all that the rank gets is there, and nothing else has changed.
  bool right(Rank rank) const;

  // Bytes of one rank's input and output, on the average.
  static std::uint64_t bytes_per_rank(const Operation& operation, std::uint32_t ranks) noexcept;

 private:
  struct Memory {
    std::vector<std::byte> input, output;
  };

  void fill(Rank rank);
  std::uint64_t result(Rank rank, std::size_t block, std::uint64_t i) const noexcept;
  std::uint64_t from_neighbor(Rank rank, std::size_t block, std::uint64_t i) const noexcept;
  template <typename Visit>
  void for_each_block(const BlockArrays& uneven, std::size_t blocks, Visit visit) const;
  template <typename Visit>
  void for_each_input(Rank rank, Visit visit) const;
  template <typename Visit>
  void for_each_output(Rank rank, Visit visit) const;
  template <typename Value>
  void append(std::vector<std::byte>& to, std::uint64_t elements, Value value) const;

  const Operation operation_;
  const CollectiveTraits& traits_;
  const std::uint32_t ranks_;
  const std::uint32_t element_bytes_;
  const UnevenBlocks blocks_;
  std::vector<Neighbors> grid_;  // of exchanges with neighbours
  std::vector<Memory> memory_;   // with data
  void* shared_ = nullptr;       // without
  std::uint64_t size_ = 0;
};

}  // namespace espalier::sim
