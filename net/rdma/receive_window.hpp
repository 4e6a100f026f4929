// ReceiveWindow: what has come from one peer, and what is to be said about it.
//
//   expected ......... limit
//      arrived or missing     not permitted yet
//
// Packets that come too early are held, as they are, until those before them have come: everything
// is handed on once and in order. Acknowledgements say all that is known (expected, permission, the
// 128 packets after the first missing one); one is due for every eighth packet, after a delay for
// fewer, and at once when something is missing or came twice.
//
// Ownership: held packets are the port's; whoever drops the window gives them back. Threads: owner.
// path: data
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/rdma/packet_header.hpp"
#include "net/rdma/send_window.hpp"

namespace espalier::rdma {

class ReceiveWindow {
 public:
  explicit ReceiveWindow(Sequence first) noexcept
      : expected_(first), limit_(first + kFirstPermission), newest_(first + ~std::uint32_t{0}) {}
  ReceiveWindow(const ReceiveWindow&) = delete;
  ReceiveWindow& operator=(const ReceiveWindow&) = delete;

  enum class Verdict : std::uint8_t {
    kNext,    // hand it on, then those of pop_held()
    kHeld,    // the window keeps the packet
    kRefuse,  // it has come before, or without permission
  };
  Verdict arrived(Sequence sequence, Packet& packet, std::uint64_t now_ns,
                  std::uint64_t delay_ns) noexcept;
  // A held packet whose turn it is now. All of them count as arrived before the first is handed on:
  // an acknowledgement in between must not name as missing what an earlier one said had come, or
  // the sender might believe that all is said and never ask again.
  Packet* pop_held() noexcept;
  // Any held packet: the peer is given up.
  Packet* drop_held() noexcept;

  Sequence expected() const noexcept { return expected_; }
  Sequence limit() const noexcept { return limit_; }
  std::uint32_t outstanding() const noexcept {
    return static_cast<std::uint32_t>(limit_ - expected_);
  }
  void permit(std::uint32_t more) noexcept { limit_ = limit_ + more; }

  // The peer has asked.
  void answer_at_once() noexcept { answer_ns_ = 0; }
  // When an acknowledgement is due; 0: at once, kNever: none is.
  std::uint64_t answer_ns() const noexcept { return answer_ns_; }
  Acknowledgement acknowledgement(std::uint64_t now_ns) const noexcept;
  // It has been sent.
  void answered() noexcept {
    unanswered_ = 0;
    answer_ns_ = kNever;
  }

 private:
  void hold(Sequence sequence, Packet& packet) noexcept;

  Sequence expected_, limit_, newest_;
  std::uint32_t unanswered_ = 0;  // packets since the last acknowledgement
  std::uint32_t run_ = 0;         // held packets whose turn it is
  ArrivalBits early_;             // bit i: expected_ + 1 + i is held
  Packet* held_ = nullptr;        // in order: the run, then the early ones
  std::uint64_t answer_ns_ = kNever;
  std::uint64_t newest_ns_ = 0;  // when newest_ came
};

}  // namespace espalier::rdma
