// Where members lie: from numbers of places to an order, groups and heads.
#include "coll/team/team_nodes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/assert.hpp"

namespace espalier {

namespace {

using Localities = std::span<const MemberLocality>;
using NetworkPlaces = std::span<const NetworkPlace>;

// Where members are, as numbers by first appearance: one per level of switches, the node, and one
// more per inner level.
constexpr std::size_t kNode = kSwitchLevels;
using Address = std::array<std::int32_t, kSwitchLevels + 1 + kLocalityLevels>;
using LevelOrder = std::array<LocalityLevel, kLocalityLevels>;  // from the outside to the inside

// The first `levels` numbers of an address are a group's.
bool same_group(const Address& a, const Address& b, std::size_t levels) {
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(levels), b.begin());
}

// Numbers the groups of `level` by their lowest members; `value_of(member)` tells them apart.
template <typename Value>
void number(std::vector<Address>& addresses, std::size_t level, Value&& value_of) {
  std::map<std::pair<Address, std::int32_t>, std::int32_t> numbers;
  for (std::size_t m = 0; m < addresses.size(); ++m) {
    Address outer = addresses[m];
    std::fill(outer.begin() + static_cast<std::ptrdiff_t>(level), outer.end(), 0);
    const auto next = static_cast<std::int32_t>(numbers.size());
    addresses[m][level] = numbers.try_emplace(std::pair(outer, value_of(m)), next).first->second;
  }
}

std::int32_t at(const MemberLocality& place, LocalityLevel level) {
  return place[static_cast<std::size_t>(level)];
}

// By level: the nodes with a member that is not bound to one place of it.
using Unbound = std::array<std::set<std::int32_t>, kLocalityLevels>;
Unbound find_unbound(const std::vector<Address>& addresses, Localities locality_of) {
  Unbound unbound;
  for (std::size_t m = 0; m < addresses.size(); ++m) {
    for (std::size_t level = 0; level < kLocalityLevels; ++level) {
      if (locality_of[m][level] < 0) unbound[level].insert(addresses[m][kNode]);
    }
  }
  return unbound;
}

// The level with the fewest groups first. Counted on the nodes that have all levels that any has.
LevelOrder order_levels(const std::vector<Address>& addresses, Localities locality_of,
                        const Unbound& unbound, std::size_t nodes) {
  std::set<std::int32_t> skipped;
  for (const std::set<std::int32_t>& some : unbound) {
    if (some.size() < nodes) skipped.insert(some.begin(), some.end());
  }
  std::array<std::set<std::pair<std::int32_t, std::int32_t>>, kLocalityLevels> groups;
  for (std::size_t m = 0; m < addresses.size(); ++m) {
    const std::int32_t node = addresses[m][kNode];
    for (std::size_t level = 0; level < kLocalityLevels && skipped.count(node) == 0; ++level) {
      groups[level].emplace(node, locality_of[m][level]);
    }
  }
  LevelOrder order = {LocalityLevel::kBoard, LocalityLevel::kSocket, LocalityLevel::kNuma,
                      LocalityLevel::kCache};
  std::stable_sort(order.begin(), order.end(), [&](LocalityLevel a, LocalityLevel b) {
    return groups[static_cast<std::size_t>(a)].size() < groups[static_cast<std::size_t>(b)].size();
  });
  return order;
}

std::vector<Address> addresses_of(std::span<const std::int32_t> node_of, Localities locality_of,
                                  NetworkPlaces network_of, LevelOrder& order) {
  std::vector<Address> addresses(node_of.size(), Address{});
  for (std::size_t k = 0; k < kSwitchLevels; ++k) {
    const auto switch_of = [&](std::size_t m) { return network_of[m].switches[k]; };
    const bool several = std::ranges::any_of(network_of, [&](const NetworkPlace& place) {
      return place.switches[k] != network_of.front().switches[k];
    });
    if (several) number(addresses, k, switch_of);
  }
  number(addresses, kNode, [&](std::size_t m) { return node_of[m]; });
  if (locality_of.empty()) return addresses;
  const Unbound unbound = find_unbound(addresses, locality_of);
  std::int32_t nodes = 0;
  for (const Address& address : addresses) nodes = std::max(nodes, address[kNode] + 1);
  order = order_levels(addresses, locality_of, unbound, static_cast<std::size_t>(nodes));
  for (std::size_t k = 0; k < kLocalityLevels; ++k) {
    const std::set<std::int32_t>& without = unbound[static_cast<std::size_t>(order[k])];
    number(addresses, kNode + 1 + k, [&](std::size_t m) {
      return without.count(addresses[m][kNode]) > 0 ? -1 : at(locality_of[m], order[k]);
    });
  }
  return addresses;
}

// Whether each of the `outer` groups that the `inner` ones divide is bound to one NUMA node.
template <typename Numa>
bool divide_one_memory(const std::vector<std::int32_t>& outer,
                       const std::vector<std::int32_t>& inner, Numa&& numa_at) {
  for (std::size_t k = 1; k < outer.size(); ++k) {
    const std::int32_t begin = outer[k - 1], end = outer[k];
    if (*std::upper_bound(inner.begin(), inner.end(), begin) == end) continue;
    for (std::int32_t p = begin; p < end; ++p) {
      if (numa_at(p) < 0 || numa_at(p) != numa_at(begin)) return false;
    }
  }
  return true;
}

std::int32_t largest_of(const std::vector<std::int32_t>& begin) {
  std::int32_t largest = 0;
  for (std::size_t k = 1; k < begin.size(); ++k) {
    largest = std::max(largest, begin[k] - begin[k - 1]);
  }
  return largest;
}

// How many of the `inner` groups lie at most in one of the outer ones; both by their first
// positions, and the end.
std::int32_t widest_of(const std::vector<std::int32_t>& outer,
                       const std::vector<std::int32_t>& inner) {
  std::int32_t widest = 0;
  auto from = inner.begin();
  for (std::size_t k = 1; k < outer.size(); ++k) {
    const auto to = std::lower_bound(from, inner.end(), outer[k]);
    widest = std::max(widest, static_cast<std::int32_t>(to - from));
    from = to;
  }
  return widest;
}

}  // namespace

const char* locality_level_name(LocalityLevel level) noexcept {
  switch (level) {
    case LocalityLevel::kBoard:
      return "board";
    case LocalityLevel::kSocket:
      return "socket";
    case LocalityLevel::kNuma:
      return "NUMA node";
    case LocalityLevel::kCache:
      return "cache";
  }
  return "unknown";
}

MemberLocality member_locality(const Locality& place) noexcept {
  return {place.board, place.package, place.numa, place.llc};
}

TeamNodes TeamNodes::of(std::span<const std::int32_t> node_of,
                        std::span<const MemberLocality> locality_of,
                        std::span<const NetworkPlace> network_of) {
  ESP_ASSERT(locality_of.empty() || locality_of.size() == node_of.size());
  ESP_ASSERT(network_of.empty() || network_of.size() == node_of.size());
  const auto members = static_cast<std::int32_t>(node_of.size());
  LevelOrder levels = {};
  const std::vector<Address> addresses = addresses_of(node_of, locality_of, network_of, levels);
  const auto address = [&](std::int32_t member) -> const Address& {
    return addresses[static_cast<std::size_t>(member)];
  };
  TeamNodes made;
  std::vector<std::int32_t> order(node_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return address(a) < address(b); });
  const auto begins = [&](std::size_t numbers) {
    std::vector<std::int32_t> firsts;
    for (std::int32_t p = 0; p < members; ++p) {
      const bool first =
          p == 0 || !same_group(address(at(order, p - 1)), address(at(order, p)), numbers);
      if (first) firsts.push_back(p);
    }
    firsts.push_back(members);
    return firsts;
  };
  const auto numa_at = [&](std::int32_t position) {
    const auto member = static_cast<std::size_t>(at(order, position));
    return espalier::at(locality_of[member], LocalityLevel::kNuma);
  };
  made.begin = begins(kNode + 1);
  for (std::size_t k = 0; k < kSwitchLevels; ++k) {
    std::vector<std::int32_t> firsts = begins(k + 1);
    const std::size_t outside = made.outer.empty() ? 2 : made.outer.back().begin.size();
    if (firsts.size() <= outside || firsts.size() == made.begin.size()) continue;
    made.outer.push_back({std::move(firsts), {}});
  }
  for (std::size_t k = 0; k < kLocalityLevels; ++k) {
    std::vector<std::int32_t> firsts = begins(kNode + 2 + k);
    const std::vector<std::int32_t>& outer =
        made.inner.empty() ? made.begin : made.inner.back().begin;
    if (firsts.size() == outer.size() || firsts.size() == addresses.size() + 1) continue;
    if (made.in_one_memory > 0 || divide_one_memory(outer, firsts, numa_at)) ++made.in_one_memory;
    made.inner.push_back({{std::move(firsts), {}}, levels[k]});
  }
  made.measure();
  made.set_order(std::move(order));
  made.choose_heads(network_of);
  return made;
}

std::vector<std::int32_t> TeamNodes::parts_of(std::span<const std::int32_t> node_of,
                                              std::span<const std::uint64_t> part_of) {
  ESP_ASSERT(part_of.size() == node_of.size());
  std::map<std::int32_t, std::uint64_t> first;  // by node
  for (std::size_t m = 0; m < node_of.size(); ++m) {
    if (part_of[m] != 0) first.try_emplace(node_of[m], part_of[m]);
  }
  std::map<std::pair<std::int32_t, std::uint64_t>, std::int32_t> numbers;
  std::set<std::int32_t> nodes;
  std::vector<std::int32_t> numbered;
  numbered.reserve(node_of.size());
  for (std::size_t m = 0; m < node_of.size(); ++m) {
    const std::uint64_t part = part_of[m] != 0 ? part_of[m] : first[node_of[m]];
    const auto next = static_cast<std::int32_t>(numbers.size());
    numbered.push_back(numbers.try_emplace({node_of[m], part}, next).first->second);
    nodes.insert(node_of[m]);
  }
  if (numbers.size() == nodes.size()) numbered.clear();
  return numbered;
}

TeamNodes TeamNodes::without_levels_in_one_memory(std::span<const NetworkPlace> network_of) const {
  TeamNodes made = *this;
  made.inner.erase(made.inner.end() - static_cast<std::ptrdiff_t>(in_one_memory), made.inner.end());
  made.in_one_memory = 0;
  made.by_memory = nullptr;
  made.leaders = nullptr;
  made.measure();
  made.choose_heads(network_of);
  return made;
}

// What follows from `outer`, `begin` and `inner`.
void TeamNodes::measure() {
  largest = largest_of(begin);
  equal_ = size() == largest * count() ? largest : 0;
  largest_group = inner.empty() ? largest : largest_of(inner.back().begin);
  widest = {count()};
  const std::vector<std::int32_t>* outside = &begin;
  for (const LocalityGroups& groups : inner) {
    widest.push_back(widest_of(*outside, groups.begin));
    outside = &groups.begin;
  }
  widest.push_back(largest_group);
  widest_outer.clear();
  const std::vector<std::int32_t> all = {0, size()};
  outside = &all;
  for (const MemberGroups& groups : outer) {
    widest_outer.push_back(widest_of(*outside, groups.begin));
    outside = &groups.begin;
  }
  if (!outer.empty()) widest_outer.push_back(widest_of(*outside, begin));
}

// From the inside to the outside. A group's depth is how many hops its farthest member is from its
// head: as many as inside its deepest subgroup, or, where others are as deep, one more.
void TeamNodes::choose_heads(std::span<const NetworkPlace> network_of) {
  std::vector<MemberGroups*> levels;  // from the inside to the outside
  for (std::size_t k = inner.size(); k-- > 0;) levels.push_back(&inner[k]);
  levels.push_back(this);
  for (std::size_t k = outer.size(); k-- > 0;) levels.push_back(&outer[k]);
  const auto far = [&](std::int32_t position) {
    const auto member = static_cast<std::size_t>(member_at(position));
    return network_of.empty() ? 0 : network_of[member].to_adapter;
  };
  std::vector<std::int32_t> begins(static_cast<std::size_t>(size()) + 1);  // of the subgroups
  std::iota(begins.begin(), begins.end(), 0);                              // at first members
  std::vector<std::int32_t> their_heads = begins, depths(begins.size());
  for (MemberGroups* const level : levels) {
    MemberGroups& groups = *level;
    std::vector<std::int32_t> found, found_depths;
    std::size_t next = 0;
    for (std::size_t g = 1; g < groups.begin.size(); ++g) {
      std::size_t deepest = next;
      bool several = false;
      while (begins[++next] < groups.begin[g]) {
        if (depths[next] < depths[deepest]) continue;
        several = depths[next] == depths[deepest];
        if (!several || far(their_heads[next]) < far(their_heads[deepest])) deepest = next;
      }
      found.push_back(their_heads[deepest]);
      found_depths.push_back(depths[deepest] + (several ? 1 : 0));
    }
    const bool first_of_each = std::equal(found.begin(), found.end(), groups.begin.begin());
    groups.heads = first_of_each ? std::vector<std::int32_t>{} : found;
    begins = groups.begin;
    their_heads = std::move(found);
    depths = std::move(found_depths);
  }
}

// By the first rule that gives this order.
void TeamNodes::set_order(std::vector<std::int32_t> order) {
  const std::int32_t members = size();
  for (const Rule rule : {Rule::kInOrder, Rule::kDealt, Rule::kTable}) {
    rule_ = rule;
    if (rule == Rule::kTable) break;
    std::int32_t p = 0;
    while (p < members && member_at(p) == at(order, p)) ++p;
    if (p == members) return;
  }
  position_.resize(order.size());
  for (std::int32_t p = 0; p < members; ++p) {
    position_[static_cast<std::size_t>(at(order, p))] = p;
  }
  order_ = std::move(order);
}

// Which node's part of the order holds the position.
std::int32_t TeamNodes::search(std::int32_t position) const noexcept {
  const auto next = std::upper_bound(begin.begin(), begin.end(), position);
  return static_cast<std::int32_t>(next - begin.begin()) - 1;
}

std::size_t TeamNodes::bytes() const noexcept {
  std::size_t entries = begin.capacity() + order_.capacity() + position_.capacity();
  entries += heads.capacity();
  for (const MemberGroups& groups : outer) {
    entries += groups.begin.capacity() + groups.heads.capacity();
  }
  for (const LocalityGroups& groups : inner) {
    entries += groups.begin.capacity() + groups.heads.capacity();
  }
  return entries * sizeof(std::int32_t);
}

std::size_t TeamNodes::shared_levels(std::int32_t a, std::int32_t b) const noexcept {
  const std::int32_t low = std::min(position_of(a), position_of(b));
  const std::int32_t high = std::max(position_of(a), position_of(b));
  std::size_t shared = 0;
  for (const LocalityGroups& groups : inner) {
    // One group, if none begins between the two.
    const auto next = std::upper_bound(groups.begin.begin(), groups.begin.end(), low);
    if (*next > high) ++shared;
  }
  return shared;
}

}  // namespace espalier
