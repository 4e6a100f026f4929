// Small operations on elements that lie apart, travel in another form or are on a device: they are
// packed before the operation begins and unpacked at its end, so that the lines carry what they
// carry for everybody else. What a mover carries out takes a while.
//
// Memory is asked for: such calls are the exception. Threads: owner. path: short
#pragma once

#include <cstddef>
#include <memory>

#include "coll/engine/mover.hpp"
#include "coll/team/team.hpp"

namespace espalier {

class ShortPacking : private Completion {
 public:
  ShortPacking() noexcept : Completion(on_carried) {}
  ~ShortPacking();
  ShortPacking(const ShortPacking&) = delete;
  ShortPacking& operator=(const ShortPacking&) = delete;

  // Does the call need it on this rank?
  static bool is_for(const Call& call) noexcept { return call.packs_input || call.packs_output; }
  // Lets `call` have buffers without gaps. False: no memory.
  bool begin(const Team& team, Call& call) noexcept;
  // Packs the input. False: it is not there yet, or status() says why it will not be.
  bool is_packed() noexcept;
  // What has come goes where the caller wants it. Likewise.
  bool is_unpacked() noexcept;
  const Status& status() const noexcept { return status_; }
  std::string why() const { return mover_->why(); }
  const Pattern* pattern() const noexcept { return pattern_; }

 private:
  enum class Carrying : std::uint8_t { kIdle, kPending, kCarried };

  static void on_carried(Completion& self, Status status) noexcept;
  bool carry_out(const Repack& what) noexcept;
  bool unpack_part(std::byte* elements, const std::byte* from, std::uint64_t bytes) noexcept;

  Mover* mover_ = nullptr;
  StreamOrder* order_ = nullptr;
  std::byte* memory_ = nullptr;
  std::uint64_t memory_bytes_ = 0;
  std::unique_ptr<std::size_t[]> counts_;  // of blocks that differ, packed
  const std::size_t* displs_ = nullptr;    // of the caller's output, if it has them
  std::size_t blocks_ = 0;
  std::uint32_t element_bytes_ = 1;
  const Pattern* pattern_ = nullptr;
  const ElementForm* form_ = nullptr;
  const std::byte* user_input_ = nullptr;  // nullptr: nothing is packed
  std::byte* input_ = nullptr;
  std::uint64_t input_bytes_ = 0;
  std::byte* user_output_ = nullptr;  // nullptr: nothing comes
  const std::byte* output_ = nullptr;
  std::uint64_t output_bytes_ = 0;
  Status status_;
  Carrying carrying_ = Carrying::kIdle;
  bool packed_ = false;
  std::size_t unpacked_ = 0;          // blocks
  std::uint64_t unpacked_bytes_ = 0;  // of these
};

}  // namespace espalier
