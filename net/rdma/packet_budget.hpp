// PacketBudget: how many packets the peers may send before the port has none left for arrivals.
//
// Half of the port's receive packets are promised to peers as permissions (PacketHeader::limit);
// the other half is for what needs none: acknowledgements, probes, letters and repetitions. The
// more peers, the smaller the share of each, but never below kFirstPermission, which new peers take
// without asking: with more than depth / 8 peers that all send at once arrivals may be dropped, and
// are sent again. Values. path: data
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/assert.hpp"
#include "net/rdma/send_window.hpp"

namespace espalier::rdma {

class PacketBudget {
 public:
  explicit PacketBudget(std::uint32_t receive_depth) noexcept : depth_(receive_depth / 2) {}

  std::uint32_t promised() const noexcept { return promised_; }

  void add_peer() noexcept {
    ++peers_;
    share();
    promised_ += kFirstPermission;
  }
  void remove_peer(std::uint32_t outstanding) noexcept {
    --peers_;
    share();
    use(outstanding);
  }
  // Packets have come that had permission.
  void use(std::uint32_t packets) noexcept {
    ESP_ASSERT(packets <= promised_);
    promised_ -= packets;
  }
  // A peer has permission for `outstanding` packets: for how many more, now?
  std::uint32_t renew(std::uint32_t outstanding) noexcept {
    if (outstanding >= share_) return 0;
    const std::uint32_t unpromised = depth_ > promised_ ? depth_ - promised_ : 0;
    const std::uint32_t least = kFirstPermission > outstanding ? kFirstPermission - outstanding : 0;
    const std::uint32_t more = std::max(std::min(share_ - outstanding, unpromised), least);
    promised_ += more;
    return more;
  }

 private:
  void share() noexcept {
    share_ = std::clamp(depth_ / std::max(peers_, 1U), kFirstPermission, kWindowMax);
  }

  const std::uint32_t depth_;
  std::uint32_t share_ = kFirstPermission;  // of one peer
  std::uint32_t promised_ = 0;
  std::uint32_t peers_ = 0;
};

}  // namespace espalier::rdma
