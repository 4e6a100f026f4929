// JobNodes: which ranks share a node, that is, memory.
//
// Same machine, same network namespace (in which its ranks meet) and, unless the settings say
// otherwise, same name of the node by the launcher: the nodes that `esp-run --nodes` emulates are
// nodes. Values; a function of the cards, so all ranks agree. path: setup
#pragma once

#include <cstdint>
#include <vector>

#include "bootstrap/card.hpp"
#include "core/rank_list.hpp"

namespace espalier {

struct JobNodes {
  std::vector<std::int32_t> node_of;  // by rank; numbered by their lowest ranks
  std::vector<Rank> leaders;          // by node: its lowest rank
  RankList locals;                    // ranks of this node
  std::uint32_t local_index = 0;
  std::size_t largest = 1;  // ranks of the node that has most: equal for all
  int machine_ranks = 1;    // ranks that compete for this machine's cores, of whatever node
  int usable_cpus = 1;      // of all of them together

  // `share`: ranks of a node may use shared memory; without, everybody is a node.
  static JobNodes of(const std::vector<Card>& cards, Rank me, bool share);

  std::int32_t count() const noexcept { return static_cast<std::int32_t>(leaders.size()); }
  bool several() const noexcept { return leaders.size() > 1; }
  bool is_local(Rank a, Rank b) const noexcept {
    return node_of[static_cast<std::size_t>(a)] == node_of[static_cast<std::size_t>(b)];
  }
  bool crowded() const noexcept { return machine_ranks > usable_cpus; }
  // Of the most crowded processor, if they are spread evenly.
  std::uint64_t ranks_per_cpu() const noexcept {
    return static_cast<std::uint64_t>((machine_ranks + usable_cpus - 1) / usable_cpus);
  }
};

// Why two ranks are not on one node, for people.
const char* why_no_memory(const Card& mine, const Card& theirs) noexcept;

}  // namespace espalier
