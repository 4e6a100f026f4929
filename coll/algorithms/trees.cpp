#include "coll/algorithms/trees.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace espalier {
namespace {

using Position = std::int64_t;

// Positions [begin, end); the subtree's head is `begin`, except in two-tree halves.
struct Range {
  Position begin = 0;
  Position end = 0;
};

// Of a subtree with its head at offset 0 and `ranks` ranks: the child range that holds `offset`,
// 1 <= offset < ranks. The child ranges of a head are found by asking for offset 1, then for each
// range's end.
Range child_range(const TreeSpec& spec, Position ranks, Position offset) {
  ESP_ASSERT(1 <= offset && offset < ranks);
  switch (spec.shape) {
    case ESP_SHAPE_FLAT:
    case ESP_SHAPE_DOUBLE_LEADER:  // below the root
      return {offset, offset + 1};
    case ESP_SHAPE_BINARY:
    case ESP_SHAPE_KARY: {  // nearly equal parts: the lowest possible k-ary tree
      const Position parts =
          std::min<Position>(spec.shape == ESP_SHAPE_BINARY ? 2 : spec.radix, ranks - 1);
      const Position small = (ranks - 1) / parts;
      const Position extra = (ranks - 1) % parts;  // the first `extra` parts have one more
      const Position in_large = extra * (small + 1);
      const Position at = offset - 1;
      const Position part = at < in_large ? at / (small + 1) : extra + (at - in_large) / small;
      const Position begin = 1 + part * small + std::min(part, extra);
      return {begin, begin + small + (part < extra ? 1 : 0)};
    }
    case ESP_SHAPE_BINOMIAL:
    case ESP_SHAPE_KNOMIAL: {  // a child per nonzero digit d at place k^l: offset d * k^l
      const Position radix = spec.shape == ESP_SHAPE_BINOMIAL ? 2 : spec.radix;
      Position place = 1;
      while (place * radix <= offset) place *= radix;
      const Position begin = offset / place * place;
      return {begin, std::min(begin + place, ranks)};
    }
    default:  // chain, and the one range under the root of a two-tree
      return {1, ranks};
  }
}

// Of the root: child_range, cut at the position of rank 0 if the tree keeps rank order.
Range root_child_range(const TreeSpec& spec, Position offset) {
  Range range = spec.shape == ESP_SHAPE_DOUBLE_LEADER ? Range{1, spec.size}
                                                      : child_range(spec, spec.size, offset);
  const Position rank_zero = spec.size - spec.root;
  if (!spec.rank_order || rank_zero <= range.begin || range.end <= rank_zero) return range;
  if (offset < rank_zero) {
    range.end = rank_zero;
  } else {
    range.begin = rank_zero;
  }
  return range;
}

std::int32_t rank_at(const TreeSpec& spec, Position position) {
  return static_cast<std::int32_t>((spec.root + position) % spec.size);
}

// ---- one half of a two-tree over a range ----
//
// An in-order binary tree over labels low..high. A label's height is the number of its trailing
// zero bits, so odd labels are leaves; half 0 labels the range's positions 1, 2, ..., half 1 labels
// them 2, 3, ..., and each position is odd in one of them.
class InOrderTree {
 public:
  InOrderTree(Range range, int half) : range_(range), low_(1 + half) {
    high_ = low_ + (range.end - range.begin) - 1;
  }

  Position head() const {
    Position top = 1;
    while (top * 2 <= high_) top *= 2;
    return position(top);
  }

  // The parent's position, or -1 for the head.
  Position parent(Position at) const {
    if (at == head()) return -1;
    const Position x = label(at);
    const Position bit = x & -x;
    const Position up = (x ^ bit) | (bit * 2);  // x - bit or x + bit, whichever is higher up
    return position(up <= high_ ? up : x - bit);
  }

  // Appends the child ranges (subtree and its head) on the lower and on the upper side.
  void children(Position at, std::vector<TreeChild>& out, const TreeSpec& spec,
                std::size_t& before) const {
    const Position x = label(at);
    const Position bit = x & -x;
    if (bit > 1 && x - bit / 2 >= low_) {
      out.push_back(child(spec, x - bit / 2, x - std::max(low_, x - bit + 1)));
      before = out.size();
    }
    if (bit > 1 && x < high_) {
      Position step = bit / 2;
      while (x + step > high_) step /= 2;
      out.push_back(child(spec, x + step, std::min(high_, x + bit - 1) - x));
    }
  }

 private:
  Position label(Position at) const { return at - range_.begin + low_; }
  Position position(Position x) const { return x - low_ + range_.begin; }
  TreeChild child(const TreeSpec& spec, Position x, Position ranks) const {
    return {rank_at(spec, position(x)), static_cast<std::int32_t>(ranks)};
  }

  Range range_;
  Position low_;
  Position high_ = 0;
};

TreeNode root_node(const TreeSpec& spec) {
  TreeNode node;
  const Position rank_zero = spec.rank_order ? spec.size - spec.root : spec.size;
  std::size_t after = 0;  // children at positions below that of rank 0
  for (Position offset = 1; offset < spec.size;) {
    const Range range = root_child_range(spec, offset);
    const Position head =
        spec.shape == ESP_SHAPE_TWO_TREE ? InOrderTree(range, spec.half).head() : range.begin;
    node.children.push_back(
        {rank_at(spec, head), static_cast<std::int32_t>(range.end - range.begin)});
    if (range.begin < rank_zero) after = node.children.size();
    offset = range.end;
  }
  // In rank order the ranks from 0 to root - 1 come first, then the root, then the others.
  node.before = node.children.size() - after;
  std::rotate(node.children.begin(), node.children.begin() + static_cast<std::ptrdiff_t>(after),
              node.children.end());
  return node;
}

// A rank whose subtree is [begin, end) with the head first.
void add_children(const TreeSpec& spec, Range subtree, TreeNode& node) {
  const Position ranks = subtree.end - subtree.begin;
  for (Position offset = 1; offset < ranks;) {
    const Range range = child_range(spec, ranks, offset);
    node.children.push_back({rank_at(spec, subtree.begin + range.begin),
                             static_cast<std::int32_t>(range.end - range.begin)});
    offset = range.end;
  }
}

TreeNode inner_node(const TreeSpec& spec, Position at) {
  TreeNode node;
  Range subtree = root_child_range(spec, at);
  Position parent = 0;
  if (spec.shape == ESP_SHAPE_TWO_TREE) {
    const InOrderTree tree(subtree, spec.half);
    node.parent = rank_at(spec, std::max<Position>(tree.parent(at), 0));
    tree.children(at, node.children, spec, node.before);
    return node;
  }
  if (spec.shape == ESP_SHAPE_CHAIN && subtree.begin < at) {  // no walk along the chain
    parent = at - 1;
    subtree.begin = at;
  }
  while (subtree.begin < at) {
    const Range range = child_range(spec, subtree.end - subtree.begin, at - subtree.begin);
    parent = subtree.begin;
    subtree = {parent + range.begin, parent + range.end};
  }
  node.parent = rank_at(spec, parent);
  add_children(spec, subtree, node);
  return node;
}

}  // namespace

TreeNode tree_node(const TreeSpec& spec, std::int32_t rank) {
  ESP_ASSERT(0 <= rank && rank < spec.size);
  ESP_ASSERT(0 <= spec.root && spec.root < spec.size);
  ESP_ASSERT(spec.half == 0 || (spec.half == 1 && spec.shape == ESP_SHAPE_TWO_TREE));
  if (spec.nodes.follow) return tree_node_of_nodes(spec, rank);
  TreeSpec walked = spec;
  if (spec.shape == ESP_SHAPE_KARY && spec.radix == 1) walked.shape = ESP_SHAPE_CHAIN;
  const Position at = (static_cast<Position>(rank) - spec.root + spec.size) % spec.size;
  return at == 0 ? root_node(walked) : inner_node(walked, at);
}

std::int64_t tree_degree_bound(const TreeSpec& spec) {
  if (spec.nodes.follow) return degree_bound_of_nodes(spec);
  const std::int64_t others = spec.size - 1;
  std::int64_t children = 1;
  switch (spec.shape) {
    case ESP_SHAPE_FLAT:
    case ESP_SHAPE_DOUBLE_LEADER:
      return others;
    case ESP_SHAPE_BINARY:
    case ESP_SHAPE_TWO_TREE:
      children = 2;
      break;
    case ESP_SHAPE_KARY:
      children = spec.radix;
      break;
    case ESP_SHAPE_BINOMIAL:
    case ESP_SHAPE_KNOMIAL: {
      const std::int64_t radix = spec.shape == ESP_SHAPE_BINOMIAL ? 2 : spec.radix;
      children = 0;
      for (std::int64_t place = 1; place <= others; place *= radix) {
        children += std::min(radix - 1, others / place);
      }
      break;
    }
    default:
      break;
  }
  return std::min(children + (spec.rank_order ? 1 : 0), others);
}

const char* shape_name(esp_shape shape) noexcept {
  switch (shape) {
    case ESP_SHAPE_AUTO:
      return "auto";
    case ESP_SHAPE_FLAT:
      return "flat";
    case ESP_SHAPE_CHAIN:
      return "chain";
    case ESP_SHAPE_BINARY:
      return "binary";
    case ESP_SHAPE_BINOMIAL:
      return "binomial";
    case ESP_SHAPE_KARY:
      return "k-ary";
    case ESP_SHAPE_KNOMIAL:
      return "k-nomial";
    case ESP_SHAPE_TWO_TREE:
      return "two-tree";
    case ESP_SHAPE_DOUBLE_LEADER:
      return "double-leader";
    default:
      return "unknown";
  }
}

}  // namespace espalier
