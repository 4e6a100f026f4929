#include "tools/esp-sim/goal.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "tools/esp-sim/grid.hpp"

namespace esp_sim {
namespace {

using espalier::Action;
using espalier::Dependency;
using espalier::Plan;
using espalier::Vertex;

// Labels of one rank: each index of a vertex has as many consecutive ones as it has operations. A
// publication has one per reader and a last one that joins them, on which others depend.
class Labels {
 public:
  explicit Labels(const Plan& plan) {
    std::uint64_t next = 1;
    for (const Vertex& vertex : plan.vertices) {
      const bool is_many = vertex.action == Action::kPublish;
      per_index_.push_back(is_many ? vertex.peers.size() + 1 : 1);
      first_.push_back(next);
      next += per_index_.back() * vertex.indices.count;
    }
  }

  std::uint64_t first(std::size_t vertex, std::uint64_t index) const {
    return first_[vertex] + index * per_index_[vertex];
  }
  std::uint64_t last(std::size_t vertex, std::uint64_t index) const {
    return first(vertex, index) + per_index_[vertex] - 1;
  }

 private:
  std::vector<std::uint64_t> first_, per_index_;
};

class RankBlock {
 public:
  RankBlock(const Plan& plan, double reduce_ns_per_byte, std::ostream& out)
      : plan_(plan),
        labels_(plan),
        tags_(tags_of(plan.layout(espalier::Place::kOutput))),
        reduce_ns_per_byte_(reduce_ns_per_byte),
        out_(out) {}

  void write() {
    fmt::print(out_, "rank {} {{\n", plan_.rank);
    for_each_index([this](std::size_t v, std::uint32_t i) { write_operation(v, i); });
    // Labels must be known before they are required, and windows point back across vertices.
    for_each_index([this](std::size_t v, std::uint32_t i) { write_requirements(v, i); });
    fmt::print(out_, "}}\n");
  }

 private:
  // Tags of a channel: pieces of as many blocks as there are, each as long as the longest. Equal on
  // all ranks where a plan has several channels.
  std::uint64_t tags_of(const espalier::Layout& output) const {
    std::uint64_t longest = 0;
    for (std::uint32_t b = 0; b < output.blocks; ++b) {
      longest = std::max(longest, output.length(b));
      if (output.kind != espalier::Layout::Kind::kCounts) break;
    }
    return std::uint64_t{output.blocks} * std::max(1U, plan_.pieces_of(longest));
  }

  template <typename Visit>
  void for_each_index(Visit visit) {
    for (std::size_t v = 0; v < plan_.vertices.size(); ++v) {
      for (std::uint32_t i = 0; i < plan_.vertices[v].indices.count; ++i) visit(v, i);
    }
  }

  void write_operation(std::size_t v, std::uint32_t i) {
    const Vertex& vertex = plan_.vertices[v];
    const std::uint64_t bytes = plan_.length_elements(vertex, i) * plan_.element_bytes;
    const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
    const std::uint64_t tag = vertex.channel * tags_ + plan_.position(vertex, i).ordinal;
    std::uint64_t label = labels_.first(v, i);
    if (vertex.skips_empty && (bytes == 0 || plan_.peer(vertex, i) == plan_.rank)) {
      while (label <= labels_.last(v, i)) fmt::print(out_, "l{}: calc 0\n", label++);
      return;
    }
    switch (vertex.action) {
      case Action::kRecv:
      case Action::kRecvView:
        fmt::print(out_, "l{}: recv {}b from {} tag {}\n", label, size, plan_.peer(vertex, i), tag);
        break;
      case Action::kSend:
        fmt::print(out_, "l{}: send {}b to {} tag {}\n", label, size, plan_.peer(vertex, i), tag);
        break;
      case Action::kPublish:
        for (const std::int32_t peer : vertex.peers) {
          fmt::print(out_, "l{}: send {}b to {} tag {}\n", label++, size, peer, tag);
        }
        fmt::print(out_, "l{}: calc 0\n", label);
        break;
      case Action::kAwait:
      case Action::kDeliver:
        fmt::print(out_, "l{}: calc 0\n", label);
        break;
      case Action::kCombine: {
        const auto operands = static_cast<double>(vertex.operands.size());
        const double ns = static_cast<double>(bytes) * operands * reduce_ns_per_byte_;
        fmt::print(out_, "l{}: calc {}\n", label, std::llround(ns));
        break;
      }
    }
  }

  void write_requirements(std::size_t v, std::uint32_t i) {
    const Vertex& vertex = plan_.vertices[v];
    const std::uint64_t first = labels_.first(v, i), last = labels_.last(v, i);
    for (std::uint64_t label = first; label < last; ++label) require(last, label);
    const std::uint64_t end = std::max(first + 1, last);  // of what does the work
    for (std::uint64_t label = first; label < end; ++label) {
      for (const Dependency& need : vertex.needs) require_index(v, label, i, need);
      require_index(v, label, i, {.vertex = static_cast<std::uint16_t>(v), .shift = vertex.window});
    }
  }

  void require_index(std::size_t v, std::uint64_t label, std::uint32_t i, const Dependency& need) {
    const espalier::Indices& other = plan_.vertices[need.vertex].indices;
    const std::uint32_t count = other.count;
    if (need.whole) {
      const espalier::Indices& mine = plan_.vertices[v].indices;
      const std::uint32_t first = need.batch > 0 ? mine.before_batch(other, i, need.batch) : count;
      for (std::uint32_t k = 0; k < first; ++k) require(label, labels_.last(need.vertex, k));
      return;
    }
    const std::int64_t needed = i - need.distance(plan_.vertices[v].indices.inner);
    if (needed < 0 || needed >= std::int64_t{count}) return;
    require(label, labels_.last(need.vertex, static_cast<std::uint64_t>(needed)));
  }
  void require(std::uint64_t label, std::uint64_t needed) {
    fmt::print(out_, "l{} requires l{}\n", label, needed);
  }

  const Plan& plan_;
  Labels labels_;
  std::uint64_t tags_;
  double reduce_ns_per_byte_;
  std::ostream& out_;
};

}  // namespace

void write_goal_rank(const Plan& plan, double reduce_ns_per_byte, std::ostream& out) {
  RankBlock(plan, reduce_ns_per_byte, out).write();
}

espalier::Outcome write_goal(const espalier::PlanRequest& request, double reduce_ns_per_byte,
                             std::ostream& out, const espalier::sim::UnevenBlocks& blocks) {
  fmt::print(out, "num_ranks {}\n", request.size);
  espalier::PlanRequest own = request;
  const bool on_grid = espalier::traits_of(request.collective).neighbors;
  for (own.rank = 0; own.rank < request.size; ++own.rank) {
    espalier::Neighbors near;
    if (on_grid) {
      near = espalier::sim::grid_neighbors(own.rank, static_cast<std::uint32_t>(request.size));
      own.neighbors = &near;
    }
    auto plan = espalier::make_plan(own);
    espalier::Binding binding;
    if (plan && plan.value().irregular) {
      plan =
          espalier::bound(plan.value(), blocks.input(own.rank), blocks.output(own.rank), binding);
    }
    if (!plan) return plan.error();
    fmt::print(out, "\n");
    write_goal_rank(plan.value(), reduce_ns_per_byte, out);
  }
  return espalier::Unit{};
}

}  // namespace esp_sim
