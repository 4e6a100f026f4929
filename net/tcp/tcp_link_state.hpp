// What TcpLink keeps per peer and per unproven connection. Its own.
#pragma once

#include "net/peer_life.hpp"
#include "net/tcp/tcp_link.hpp"

namespace espalier::net {

struct TcpLink::Peer {
  enum class State : std::uint8_t {
    kApart,       // no connection
    kConnecting,  // an attempt is under way, or will be at retry_ns
    kLive,
    kOver,  // lost: see `life`
  };

  Peer(Rank peer, Pool<OutFrame>& frames) noexcept : rank(peer), writer(frames) {}

  const Rank rank;
  // The kernel tells when a peer has gone, so nobody is sought here while it lives.
  PeerLife life;
  State state = State::kApart;
  TcpContact contact;
  Descriptor socket;  // kLive
  FrameWriter writer;
  FrameReader reader;

  bool dirty = false;
  std::uint64_t early_ns = 0;          // in EarlyFrames
  bool full = false;                   // the socket takes nothing more until epoll says so
  int write_failure = 0;               // errno
  bool ended = false;                  // the peer has closed its side, after a goodbye
  std::uint32_t watched = 0;           // events
  bool answered = true;                // something was written to it since it was heard
  std::uint64_t wrote_at = 0;          // round in which a post wrote
  std::uint64_t missing_since_ns = 0;  // acknowledgements; 0: none are

  // kConnecting
  Meeting* attempt = nullptr;
  std::size_t address = 0;  // of the contact, tried next
  unsigned tries = 0;       // that ended during the handshake, before their time
  unsigned silences = 0;    // of addresses where somebody was and said nothing
  std::uint64_t retry_ns = kNever;
  std::uint64_t retry_after_ns = 0;
  std::string tried;  // what went wrong so far

  TcpAddress reached;  // where it is, when it is live
};

struct TcpLink::Meeting {
  enum class Stage : std::uint8_t { kConnecting, kTalking, kDismissed };

  Meeting(Descriptor connection, Handshake shake, std::size_t at) noexcept
      : socket(std::move(connection)), handshake(shake), slot(at) {}

  Descriptor socket;
  Handshake handshake;
  const std::size_t slot;
  Stage stage = Stage::kTalking;
  bool ours = false;  // this rank began it
  TcpAddress address;
  std::uint64_t begin_ns = 0;
  std::uint64_t deadline_ns = kNever;
  Handshake::Message message = {};
  std::size_t message_bytes = 0;
};

}  // namespace espalier::net
