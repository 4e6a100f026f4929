// All cards of a job as one block of bytes, so that they can be handed on together.
//
// Layout, in the byte order of the job's (equal) machines: for each rank the card's length as
// 64 bits, kMissing when there is no card; then the cards without gaps. Path: setup.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/status.hpp"

namespace espalier {

using OptionalCard = std::optional<std::vector<std::byte>>;

std::vector<std::byte> pack_deck(std::span<const OptionalCard> cards);
// Checks every length against what is there: the bytes come from another process.
Result<std::vector<OptionalCard>> unpack_deck(std::span<const std::byte> deck, int size);

}  // namespace espalier
