// Where members lie, and a member's place in a tree that follows it, put together from its places
// in the trees of its groups.
#include "coll/team/team_nodes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "coll/algorithms/trees.hpp"
#include "core/assert.hpp"

namespace espalier {

namespace {

// Where members are, as numbers by first appearance: node, and one more per inner level.
using Address = std::array<std::int32_t, 1 + kLocalityLevels>;

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

std::vector<Address> addresses_of(std::span<const std::int32_t> node_of,
                                  std::span<const MemberLocality> locality_of) {
  std::vector<Address> addresses(node_of.size(), Address{});
  number(addresses, 0, [&](std::size_t m) { return node_of[m]; });
  for (std::size_t level = 0; level < kLocalityLevels && !locality_of.empty(); ++level) {
    std::set<std::int32_t> unbound;  // nodes
    for (std::size_t m = 0; m < addresses.size(); ++m) {
      if (locality_of[m][level] < 0) unbound.insert(addresses[m][0]);
    }
    number(addresses, level + 1, [&](std::size_t m) {
      return unbound.count(addresses[m][0]) > 0 ? -1 : locality_of[m][level];
    });
  }
  return addresses;
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
    case LocalityLevel::kSocket:
      return "socket";
    case LocalityLevel::kNuma:
      return "NUMA node";
    case LocalityLevel::kCache:
      return "cache";
  }
  return "unknown";
}

TeamNodes TeamNodes::of(std::span<const std::int32_t> node_of,
                        std::span<const MemberLocality> locality_of) {
  ESP_ASSERT(locality_of.empty() || locality_of.size() == node_of.size());
  const auto members = static_cast<std::int32_t>(node_of.size());
  const std::vector<Address> addresses = addresses_of(node_of, locality_of);
  const auto address = [&](std::int32_t member) -> const Address& {
    return addresses[static_cast<std::size_t>(member)];
  };
  TeamNodes made;
  std::vector<std::int32_t> order(node_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return address(a) < address(b); });
  const auto begins = [&](std::size_t levels) {
    std::vector<std::int32_t> firsts;
    for (std::int32_t p = 0; p < members; ++p) {
      const bool first =
          p == 0 || !same_group(address(at(order, p - 1)), address(at(order, p)), levels);
      if (first) firsts.push_back(p);
    }
    firsts.push_back(members);
    return firsts;
  };
  made.begin = begins(1);
  made.largest = made.largest_group = largest_of(made.begin);
  if (members == made.largest * made.count()) made.equal_ = made.largest;
  made.widest = {made.count()};
  std::size_t groups = made.begin.size();
  for (std::size_t level = 0; level < kLocalityLevels; ++level) {
    std::vector<std::int32_t> firsts = begins(level + 2);
    if (firsts.size() == groups || firsts.size() == addresses.size() + 1) continue;
    groups = firsts.size();
    made.largest_group = largest_of(firsts);
    const std::vector<std::int32_t>& outer =
        made.inner.empty() ? made.begin : made.inner.back().begin;
    made.widest.push_back(widest_of(outer, firsts));
    made.inner.push_back({static_cast<LocalityLevel>(level), std::move(firsts)});
  }
  made.widest.push_back(made.largest_group);
  // The first rule that gives this order.
  for (const Rule rule : {Rule::kInOrder, Rule::kDealt, Rule::kTable}) {
    made.rule_ = rule;
    if (rule == Rule::kTable) break;
    const auto given = [&](std::int32_t p) { return made.member_at(p) == at(order, p); };
    std::int32_t p = 0;
    while (p < members && given(p)) ++p;
    if (p == members) return made;
  }
  made.position_.resize(order.size());
  for (std::int32_t p = 0; p < members; ++p) {
    made.position_[static_cast<std::size_t>(at(order, p))] = p;
  }
  made.order_ = std::move(order);
  return made;
}

// Which node's part of the order holds the position.
std::int32_t TeamNodes::search(std::int32_t position) const noexcept {
  const auto next = std::upper_bound(begin.begin(), begin.end(), position);
  return static_cast<std::int32_t>(next - begin.begin()) - 1;
}

std::size_t TeamNodes::bytes() const noexcept {
  std::size_t entries = begin.capacity() + order_.capacity() + position_.capacity();
  for (const LocalityGroups& groups : inner) entries += groups.begin.capacity();
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

// ---- trees ----

namespace {

// The levels as partitions of the positions, from the outside to the inside: all in one group, the
// nodes, the groups of each inner level, every position alone.
class Partitions {
 public:
  explicit Partitions(const TeamNodes& nodes) : nodes_(nodes), size_(nodes.size()) {}

  std::size_t depth() const { return nodes_.inner.size() + 2; }  // of the last one
  // The group that holds a position; of the end: the number of groups.
  std::int32_t group(std::size_t level, std::int32_t position) const {
    if (level == 0) return position < size_ ? 0 : 1;
    if (level == depth()) return position;
    const std::vector<std::int32_t>& begin = begins(level);
    return static_cast<std::int32_t>(std::upper_bound(begin.begin(), begin.end(), position) -
                                     begin.begin()) -
           1;
  }
  std::int32_t begin(std::size_t level, std::int32_t group) const {
    if (level == 0) return group == 0 ? 0 : size_;
    return level == depth() ? group : begins(level)[static_cast<std::size_t>(group)];
  }

 private:
  const std::vector<std::int32_t>& begins(std::size_t level) const {
    return level == 1 ? nodes_.begin : nodes_.inner[level - 2].begin;
  }

  const TeamNodes& nodes_;
  const std::int32_t size_;
};

// The tree over the groups of `level` + 1 in one of `level`. In rank order: so every subtree is a
// run of groups, whatever the root.
TreeSpec spec_of(const TreeSpec& spec, std::size_t level, std::int32_t groups) {
  const NodePlan& plan = spec.nodes;
  LevelShape shape{plan.inside, plan.inside_radix};
  if (level == 0) {
    shape = {spec.shape, spec.radix};
  } else if (level <= plan.nodes->inner.size()) {
    shape = plan.between[static_cast<std::size_t>(plan.nodes->inner[level - 1].level)];
  }
  return {.shape = shape.shape, .radix = shape.radix, .size = groups, .rank_order = true};
}

// A rank's place, put together from its places in the trees of its groups: from the innermost to
// that of level `outermost`. A group's head is its first member, or the root where that is inside.
TreeNode assemble(const TreeSpec& spec, std::int32_t rank, std::size_t outermost) {
  const TeamNodes& nodes = *spec.nodes.nodes;
  const Partitions parts(nodes);
  const std::int32_t me = nodes.position_of(rank);
  const std::int32_t root = nodes.position_of(spec.root);
  const auto head = [&](std::size_t level, std::int32_t group) {
    const std::int32_t first = parts.begin(level, group);
    const bool holds_root = first <= root && root < parts.begin(level, group + 1);
    return nodes.member_at(holds_root ? root : first);
  };
  TreeNode node;
  std::vector<TreeChild> lower, higher;  // children before this rank in the order, and after it
  for (std::size_t level = parts.depth(); level-- > outermost && node.parent < 0;) {
    const std::int32_t group = parts.group(level, me);
    const std::int32_t begin = parts.begin(level, group), end = parts.begin(level, group + 1);
    const std::int32_t first = parts.group(level + 1, begin);
    TreeSpec inside = spec_of(spec, level, parts.group(level + 1, end) - first);
    if (begin <= root && root < end) inside.root = parts.group(level + 1, root) - first;
    const TreeNode mine = tree_node(inside, parts.group(level + 1, me) - first);
    if (mine.parent >= 0) node.parent = head(level + 1, first + mine.parent);
    std::vector<TreeChild> children;
    for (const TreeChild& child : mine.children) {
      const std::int32_t at = first + child.rank;
      children.push_back({head(level + 1, at), parts.begin(level + 1, at + child.subtree_ranks) -
                                                   parts.begin(level + 1, at)});
    }
    const auto cut = children.begin() + static_cast<std::ptrdiff_t>(mine.before);
    lower.insert(lower.begin(), children.begin(), cut);
    higher.insert(higher.end(), cut, children.end());
  }
  node.before = lower.size();
  node.children = std::move(lower);
  node.children.insert(node.children.end(), higher.begin(), higher.end());
  return node;
}

}  // namespace

TreeNode tree_node_inside(const TreeSpec& spec, std::int32_t rank) {
  return assemble(spec, rank, 1);
}

TreeNode tree_node_of_nodes(const TreeSpec& spec, std::int32_t rank) {
  return assemble(spec, rank, 0);
}

std::int64_t degree_bound_of_nodes(const TreeSpec& spec) {
  const std::vector<std::int32_t>& most = spec.nodes.nodes->widest;
  std::int64_t children = 0;
  for (std::size_t level = 0; level < most.size(); ++level) {
    const std::int32_t widest = most[level];
    if (widest > 1) children += tree_degree_bound(spec_of(spec, level, widest));
  }
  return std::min<std::int64_t>(children, spec.size - 1);
}

}  // namespace espalier
