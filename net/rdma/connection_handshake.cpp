#include "net/rdma/connection_handshake.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/plant.hpp"
#include "net/rdma/bytes.hpp"

namespace espalier::rdma {
namespace {

// "ECL" and the version of this layout.
constexpr std::uint32_t kMagic = 0x024c4345;
constexpr std::size_t kKindAt = 4, kLetterEpochAt = 8, kWindowAt = 12, kLetterExpectedAt = 16,
                      kEndAt = 24;
static_assert(kEndAt + sizeof(ConnectionAddress) == Letter::kBytes);
static_assert(Letter::kBytes <= 256);

}  // namespace

std::array<std::byte, Letter::kBytes> letter_bytes(const Letter& letter) noexcept {
  std::array<std::byte, Letter::kBytes> bytes{};
  store(&bytes[0], kMagic);
  store(&bytes[kKindAt], static_cast<std::uint32_t>(letter.kind));
  store(&bytes[kLetterEpochAt], letter.epoch);
  if (letter.kind == LetterKind::kReady || letter.kind == LetterKind::kNoRoom) return bytes;
  store(&bytes[kWindowAt], letter.window);
  store(&bytes[kLetterExpectedAt], letter.expected);
  std::memcpy(&bytes[kEndAt], letter.end.bytes.data(), letter.end.bytes.size());
  return bytes;
}

Result<Letter> parse_letter(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != Letter::kBytes) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("a letter of {} bytes instead of {}", bytes.size(), Letter::kBytes));
  }
  if (load<std::uint32_t>(&bytes[0]) != kMagic) {
    return error(ESP_ERR_NETWORK, "a letter of another version, or none of this library");
  }
  const auto kind = load<std::uint32_t>(&bytes[kKindAt]);
  if (kind < 1 || kind > 4) return error(ESP_ERR_NETWORK, fmt::format("letter kind {}", kind));
  Letter letter;
  letter.kind = static_cast<LetterKind>(kind);
  letter.epoch = load<std::uint32_t>(&bytes[kLetterEpochAt]);
  if (letter.epoch == 0) return error(ESP_ERR_NETWORK, "a letter of epoch 0");
  if (letter.kind == LetterKind::kReady || letter.kind == LetterKind::kNoRoom) return letter;
  letter.window = load<std::uint32_t>(&bytes[kWindowAt]);
  letter.expected = load<std::uint64_t>(&bytes[kLetterExpectedAt]);
  std::memcpy(letter.end.bytes.data(), &bytes[kEndAt], letter.end.bytes.size());
  return letter;
}

ConnectionHandshake::Step ConnectionHandshake::receive_request(std::uint32_t epoch) noexcept {
  const bool yields = state_ == State::kAsking && ESP_PLANT(62, !precedes_, true);
  if (epoch > epoch_ || (epoch == epoch_ && yields)) {
    epoch_ = epoch;
    state_ = State::kAnswering;
    asked_ = false;
    return Step::kAnswer;
  }
  if (epoch != epoch_) return Step::kNothing;
  if (state_ == State::kRefused) return Step::kRepeatRefusal;
  return state_ == State::kAnswering ? Step::kRepeatAnswer : Step::kNothing;
}

ConnectionHandshake::Step ConnectionHandshake::receive(LetterKind kind,
                                                       std::uint32_t epoch) noexcept {
  if (kind == LetterKind::kRequest) return receive_request(epoch);
  if (ESP_PLANT(63, epoch != epoch_, false)) return Step::kNothing;
  if (kind == LetterKind::kReply) {
    if (state_ == State::kUp && asked_) return Step::kRepeatReady;
    if (state_ != State::kAsking) return Step::kNothing;
    state_ = State::kUp;
    return Step::kConnect;
  }
  if (kind == LetterKind::kNoRoom) {
    if (state_ != State::kAsking) return Step::kNothing;
    state_ = State::kIdle;
    return Step::kNoRoom;
  }
  if (state_ != State::kAnswering) return Step::kNothing;
  state_ = State::kUp;
  return Step::kGo;
}

}  // namespace espalier::rdma
