// SequenceSet: some of the packets of one window: kWindowMax bits, the one of a packet by its
// number modulo kWindowMax.
//
// All members lie within kWindowMax of each other; the owner takes out what leaves the window.
// Values. path: data
#pragma once

#include <array>
#include <cstdint>

#include "net/multicast/packet.hpp"

namespace espalier::multicast {

class SequenceSet {
 public:
  bool has(Sequence sequence) const noexcept { return (word(sequence) & bit(sequence)) != 0; }
  void add(Sequence sequence) noexcept { words_[place(sequence)] |= bit(sequence); }
  void remove(Sequence sequence) noexcept { words_[place(sequence)] &= ~bit(sequence); }
  bool any() const noexcept { return (words_[0] | words_[1]) != 0; }
  void clear() noexcept { words_ = {}; }

 private:
  static constexpr std::size_t place(Sequence sequence) noexcept {
    return sequence.value / 64 % (kWindowMax / 64);
  }
  static constexpr std::uint64_t bit(Sequence sequence) noexcept {
    return std::uint64_t{1} << sequence.value % 64;
  }
  std::uint64_t word(Sequence sequence) const noexcept { return words_[place(sequence)]; }

  std::array<std::uint64_t, kWindowMax / 64> words_ = {};
};
static_assert(kWindowMax == 128);

}  // namespace espalier::multicast
