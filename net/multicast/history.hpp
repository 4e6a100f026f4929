// History: the packets of one source that are not stable yet, as they came: for members that miss
// them.
//
// Ownership: the packets are the owner's of this; who drops it takes them out first. Threads:
// owner. path: data
#pragma once

#include <bit>
#include <utility>
#include <vector>

#include "net/multicast/packet.hpp"
#include "net/rdma/datagram_port.hpp"

namespace espalier::multicast {

class History {
 public:
  History(Sequence first, std::uint32_t window) : base_(first), slots_(std::bit_ceil(window)) {}
  History(History&&) = default;

  // A packet that lies within the window behind base().
  void hold(Sequence sequence, rdma::Packet& packet) noexcept {
    ESP_ASSERT(within(sequence) && slot(sequence) == nullptr);
    slot(sequence) = &packet;
  }
  // nullptr: it is not here.
  rdma::Packet* find(Sequence sequence) noexcept {
    return within(sequence) ? slot(sequence) : nullptr;
  }
  rdma::Packet* take(Sequence sequence) noexcept {
    return within(sequence) ? std::exchange(slot(sequence), nullptr) : nullptr;
  }
  Sequence base() const noexcept { return base_; }

  // Everything before `stable` goes back to the owner.
  template <typename Give>
  void release_before(Sequence stable, Give&& give) noexcept {
    for (; base_.before(stable); base_ = base_ + 1) {
      rdma::Packet* packet = std::exchange(slot(base_), nullptr);
      if (packet != nullptr) give(*packet);
    }
  }

 private:
  bool within(Sequence sequence) const noexcept {
    return !sequence.before(base_) && static_cast<std::uint32_t>(sequence - base_) < slots_.size();
  }
  rdma::Packet*& slot(Sequence sequence) noexcept {
    return slots_[sequence.value & (slots_.size() - 1)];
  }

  Sequence base_;
  std::vector<rdma::Packet*> slots_;
};

}  // namespace espalier::multicast
