// Handshake: how two ranks prove to each other, over a connection that anybody could have made,
// that they belong to the job, and agree which connection is theirs.
//
//   initiator                         acceptor
//   hello: from, to, nonce       ->
//                                <-   challenge: nonce, proof of the acceptor
//   proof of the initiator       ->
//                                <-   verdict: go, or decline
//
// A proof is SipHash-2-4, with the acceptor's secret as the key, of the message's name, both ranks
// and both nonces: it cannot be used again, nor by the other side. Of two connections that both
// ranks made at once, the lower rank decides which one lives: by its verdict on those of the other,
// and by proving itself on one of its own, which the acceptor answers with go. Nobody uses a
// connection before it has the other's word (the initiator: go), so no frame is ever sent on one
// that dies, or that an acceptor had given up as a silent stranger's.
//
// No sockets here: messages in, messages out. Nothing of a message is used before all of it has
// been checked. Threads: owner. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/tcp/siphash.hpp"

namespace espalier::net {

using Nonce = std::array<std::byte, 16>;

class Handshake {
 public:
  static constexpr std::size_t kBytesMax = 32;  // of a message
  using Message = std::array<std::byte, kBytesMax>;

  enum class Step : std::uint8_t {
    kMore,      // send reply(), wait for the next message
    kProven,    // the peer is whom it says; an acceptor gives its verdict
    kDeclined,  // the peer is whom it says, and uses another connection
    kRefused,   // why() says what is wrong
  };

  // Its reply() is the hello.
  static Handshake initiator(Rank me, Rank peer, const SipKey& secret_of_peer,
                             const Nonce& nonce) noexcept;
  // Does not know yet with whom it speaks.
  static Handshake acceptor(Rank me, int job_size, const SipKey& secret,
                            const Nonce& nonce) noexcept;

  // Bytes of the message that comes next; 0: none does.
  std::size_t expects() const noexcept;
  // A message of that many bytes.
  Step take(std::span<const std::byte> message) noexcept;
  // What to send after construction or take(); may be empty.
  std::span<const std::byte> reply() const noexcept { return {reply_.data(), reply_bytes_}; }
  // The acceptor's: makes the reply. Declines only where decides().
  void give_verdict(bool go) noexcept;

  bool decides() const noexcept { return me_ < peer_; }
  // This rank began it and waits for the verdict.
  bool has_proven_itself() const noexcept { return initiator_ && state_ == State::kVerdict; }
  // This rank has picked this connection.
  bool committed() const noexcept { return decides() && has_proven_itself(); }
  Rank peer() const noexcept { return peer_; }  // kNoRank: not known yet; not proven before kProven
  const char* why() const noexcept { return why_; }

 private:
  enum class State : std::uint8_t { kHello, kChallenge, kProof, kVerdict, kOver };
  enum class Kind : std::uint8_t { kHello = 1, kChallenge, kProof, kGo, kDecline };

  Handshake(Rank me, bool initiator, const SipKey& secret) noexcept
      : me_(me),
        initiator_(initiator),
        state_(initiator ? State::kChallenge : State::kHello),
        secret_(secret) {}

  Step take_hello(std::span<const std::byte> message) noexcept;
  Step take_challenge(std::span<const std::byte> message) noexcept;
  Step take_proof(std::span<const std::byte> message) noexcept;
  Step take_verdict(std::span<const std::byte> message) noexcept;
  Step refuse(const char* why) noexcept;
  bool well_formed(std::span<const std::byte> message, Kind kind) const noexcept;
  bool proves(std::span<const std::byte> claimed, Kind kind) const noexcept;
  std::uint64_t proof(Kind kind) const noexcept;
  void begin_reply(Kind kind, std::size_t bytes) noexcept;
  void reply_proof(Kind kind, std::size_t at) noexcept;

  Rank me_;
  Rank peer_ = kNoRank;
  int job_size_ = 0;
  bool initiator_;
  State state_;
  SipKey secret_;
  Nonce nonce_of_initiator_ = {};
  Nonce nonce_of_acceptor_ = {};
  Message reply_ = {};
  std::size_t reply_bytes_ = 0;
  const char* why_ = "";
};

}  // namespace espalier::net
