// JobNodes: which ranks share a node, that is, memory.
//
// Same machine, same network namespace (in which its ranks meet) and, unless the settings say
// otherwise, same name of the node by the launcher: the nodes that `esp-run --nodes` emulates are
// nodes. Which node every rank is on is in the directory. Values; a function of the cards, so all
// ranks agree (directory_maker.hpp). path: setup
#pragma once

#include <cstdint>
#include <vector>

#include "bootstrap/card.hpp"
#include "core/rank_list.hpp"

namespace espalier {

struct JobNodes {
  int ranks = 1;                  // of the job
  std::vector<Rank> leaders;      // by node: its lowest rank
  std::int32_t own = 0;           // the number of this node
  RankList locals;                // its ranks
  std::vector<Card> cards;        // theirs, without addresses
  std::uint32_t local_index = 0;  // of this rank
  std::size_t largest = 1;        // ranks of the node that has most: equal for all
  int machine_ranks = 1;          // ranks that compete for this machine's cores, of whatever node
  int usable_cpus = 1;            // of all of them together

  std::int32_t count() const noexcept { return static_cast<std::int32_t>(leaders.size()); }
  bool several() const noexcept { return leaders.size() > 1; }
  bool is_local(Rank rank) const noexcept { return locals.contains(rank); }
  // Of a rank of this node.
  const Card& card(Rank rank) const noexcept { return cards[locals.index_of(rank)]; }
  bool crowded() const noexcept { return machine_ranks > usable_cpus; }
  // Of the most crowded processor, if they are spread evenly.
  std::uint64_t ranks_per_cpu() const noexcept {
    return static_cast<std::uint64_t>((machine_ranks + usable_cpus - 1) / usable_cpus);
  }
};

// Of a machine without a name others may be, too, and who cannot be met shares nothing.
constexpr bool can_share_memory(std::uint64_t machine, std::uint64_t net_namespace) noexcept {
  return machine != 0 && net_namespace != 0;
}

}  // namespace espalier
