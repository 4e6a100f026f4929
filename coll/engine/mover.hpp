// Mover: who carries out the copies and combinations of plans, when it is not the calling processor
// itself: a device, a copy thread, an adapter.
//
// It answers as a wire does. kDone: carried out. kPending: op.complete() is called once, from
// progress() of whatever drives the mover; until then operands are read and dst is written at any
// time. kRetry: nothing happened, try again after progress. `operands` is the caller's and is read
// inside move() alone. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/engine/combiner.hpp"
#include "core/completion.hpp"

namespace espalier {

struct Move {
  void* dst = nullptr;
  const void* const* operands = nullptr;
  std::size_t operand_count = 0;  // 1: a copy
  std::uint64_t elements = 0;
  std::uint32_t element_bytes = 1;
  const Combiner* combiner = nullptr;  // of several operands; valid until the move is complete

  std::uint64_t bytes() const noexcept { return elements * element_bytes; }
};

class Mover {
 public:
  virtual ~Mover() = default;
  virtual Posted move(const Move& move, Completion& op) noexcept = 0;
  // Takes a pending move back: when this returns nothing is read or written any more, and the
  // completion does not fire.
  virtual void cancel(Completion& op) noexcept = 0;
};

}  // namespace espalier
