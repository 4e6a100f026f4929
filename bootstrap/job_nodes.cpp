#include "bootstrap/job_nodes.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

namespace espalier {
namespace {

// Of a machine without a name others may be, too, and who cannot be met shares nothing.
bool is_alone(const Card& card) noexcept {
  return card.machine == 0 || card.net_namespace == 0;
}

}  // namespace

const char* why_no_memory(const Card& mine, const Card& theirs) noexcept {
  if (mine.machine != theirs.machine || std::strcmp(mine.node, theirs.node) != 0) {
    return "another node";
  }
  if (is_alone(mine)) return "no Unix sockets or no /proc here";
  if (is_alone(theirs)) return "no Unix sockets or no /proc there";
  return "another network namespace of this machine";
}

JobNodes JobNodes::of(const std::vector<Card>& cards, Rank me, bool share) {
  using Name = std::tuple<std::uint64_t, std::uint64_t, std::string, Rank>;
  JobNodes made;
  std::map<Name, std::int32_t> numbers;
  const Card& mine = cards[static_cast<std::size_t>(me)];
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  made.machine_ranks = 0;
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const Card& card = cards[r];
    const auto rank = static_cast<Rank>(r);
    const bool shares = share && !is_alone(card);
    const Name name(card.machine, card.net_namespace, card.node, shares ? kNoRank : rank);
    const auto [at, is_new] = numbers.emplace(name, made.count());
    if (is_new) made.leaders.push_back(rank);
    made.node_of.push_back(at->second);
    if (card.machine != mine.machine) continue;
    ++made.machine_ranks;
    CPU_OR(&cpus, &cpus, &card.cpus);
  }
  std::vector<std::size_t> members(made.leaders.size());
  for (const std::int32_t node : made.node_of) {
    made.largest = std::max(made.largest, ++members[static_cast<std::size_t>(node)]);
  }
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (!made.is_local(rank, me)) continue;
    if (rank == me) made.local_index = static_cast<std::uint32_t>(made.locals.size());
    made.locals.push_back(rank);
  }
  made.usable_cpus = std::max(1, CPU_COUNT(&cpus));
  return made;
}

}  // namespace espalier
