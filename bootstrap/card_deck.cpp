#include "bootstrap/card_deck.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

namespace espalier {
namespace {

constexpr std::uint64_t kMissing = std::numeric_limits<std::uint64_t>::max();

Error malformed() {
  return error(ESP_ERR_BOOTSTRAP, "the cards that rank 0 passed on are malformed");
}

}  // namespace

std::vector<std::byte> pack_deck(std::span<const OptionalCard> cards) {
  std::vector<std::byte> deck(cards.size() * sizeof(std::uint64_t));
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const std::uint64_t length = cards[rank] ? cards[rank]->size() : kMissing;
    std::memcpy(deck.data() + rank * sizeof(length), &length, sizeof(length));
    if (cards[rank]) deck.insert(deck.end(), cards[rank]->begin(), cards[rank]->end());
  }
  return deck;
}

Result<std::vector<OptionalCard>> unpack_deck(std::span<const std::byte> deck, int size) {
  std::vector<OptionalCard> cards(static_cast<std::size_t>(size));
  const std::size_t head_bytes = cards.size() * sizeof(std::uint64_t);
  if (deck.size() < head_bytes) return malformed();
  std::span<const std::byte> rest = deck.subspan(head_bytes);
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    std::uint64_t length = 0;
    std::memcpy(&length, deck.data() + rank * sizeof(length), sizeof(length));
    if (length == kMissing) continue;
    if (length > rest.size()) return malformed();
    cards[rank].emplace(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length));
    rest = rest.subspan(length);
  }
  if (!rest.empty()) return malformed();
  return cards;
}

}  // namespace espalier
