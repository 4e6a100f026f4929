// Mover: who carries out the copies and combinations of a call, when it is not the calling
// processor itself: a device, a copy thread, an adapter. A call that has one (Call::mover) has
// buffers that the processor may be unable to reach: its plan packs what it reads there, and
// unpacks what it writes, and all between is memory of the mover's, which both reach.
//
// It answers as a wire does. kDone: carried out. kPending: op.complete() is called once, from
// progress() of whatever drives the mover; until then operands are read and dst is written at any
// time. kRetry: nothing happened, try again after progress. `operands` is the caller's and is read
// inside move() alone. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coll/engine/combiner.hpp"
#include "core/completion.hpp"
#include "core/element_form.hpp"
#include "core/pattern.hpp"

namespace espalier {

class StreamOrder;

// How a mover combines elements of a call by itself: what it knows of operator, type and place. Of
// the mover's kind, and immutable; lasts as long as any call of the mover.
struct Reduction {};

struct Move {
  void* dst = nullptr;
  const void* const* operands = nullptr;
  std::size_t operand_count = 0;  // 1: a copy
  std::uint64_t elements = 0;
  std::uint32_t element_bytes = 1;
  const Combiner* combiner = nullptr;  // of several operands; valid until the move is complete
  // Not nullptr: the mover combines, and some operands may be the caller's, where the processor
  // cannot reach. Of one operand it copies, and `dst` is memory of the device.
  const Reduction* reduction = nullptr;
  StreamOrder* behind = nullptr;  // as Repack::behind, with a reduction

  std::uint64_t bytes() const noexcept { return elements * element_bytes; }
};

// Between the caller's elements and the run that they are packed in: so many bytes of the run from
// position `at`, which begin at `run`.
struct Repack {
  const Pattern* pattern = nullptr;
  const ElementForm* form = nullptr;  // nullptr: that of the elements
  std::byte* elements = nullptr;
  std::byte* run = nullptr;
  std::uint64_t at = 0, bytes = 0;
  bool packs = false;  // else it unpacks
  // Nothing is done before that has been reached: kRetry. For movers that have streams.
  StreamOrder* behind = nullptr;
};

class Mover {
 public:
  virtual ~Mover() = default;
  virtual Posted move(const Move& move, Completion& op) noexcept = 0;
  virtual Posted repack(const Repack& repack, Completion& op) noexcept = 0;
  // Memory that the processor and the mover reach, 64-byte aligned; nullptr: there is none.
  virtual std::byte* allocate(std::uint64_t bytes) noexcept = 0;
  virtual void release(std::byte* memory, std::uint64_t bytes) noexcept = 0;
  // Whether a Reduction reads and writes this memory of allocate(), too.
  virtual bool reduces_in(const std::byte* memory) const noexcept {
    (void)memory;
    return true;
  }
  // Memory beside what a Reduction combines, of its device: others may read it where it lies, the
  // processor cannot. nullptr: there is none.
  virtual std::byte* allocate_beside(const Reduction& reduction, std::uint64_t bytes) noexcept {
    (void)reduction, (void)bytes;
    return nullptr;
  }
  virtual void release_beside(std::byte* memory) noexcept { (void)memory; }
  // What the last failure was, for people.
  virtual std::string why() const = 0;
  // Takes a pending move back: when this returns nothing is read or written any more, and the
  // completion does not fire.
  virtual void cancel(Completion& op) noexcept = 0;
};

}  // namespace espalier
