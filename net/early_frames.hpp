// EarlyFrames: the peers to which frames cannot leave yet although their owners were told that they
// are done; Link::flush() says so, but not for longer than kFlushPatienceNs of a peer in a row.
//
// `Peer` has `std::uint64_t early_ns`, the time since when; 0: it is not among them.
// Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "net/link.hpp"

namespace espalier::net {

template <typename Peer>
class EarlyFrames {
 public:
  void note(Peer& peer, Clock& clock) noexcept {
    if (peer.early_ns != 0) return;
    peer.early_ns = std::max<std::uint64_t>(clock.now_ns(), 1);
    peers_.push_back(&peer);
  }

  // Forgets those whose frames do not wait any more. True: for none that is left it is worth to.
  template <typename Waits>
  bool flushed(Clock& clock, Waits&& waits) noexcept {
    if (peers_.empty()) [[likely]]
      return true;
    const std::uint64_t now_ns = clock.now_ns();
    bool worth_it = false;
    std::erase_if(peers_, [&](Peer* peer) {
      const bool stays = waits(*peer);
      worth_it = worth_it || (stays && elapsed_ns(peer->early_ns, now_ns) < kFlushPatienceNs);
      if (!stays) peer->early_ns = 0;
      return !stays;
    });
    return !worth_it;
  }

 private:
  std::vector<Peer*> peers_;
};

}  // namespace espalier::net
