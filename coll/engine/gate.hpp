// Gate and Consumer: where a plan meets those who are no wire. Partial completion, partitioned
// calls and chains of operations are these two.
//
// A kAwait vertex begins an index when the gate says that its portion of the input is there; a
// kDeliver vertex hands a portion of the output to the consumer. Both come with the call
// (Call::gate, Call::consumer), and plans have such vertices for calls alone that ask for them
// (algorithms/partial.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/plan/steps.hpp"

namespace espalier {

// Part of a block of one of the caller's buffers.
struct Portion {
  std::uint32_t index = 0;            // of the vertex
  std::uint32_t block = 0;            // of the buffer; the first, where it reaches over several
  std::uint64_t offset = 0;           // bytes, from the beginning of that block
  std::uint64_t at = 0;               // bytes, from the beginning of the buffer's layout
  Steps order = Steps::constant(-1);  // Plan::order: `block` and `at` are positions
  const std::byte* data = nullptr;    // where it lies; of what is packed: where that is
  std::uint64_t bytes = 0;
  // As `bytes`, of an operation without segments (ShortOperations): all of the buffer.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
};

struct Gate {
  // Is the portion there? Called on the owner, often. Acquires what those have written who say so.
  using Function = bool (*)(void* context, const Portion& portion) noexcept;
  // For people: the first part that is not there, as the caller counts them; -1: all are.
  using FirstClosed = int (*)(void* context) noexcept;
  Function function = nullptr;
  FirstClosed first_closed = nullptr;
  void* context = nullptr;
};

struct Consumer {
  // Takes a portion, which is final. Runs on the owner, from progress(), never inside a start; must
  // not start or end operations. False: there is no room, ask again after progress.
  using Function = bool (*)(void* context, const Portion& portion) noexcept;
  // Before the first start: so many portions will come in each round, at most. False: no memory.
  using Expect = bool (*)(void* context, std::uint64_t portions) noexcept;
  Function function = nullptr;
  Expect expect = nullptr;
  void* context = nullptr;
};

}  // namespace espalier
