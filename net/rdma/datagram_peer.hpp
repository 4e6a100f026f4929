// What a DatagramLink keeps of one peer; private to datagram_link*.cpp.
//
// Made when something is first said to the peer or heard of it, and kept until the link ends. What
// grows with the traffic (packets, Flights, posts) is the link's and is here only while in use.
#pragma once

#include "core/intrusive_list.hpp"
#include "core/timer_queue.hpp"
#include "net/peer_life.hpp"
#include "net/rdma/frame_stream.hpp"
#include "net/rdma/receive_window.hpp"
#include "net/rdma/send_window.hpp"

namespace espalier::rdma {

class DatagramLink;

struct DatagramPeer final : ListNode {
  // One timer for all but acknowledgements: it may ring too early, never too late.
  struct Alarm final : Timer {
    explicit Alarm(DatagramPeer& owner) noexcept;
    DatagramPeer& peer;
  };

  // An acknowledgement that waits for company. All wait equally long, so the link keeps them in the
  // order of their coming, which costs less than a timer for each packet.
  struct Answer final : ListNode {
    explicit Answer(DatagramPeer& owner) noexcept : peer(owner) {}
    DatagramPeer& peer;
  };

  DatagramPeer(DatagramLink& owner, Rank number, Sequence first) noexcept
      : link(owner), rank(number), alarm(*this), answer(*this), send(first), receive(first) {}

  bool has_posts() const noexcept { return posts != nullptr || filling != nullptr; }
  // Nothing is unanswered but perhaps this side's goodbye.
  bool owes_nothing() const noexcept {
    return !has_posts() && (send.idle() || (life.has_said_goodbye() && send.reach() == 1));
  }
  // Everything said has been acknowledged; and the peer's goodbye, if this was ours.
  bool settled() const noexcept {
    if (life.lost()) return buried && !refuse;
    const bool answered = receive.answer_ns() == kNever;
    return !has_posts() && send.idle() && !life.goodbye_due() && (!life.parts() || answered);
  }

  DatagramLink& link;
  const Rank rank;
  PathId path = {};
  net::PeerLife life;
  bool buried = false;      // it is lost, and what was kept for it is given back
  bool reachable = false;   // there is a path; else one is looked for, or it is lost
  bool tried = false;       // a path has been looked for
  bool probing = false;     // it is asked whether it lives
  bool ask = false;         // with the next packet
  bool refuse = false;      // it is told that it was given up
  std::uint8_t probes = 0;  // without an answer
  Alarm alarm;
  Answer answer;
  SendWindow send;
  ReceiveWindow receive;
  FrameReader reader;
  FramePost* posts = nullptr;  // frames that are not in packets yet
  FramePost* last_post = nullptr;
  Packet* filling = nullptr;  // has frames and room for more
  std::uint64_t heard_ns = 0;
  std::uint64_t probing_since_ns = 0;  // or since when a path is looked for
  std::uint64_t next_probe_ns = 0;     // or the next look for a path
};
static_assert(sizeof(DatagramPeer) <= 512);

}  // namespace espalier::rdma
