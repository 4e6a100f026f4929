// PlacedSpare: payload that came into the place of another packet, until its own place is free.
//
// So much at most; its memory is allocated when it is first needed. Values. path: data
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "net/multicast/placed_message.hpp"

namespace espalier::multicast {

class PlacedSpare {
 public:
  PlacedSpare(std::uint32_t packets, std::uint32_t bytes) noexcept
      : packets_(packets), bytes_(bytes) {}

  // Copies one packet's payload. False: there is no room.
  bool keep(Sequence segment, std::uint32_t packet, const std::byte* payload) {
    if (full()) return false;
    if (entries_.empty()) {
      entries_.resize(packets_);
      memory_ = std::make_unique_for_overwrite<std::byte[]>(std::size_t{packets_} * bytes_);
      for (std::uint32_t i = 0; i < packets_; ++i) entries_[i].slot = i;
    }
    Entry& entry = entries_[used_++];
    entry.segment = segment;
    entry.packet = packet;
    std::memcpy(memory_of(entry), payload, bytes_);
    return true;
  }
  // To where it belongs, if it is here. False: it is not.
  bool put(Sequence segment, std::uint32_t packet, std::byte* to) noexcept {
    for (std::uint32_t i = 0; i < used_; ++i) {
      Entry& entry = entries_[i];
      if (entry.segment != segment || entry.packet != packet) continue;
      std::memcpy(to, memory_of(entry), bytes_);
      std::swap(entry, entries_[--used_]);
      return true;
    }
    return false;
  }
  bool empty() const noexcept { return used_ == 0; }
  bool full() const noexcept { return used_ == packets_; }

 private:
  struct Entry {
    Sequence segment;
    std::uint32_t packet = 0;
    std::uint32_t slot = 0;
  };
  std::byte* memory_of(const Entry& entry) noexcept {
    return memory_.get() + std::size_t{entry.slot} * bytes_;
  }

  const std::uint32_t packets_, bytes_;
  std::uint32_t used_ = 0;
  std::vector<Entry> entries_;  // the first used_ are
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace espalier::multicast
