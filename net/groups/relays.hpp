// Relays: frames that are passed on to several members from one buffer, which goes back to the pool
// when all have been posted.
//
// Ownership: owns frames and buffers until then, whatever becomes of the group. Threads: owner.
// path: data
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/intrusive_list.hpp"
#include "core/pool.hpp"
#include "net/groups/group_host.hpp"

namespace espalier::net {

class Relays {
 public:
  static constexpr std::size_t kReadersMax = 4;

  Relays(GroupHost& host, Counters& counters) noexcept : host_(host), counters_(counters) {}
  ~Relays();
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  // The buffer holds header.bytes bytes. Without memory its readers are lost: they would wait for
  // ever.
  void send(std::span<const Rank> readers, const FrameHeader& header, std::byte* buffer) noexcept;
  bool idle() const noexcept { return under_way_.empty(); }

 private:
  struct Relay;
  struct Part : Completion {
    Part() noexcept : Completion(&on_sent) {}
    Relay* relay = nullptr;
    Rank to = kNoRank;
    bool pending = false;
    OutgoingFrame frame{*this};
  };
  struct Relay : ListNode {
    Relays* owner = nullptr;
    std::byte* buffer = nullptr;
    std::uint32_t waiting = 0;
    std::array<Part, kReadersMax> parts;
  };
  static void on_sent(Completion& completion, Status status) noexcept;
  void finish(Relay& relay) noexcept;

  GroupHost& host_;
  Counters& counters_;
  Pool<Relay> pool_;
  IntrusiveList<Relay> under_way_;
};

}  // namespace espalier::net
