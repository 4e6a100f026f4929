#include "net/tcp/handshake.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::net {
namespace {

// All messages begin with magic, version, kind and two bytes 0. Then come: in a hello, both ranks
// and the initiator's nonce; in a challenge, the acceptor's nonce and its proof; in the others, a
// proof.
constexpr std::uint32_t kMagic = 0x48505345;  // "ESPH"
constexpr std::byte kVersion{1};
constexpr std::size_t kVersionAt = 4, kHelloKindAt = 5, kUnusedAt = 6;
constexpr std::size_t kFromAt = 8, kToAt = 12, kHelloNonceAt = 16, kHelloBytes = 32;
constexpr std::size_t kChallengeNonceAt = 8, kChallengeProofAt = 24, kChallengeBytes = 32;
constexpr std::size_t kProofAt = 8, kProofBytes = 16;
static_assert(kHelloBytes <= Handshake::kBytesMax && kChallengeBytes <= Handshake::kBytesMax);

Rank rank_at(std::span<const std::byte> message, std::size_t at) noexcept {
  Rank rank;
  std::memcpy(&rank, message.data() + at, sizeof rank);
  return rank;
}

}  // namespace

Handshake Handshake::initiator(Rank me, Rank peer, const SipKey& secret_of_peer,
                               const Nonce& nonce) noexcept {
  Handshake made(me, true, secret_of_peer);
  made.peer_ = peer;
  made.nonce_of_initiator_ = nonce;
  made.begin_reply(Kind::kHello, kHelloBytes);
  std::memcpy(made.reply_.data() + kFromAt, &me, sizeof me);
  std::memcpy(made.reply_.data() + kToAt, &peer, sizeof peer);
  std::copy(nonce.begin(), nonce.end(), made.reply_.begin() + kHelloNonceAt);
  return made;
}

Handshake Handshake::acceptor(Rank me, int job_size, const SipKey& secret,
                              const Nonce& nonce) noexcept {
  Handshake made(me, false, secret);
  made.job_size_ = job_size;
  made.nonce_of_acceptor_ = nonce;
  return made;
}

std::size_t Handshake::expects() const noexcept {
  switch (state_) {
    case State::kHello:
      return kHelloBytes;
    case State::kChallenge:
      return kChallengeBytes;
    case State::kProof:
    case State::kVerdict:
      return kProofBytes;
    case State::kOver:
      return 0;
  }
  return 0;
}

Handshake::Step Handshake::take(std::span<const std::byte> message) noexcept {
  ESP_ASSERT(message.size() == expects());
  reply_bytes_ = 0;
  switch (state_) {
    case State::kHello:
      return take_hello(message);
    case State::kChallenge:
      return take_challenge(message);
    case State::kProof:
      return take_proof(message);
    case State::kVerdict:
      return take_verdict(message);
    case State::kOver:
      break;
  }
  return refuse("a message after the end");
}

Handshake::Step Handshake::refuse(const char* why) noexcept {
  state_ = State::kOver;
  reply_bytes_ = 0;
  why_ = why;
  return Step::kRefused;
}

bool Handshake::well_formed(std::span<const std::byte> message, Kind kind) const noexcept {
  std::uint32_t magic;
  std::memcpy(&magic, message.data(), sizeof magic);
  return magic == kMagic && message[kVersionAt] == kVersion &&
         message[kHelloKindAt] == static_cast<std::byte>(kind) &&
         message[kUnusedAt] == std::byte{0} && message[kUnusedAt + 1] == std::byte{0};
}

Handshake::Step Handshake::take_hello(std::span<const std::byte> message) noexcept {
  if (!well_formed(message, Kind::kHello)) return refuse("it does not speak this protocol");
  const Rank from = rank_at(message, kFromAt), to = rank_at(message, kToAt);
  if (to != me_) return refuse("it looks for another rank");
  if (from < 0 || from >= job_size_ || from == me_) return refuse("its rank is not of this job");
  peer_ = from;
  std::copy_n(message.begin() + kHelloNonceAt, nonce_of_initiator_.size(),
              nonce_of_initiator_.begin());
  begin_reply(Kind::kChallenge, kChallengeBytes);
  std::copy(nonce_of_acceptor_.begin(), nonce_of_acceptor_.end(),
            reply_.begin() + kChallengeNonceAt);
  reply_proof(Kind::kChallenge, kChallengeProofAt);
  state_ = State::kProof;
  return Step::kMore;
}

Handshake::Step Handshake::take_challenge(std::span<const std::byte> message) noexcept {
  if (!well_formed(message, Kind::kChallenge)) return refuse("it does not speak this protocol");
  std::copy_n(message.begin() + kChallengeNonceAt, nonce_of_acceptor_.size(),
              nonce_of_acceptor_.begin());
  if (!proves(message.subspan(kChallengeProofAt), Kind::kChallenge)) {
    return refuse("it does not know the secret");
  }
  begin_reply(Kind::kProof, kProofBytes);
  reply_proof(Kind::kProof, kProofAt);
  state_ = State::kVerdict;
  return Step::kMore;
}

Handshake::Step Handshake::take_proof(std::span<const std::byte> message) noexcept {
  if (!well_formed(message, Kind::kProof)) return refuse("it does not speak this protocol");
  if (!proves(message.subspan(kProofAt), Kind::kProof))
    return refuse("it does not know the secret");
  state_ = State::kOver;
  return Step::kProven;
}

Handshake::Step Handshake::take_verdict(std::span<const std::byte> message) noexcept {
  const bool go = well_formed(message, Kind::kGo);
  const Kind kind = go ? Kind::kGo : Kind::kDecline;
  if (!well_formed(message, kind)) return refuse("it does not speak this protocol");
  if (!proves(message.subspan(kProofAt), kind)) return refuse("it does not know the secret");
  state_ = State::kOver;
  return go ? Step::kProven : Step::kDeclined;
}

void Handshake::give_verdict(bool go) noexcept {
  const Kind kind = go ? Kind::kGo : Kind::kDecline;
  begin_reply(kind, kProofBytes);
  reply_proof(kind, kProofAt);
}

void Handshake::begin_reply(Kind kind, std::size_t bytes) noexcept {
  reply_ = {};
  std::memcpy(reply_.data(), &kMagic, sizeof kMagic);
  reply_[kVersionAt] = kVersion;
  reply_[kHelloKindAt] = static_cast<std::byte>(kind);
  reply_bytes_ = bytes;
}

void Handshake::reply_proof(Kind kind, std::size_t at) noexcept {
  const std::uint64_t hash = proof(kind);
  std::memcpy(reply_.data() + at, &hash, sizeof hash);
}

std::uint64_t Handshake::proof(Kind kind) const noexcept {
  std::array<std::byte, 8 + 4 + 4 + 16 + 16> text = {};
  const Rank initiator = initiator_ ? me_ : peer_, acceptor = initiator_ ? peer_ : me_;
  std::memcpy(text.data(), &kMagic, sizeof kMagic);
  text[kVersionAt] = kVersion;
  text[kHelloKindAt] = static_cast<std::byte>(kind);
  std::memcpy(text.data() + 8, &initiator, sizeof initiator);
  std::memcpy(text.data() + 12, &acceptor, sizeof acceptor);
  std::copy(nonce_of_initiator_.begin(), nonce_of_initiator_.end(), text.begin() + 16);
  std::copy(nonce_of_acceptor_.begin(), nonce_of_acceptor_.end(), text.begin() + 32);
  return siphash24(secret_, text);
}

bool Handshake::proves(std::span<const std::byte> claimed, Kind kind) const noexcept {
  std::uint64_t hash;
  std::memcpy(&hash, claimed.data(), sizeof hash);
  return hash == proof(kind);
}

}  // namespace espalier::net
