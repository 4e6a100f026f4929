// Small operations on elements that lie apart, or travel in another form: they are packed before
// the operation begins and unpacked at its end, so that the lines carry what they carry for
// everybody else.
//
// Memory is asked for: such calls are the exception. Threads: owner. path: short
#pragma once

#include <cstddef>
#include <memory>

#include "coll/team/team.hpp"

namespace espalier {

class ShortPacking {
 public:
  // Does the call need it on this rank?
  static bool is_for(const Call& call) noexcept { return call.packs_input || call.packs_output; }
  // Packs, and lets `call` have buffers without gaps. False: no memory.
  bool begin(const Team& team, Call& call) noexcept;
  // What has come goes where the caller wants it.
  // Packs the input once more, which has changed since.
  void refresh() noexcept;
  void end() noexcept;
  const Pattern* pattern() const noexcept { return pattern_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
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
};

}  // namespace espalier
