// The exchange of cards through PMIx: every rank gives one, every rank gets all.
//
// A PMIx server answers look-ups in one thread, one message each, so N ranks of a node that fetch N
// cards cost N^2 messages. From kDirectRanksMax up rank 0 fetches all cards, publishes them as one
// deck, and the others fetch that: 2N messages and one more fence.
//
//   publish card | fence | rank 0: fetch N cards, publish deck | fence | fetch deck
//
// Path: setup.
#pragma once

#include <pmix.h>

#include <cstddef>
#include <span>
#include <vector>

#include "core/status.hpp"

namespace espalier::pmix {

using Cards = std::vector<std::vector<std::byte>>;

// Up to here every rank fetches each card itself.
inline constexpr int kDirectRanksMax = 4;

// Collective over the job. ESP_ERR_PEER_DIED when a rank died on the way, named if PMIx shows
// which.
Result<Cards> exchange_cards(const pmix_proc_t& self, int size, std::span<const std::byte> card);

}  // namespace espalier::pmix
