// Blocks: where the blocks of a member's input and output lie, in elements: the arrays of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

struct Blocks {
  std::vector<std::size_t> counts, begins;
  bool displaced = false;  // the call names where they begin

  std::uint64_t extent() const noexcept;  // up to the end of the last one
  const std::size_t* displs() const noexcept { return displaced ? begins.data() : nullptr; }
};

// What else than one message a member has in a buffer of its own; what it gets.
Blocks input_blocks(const OpSpec& op, std::int32_t member);
Blocks output_blocks(const OpSpec& op, std::int32_t member);

// Which block of the buffer in which `from` has its input is for `to`.
std::size_t block_for(const OpSpec& op, std::int32_t from, std::int32_t to) noexcept;

}  // namespace espalier::swarm
