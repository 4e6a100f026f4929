// Gather and scatter: blocks of all ranks to one of them, and back.
//
//   linear  each block straight between its rank and the root, which has one vertex for all
//   tree    a rank's message holds the blocks of its subtree, in the order of the tree: its own,
//           then those of its children, child after child
//
// Blocks that stand behind each other at the root as they do in a message go there without a copy;
// others by way of a buffer in the order of the tree (a root that is not rank 0, nodes whose ranks
// are not neighbours).
#include <algorithm>
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

bool is_gather(const PlanRequest& request) {
  return traits_of(request.collective).root_gets;
}

class Linear {
 public:
  explicit Linear(const PlanRequest& request)
      : builder_(request),
        gathers_(is_gather(request)),
        me_(request.rank),
        root_(request.root),
        size_(request.size) {}

  Result<Plan> make() {
    if (me_ == root_) {
      Vertex v = vertex(gathers_ ? Action::kRecv : Action::kSend);
      v.steps = static_cast<std::uint32_t>(size_ - 1);
      v.peer = v.block = Steps::affine((root_ + 1) % size_, 1, size_);
      builder_.add(std::move(v));
      add_own();
    } else {
      Vertex v = vertex(gathers_ ? Action::kSend : Action::kRecv);
      v.peer = Steps::constant(root_);
      builder_.add(std::move(v));
    }
    return builder_.finish();
  }

 private:
  Vertex vertex(Action action) const {
    Vertex v;
    v.action = action;
    const bool sends = action == Action::kSend;
    v.window = sends ? builder_.window_send() : builder_.window_recv();
    v.skips_empty = true;
    if (sends) v.src = v.shape = Place::kInput;
    if (!sends) v.dst = Place::kOutput;
    return v;
  }
  // Of a scatter in place it stays in the input.
  void add_own() {
    if (!gathers_ && builder_.request().in_place) return;
    Vertex copy = vertex(Action::kCombine);
    copy.operands = {{.place = Place::kInput}};
    copy.block = gathers_ ? Steps::constant(root_) : Steps::constant(0);
    copy.elsewhere = true;
    copy.from = gathers_ ? Steps::constant(0) : Steps::constant(root_);
    builder_.add(std::move(copy));
  }

  Builder builder_;
  bool gathers_;
  std::int32_t me_, root_, size_;
};

class Tree {
 public:
  explicit Tree(const PlanRequest& request)
      : builder_(request, 1, static_cast<std::uint32_t>(request.size)),
        gathers_(is_gather(request)),
        me_(request.rank),
        node_(node_of(request.rank)) {}

  Result<Plan> make() {
    if (node_.parent < 0) {
      make_root();
    } else if (node_.children.empty()) {
      make_leaf();
    } else {
      make_inner();
    }
    return builder_.finish();
  }

 private:
  TreeNode node_of(std::int32_t rank) const {
    const PlanRequest& request = builder_.request();
    return tree_node({.shape = request.shape,
                      .radix = request.radix,
                      .size = request.size,
                      .root = request.root,
                      .nodes = request.nodes},
                     rank);
  }
  // The ranks of a subtree, in the order of its messages.
  std::vector<std::int32_t> list(std::int32_t head) const {
    std::vector<std::int32_t> ranks, later = {head};
    while (!later.empty()) {
      ranks.push_back(later.back());
      later.pop_back();
      const std::vector<TreeChild> children = node_of(ranks.back()).children;
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        later.push_back(child->rank);
      }
    }
    return ranks;
  }

  // A message with `peer`: `run` blocks of `place` from block `first` on.
  VertexId add_message(bool sends, std::int32_t peer, Place place, std::int32_t first,
                       std::int32_t run) {
    Vertex v;
    v.action = sends ? Action::kSend : Action::kRecv;
    v.window = sends ? builder_.window_send() : builder_.window_recv();
    v.skips_empty = true;
    v.shape = place;
    (sends ? v.src : v.dst) = place;
    v.peer = Steps::constant(peer);
    v.block = Steps::constant(first);
    v.run = static_cast<std::uint32_t>(run);
    return builder_.add(std::move(v));
  }
  VertexId add_copy(Place dst, const Steps& to, Place src, const Steps& from,
                    std::uint32_t steps = 1) {
    Vertex copy;
    copy.action = Action::kCombine;
    copy.window = builder_.window_recv();
    copy.skips_empty = true;
    copy.steps = steps;
    copy.dst = copy.shape = dst;
    copy.block = to;
    copy.operands = {{.place = src}};
    copy.elsewhere = true;
    copy.from = from;
    return builder_.add(std::move(copy));
  }
  Place add_blocks(std::int32_t blocks) {
    return builder_.add_scratch({.kind = Layout::Kind::kUniform,
                                 .blocks = static_cast<std::uint32_t>(blocks),
                                 .elements = builder_.request().elements});
  }

  void make_leaf() {
    add_message(gathers_, node_.parent, gathers_ ? Place::kInput : Place::kOutput, 0, 1);
  }

  void make_inner() {
    std::int32_t ranks = 1;
    for (const TreeChild& child : node_.children) ranks += child.subtree_ranks;
    const Place blocks = add_blocks(ranks);
    if (gathers_) {
      std::vector<VertexId> filled = add_children(blocks, 1);
      filled.push_back(add_copy(blocks, Steps::constant(0), Place::kInput, Steps::constant(0)));
      const VertexId sent = add_message(true, node_.parent, blocks, 0, ranks);
      for (const VertexId before : filled) builder_.need_all(sent, before);
      return;
    }
    const VertexId received = add_message(false, node_.parent, blocks, 0, ranks);
    for (const VertexId sent : add_children(blocks, 1)) builder_.need_all(sent, received);
    const VertexId copied =
        add_copy(Place::kOutput, Steps::constant(0), blocks, Steps::constant(0));
    builder_.need_all(copied, received);
  }

  // Messages with the children; their blocks stand behind each other from `first` on.
  std::vector<VertexId> add_children(Place place, std::int32_t first) {
    std::vector<VertexId> messages;
    for (const TreeChild& child : node_.children) {
      messages.push_back(add_message(!gathers_, child.rank, place, first, child.subtree_ranks));
      first += child.subtree_ranks;
    }
    return messages;
  }

  void make_root() {
    const Place user = gathers_ ? Place::kOutput : Place::kInput;
    Place blocks = Place::kNone;  // those of children whose ranks are not neighbours
    std::int32_t used = 0;
    for (const TreeChild& child : node_.children) {
      std::vector<std::int32_t> ranks = list(child.rank);
      const std::int32_t run = child.subtree_ranks;
      const bool in_order = std::adjacent_find(ranks.begin(), ranks.end(), [](auto a, auto b) {
                              return b != a + 1;
                            }) == ranks.end();
      if (in_order) {
        add_message(!gathers_, child.rank, user, child.rank, run);
        continue;
      }
      if (blocks == Place::kNone) blocks = add_blocks(builder_.request().size - 1);
      const Steps there = Steps::affine(used, 1, builder_.request().size);
      const auto steps = static_cast<std::uint32_t>(run);
      const Steps here = builder_.plan().add_table(std::move(ranks));
      if (gathers_) {
        const VertexId received = add_message(false, child.rank, blocks, used, run);
        builder_.need_all(add_copy(user, here, blocks, there, steps), received);
      } else {
        const VertexId copied = add_copy(blocks, there, user, here, steps);
        builder_.need_all(add_message(true, child.rank, blocks, used, run), copied);
      }
      used += run;
    }
    if (gathers_) {
      add_copy(Place::kOutput, Steps::constant(me_), Place::kInput, Steps::constant(0));
    } else if (!builder_.request().in_place) {
      add_copy(Place::kOutput, Steps::constant(0), Place::kInput, Steps::constant(me_));
    }
  }

  Builder builder_;
  bool gathers_;
  std::int32_t me_;
  TreeNode node_;
};

Result<Plan> make_rooted(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_TREE) return Tree(request).make();
  return Linear(request).make();
}

}  // namespace

Result<Plan> make_gather(const PlanRequest& request) {
  return make_rooted(request);
}
Result<Plan> make_scatter(const PlanRequest& request) {
  return make_rooted(request);
}

}  // namespace espalier
