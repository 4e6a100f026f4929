// Expected: what every member has in its output when its call is complete, every byte, those
// between blocks included. Ownership: borrows the scenario.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/swarm/blocks.hpp"
#include "tests/swarm/values.hpp"

namespace espalier::swarm {

class Expected {
 public:
  Expected(const Scenario& scenario, std::size_t op);

  // What is wrong with the output of a member that makes this call; empty: nothing.
  std::string complaint(std::int32_t member, const Buffer& output) const;

 private:
  // What a member has for others: the blocks of the buffer in which it has it, packed.
  using Contribution = std::vector<std::vector<std::byte>>;

  void add_contribution(const OpSpec& theirs, std::int32_t member);
  void reduce();
  std::span<const std::byte> share_of(std::int32_t member) const;
  std::optional<std::span<const std::byte>> result_of(std::int32_t member) const;
  std::optional<std::pair<std::int32_t, std::size_t>> origin_of(std::int32_t member,
                                                                std::size_t block) const;
  std::string put_blocks(std::int32_t member, std::vector<std::byte>& memory) const;

  const OpSpec& op_;
  std::vector<Contribution> contributions_;      // where blocks move, by member
  std::vector<std::vector<std::byte>> results_;  // else, packed: of members 0 to r, or of the root
};

// Of a member's buffer with these blocks.
std::uint64_t bytes_of(const OpSpec& op, std::int32_t member, const Blocks& blocks) noexcept;

}  // namespace espalier::swarm
