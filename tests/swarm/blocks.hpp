// Blocks: where the blocks of a member's input and output lie, in elements: the arrays of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
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

// The memory of the output: of all that stands there in place, and nothing where a block stays.
Blocks output_memory(const OpSpec& op, std::int32_t member);

// Of the edge on which block `source` comes to a member: from whom, and which of its destinations
// that is. None: nobody is there.
std::optional<std::pair<std::int32_t, std::size_t>> other_end(const OpSpec& op, std::int32_t member,
                                                              std::size_t source);

// Which block of the buffer in which `from` has its input is for `to`.
std::size_t block_for(const OpSpec& op, std::int32_t from, std::int32_t to) noexcept;

}  // namespace espalier::swarm
