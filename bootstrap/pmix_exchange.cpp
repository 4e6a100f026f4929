#include "bootstrap/pmix_exchange.hpp"

#include <fmt/format.h>

#include <string>

#include "bootstrap/card_deck.hpp"
#include "bootstrap/pmix_client.hpp"

namespace espalier::pmix {
namespace {

struct Keys {
  std::string card;
  std::string deck;
};

// A process may join its job several times (several esp_job at once); all ranks do so in the same
// order, so the number of exchanges before this one tells them apart. PMIx itself remembers it.
Keys unused_keys(const pmix_proc_t& self) {
  for (int number = 0;; ++number) {
    Keys keys{fmt::format("espalier.card.{}", number), fmt::format("espalier.deck.{}", number)};
    if (!has_published(self, keys.card)) return keys;
  }
}

// No rank is named: PMIx does not say whom it lost, and drops the cards of the others too.
Error without_some() {
  return error(ESP_ERR_PEER_DIED, "a rank ended while the cards of the job were exchanged");
}

Result<std::vector<OptionalCard>> fetch_each(const pmix_proc_t& self, int size,
                                             const std::string& key) {
  std::vector<OptionalCard> cards;
  cards.reserve(static_cast<std::size_t>(size));
  for (Rank rank = 0; rank < size; ++rank) {
    Result<OptionalCard> card = fetch(process(self, rank), key);
    if (!card) return card.error();
    cards.push_back(std::move(*card));
  }
  return cards;
}

// Rank 0 takes part in the second fence even when it has no deck to show: the others wait in it.
Result<std::vector<OptionalCard>> fetch_deck(const pmix_proc_t& self, int size, const Keys& keys) {
  Result<std::vector<OptionalCard>> own = error(ESP_ERR_BOOTSTRAP, "not rank 0");
  if (self.rank == 0) {
    own = fetch_each(self, size, keys.card);
    if (own) {
      if (Outcome published = publish(keys.deck, pack_deck(*own)); !published) {
        own = published.error();
      }
    }
  }
  const Result<FenceEnd> collected = fence(self, Fence::kCollect);
  if (!collected) return collected.error();
  if (collected.value() == FenceEnd::kWithoutSome) return without_some();
  if (self.rank == 0) return own;
  const Result<OptionalCard> deck = fetch(process(self, 0), keys.deck);
  if (!deck) return deck.error();
  if (!deck.value()) {
    return error(ESP_ERR_PEER_DIED, "rank 0 ended before it passed on the cards of the job", 0);
  }
  return unpack_deck(*deck.value(), size);
}

}  // namespace

Result<Cards> exchange_cards(const pmix_proc_t& self, int size, std::span<const std::byte> card) {
  const Keys keys = unused_keys(self);
  if (Outcome published = publish(keys.card, card); !published) return published.error();
  // All members see the same end of a fence, so none goes on alone into the next one.
  const Result<FenceEnd> collected = fence(self, Fence::kCollect);
  if (!collected) return collected.error();
  if (collected.value() == FenceEnd::kWithoutSome) return without_some();

  Result<std::vector<OptionalCard>> found =
      size <= kDirectRanksMax ? fetch_each(self, size, keys.card) : fetch_deck(self, size, keys);
  if (!found) return found.error();
  Cards cards;
  cards.reserve(found->size());
  for (OptionalCard& one : *found) {
    if (!one) {
      const auto rank = static_cast<Rank>(cards.size());
      return error(ESP_ERR_PEER_DIED,
                   fmt::format("rank {} ended before it had joined the job", rank), rank);
    }
    cards.push_back(std::move(*one));
  }
  return cards;
}

}  // namespace espalier::pmix
