// PlacedPatches: what of one segment lies elsewhere than it belongs, where its places are out of
// the processor's reach (of a device), and memory of the host beside them takes what does not come
// into its place: repairs, the tail, packets that came into places of other segments.
//
//   stray, in another packet's place > fetched, into memory beside > stored, where it belongs
//
// What strays comes in runs: after a loss each packet finds the place of the one before. Copies are
// the user's, one at a time and strays first, so nothing is stored where a stray still lies.
// Values. path: data; reset() alone allocates, and only beyond what it had before
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "net/multicast/packet_bits.hpp"

namespace espalier::multicast {

// A copy that is due, in bytes from where places and the memory beside begin.
struct PlacedPatch {
  bool fetches = false;  // from places into memory beside; else from there into places
  std::uint64_t from = 0, to = 0, bytes = 0;
};

class PlacedPatches {
 public:
  void reset(std::uint32_t packets) {
    strays_used_ = 0;
    tail_ = false;
    beside_.reset(packets);
  }
  // False: there are too many runs, it is as good as lost.
  bool add_stray(std::uint32_t packet, std::uint32_t place) noexcept {
    if (strays_used_ > 0) {
      Run& last = strays_[strays_used_ - 1];
      const bool follows = last.packet + last.count == packet && last.place + last.count == place;
      if (follows) return ++last.count, true;
    }
    if (strays_used_ == kRunsMost) return false;
    strays_[strays_used_++] = {packet, place, 1};
    return true;
  }
  void add_beside(std::uint32_t packet) noexcept { beside_.add(packet); }
  void add_tail() noexcept { tail_ = true; }
  // Those who lie from this place on are to be overwritten: drop(packet) for each.
  template <typename Drop>
  void drop_strays(std::uint32_t place, Drop&& drop) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < strays_used_; ++i) {
      Run run = strays_[i];
      const std::uint32_t stays = std::min(run.count, place > run.place ? place - run.place : 0);
      for (std::uint32_t at = stays; at < run.count; ++at) drop(run.packet + at);
      run.count = stays;
      if (stays > 0) strays_[kept++] = run;
    }
    strays_used_ = kept;
  }

  bool any() const noexcept { return strays_used_ > 0 || beside_.any() || tail_; }
  // The next one. `bytes` of the segment are cut into packets of `packet_bytes`.
  bool next(std::uint64_t bytes, std::uint32_t packet_bytes, PlacedPatch& patch) const noexcept {
    if (!any()) return false;
    if (strays_used_ > 0) {
      const Run& run = strays_[strays_used_ - 1];
      patch = {true, std::uint64_t{run.place} * packet_bytes,
               std::uint64_t{run.packet} * packet_bytes, std::uint64_t{run.count} * packet_bytes};
      return true;
    }
    const auto [first, end] = first_beside();
    const bool to_the_end = end == beside_.size() && tail_;
    const std::uint64_t from = std::uint64_t{first} * packet_bytes;
    const std::uint64_t to = to_the_end ? bytes : std::uint64_t{end} * packet_bytes;
    patch = {false, from, from, to - from};
    return true;
  }
  // That one is done.
  void done() noexcept {
    if (strays_used_ > 0) {
      const Run& run = strays_[--strays_used_];
      for (std::uint32_t i = 0; i < run.count; ++i) beside_.add(run.packet + i);
      return;
    }
    const auto [first, end] = first_beside();
    if (end == beside_.size()) tail_ = false;
    for (std::uint32_t i = first; i < end; ++i) beside_.remove(i);
  }

 private:
  static constexpr std::uint32_t kRunsMost = 32;
  struct Run {
    std::uint32_t packet = 0, place = 0, count = 0;
  };
  // Behind the last packet: the tail alone.
  std::pair<std::uint32_t, std::uint32_t> first_beside() const noexcept {
    const std::uint32_t first = beside_.next(0);
    return {first, beside_.next(first, false)};
  }

  std::array<Run, kRunsMost> strays_;
  std::uint32_t strays_used_ = 0;
  PacketBits beside_;
  bool tail_ = false;
};

}  // namespace espalier::multicast
