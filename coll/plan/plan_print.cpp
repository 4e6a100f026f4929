// Plans for people: one line per vertex, and Graphviz. path: setup
#include <fmt/format.h>

#include <iterator>

#include "coll/plan/plan.hpp"

namespace espalier {
namespace {

const char* action_name(Action action) {
  switch (action) {
    case Action::kRecv:
      return "recv";
    case Action::kRecvView:
      return "view";
    case Action::kSend:
      return "send";
    case Action::kPublish:
      return "publish";
    case Action::kCombine:
      return "combine";
  }
  return "?";
}

const char* place_name(Place place) {
  switch (place) {
    case Place::kNone:
      return "-";
    case Place::kInput:
      return "input";
    case Place::kOutput:
      return "output";
    case Place::kScratch:
      return "scratch";
    case Place::kAccumulator:
      return "accumulator";
    case Place::kView:
      return "view";
  }
  return "?";
}

// "rank 3", "ranks 2, 1, ..., 5" or "all others".
std::string describe_peers(const Plan& plan, const Vertex& v) {
  if (v.action == Action::kPublish) return fmt::format("to {} ranks", v.peers.size());
  const char* to = v.action == Action::kSend ? "to" : "from";
  const std::int32_t first = plan.peer(v, 0);
  if (v.count == v.inner) return fmt::format("{} {}", to, first);
  return fmt::format("{} {} by {:+} until {}", to, first, v.peer_step, plan.peer(v, v.count - 1));
}

std::string describe_operands(const Vertex& v) {
  std::string text = fmt::format("{} = ", place_name(v.dst));
  for (std::size_t k = 0; k < v.operands.size(); ++k) {
    if (k > 0) text += " op ";
    const Operand& operand = v.operands[k];
    text += operand.place == Place::kView ? fmt::format("v{}", operand.vertex)
                                          : std::string(place_name(operand.place));
  }
  return text;
}

// What the vertex does, without indices and edges.
std::string describe_action(const Plan& plan, const Vertex& v) {
  switch (v.action) {
    case Action::kCombine:
      return fmt::format("combine {}", describe_operands(v));
    case Action::kRecv:
      return fmt::format("recv {} {}", place_name(v.dst), describe_peers(plan, v));
    case Action::kRecvView:
      return fmt::format("view {}", describe_peers(plan, v));
    default:
      return fmt::format("{}{} {} {}", v.synchronous ? "synchronous " : "", action_name(v.action),
                         place_name(v.src), describe_peers(plan, v));
  }
}

std::string describe_indices(const Plan& plan, const Vertex& v) {
  std::string text = fmt::format("x{}", v.count);
  if (v.piece_stride != 1) text += fmt::format(" pieces {}+{}i", v.piece, v.piece_stride);
  if (plan.partition.blocks > 1) {
    text += v.block_step == 0 ? fmt::format(" block {}", v.block)
                              : fmt::format(" blocks {} by {:+}", v.block, v.block_step);
  }
  if (v.action != Action::kCombine) text += fmt::format(" channel {}", v.channel);
  return text + fmt::format(" window {}", v.window);
}

std::string describe_shift(std::int32_t shift) {
  return shift == 0 ? std::string() : fmt::format("[i{:+}]", -static_cast<std::int64_t>(shift));
}

}  // namespace

std::string Plan::to_text() const {
  std::string text =
      fmt::format("{} of {} elements of {} bytes, rank {} of {}: {}\n", collective_name(collective),
                  partition.elements, partition.element_bytes, rank, size, algorithm);
  for (std::size_t id = 0; id < vertices.size(); ++id) {
    const Vertex& v = vertices[id];
    text += fmt::format("  v{}: {} {}", id, describe_action(*this, v), describe_indices(*this, v));
    for (std::size_t k = 0; k < v.needs.size(); ++k) {
      text += fmt::format("{}v{}{}", k == 0 ? " needs " : ", ", v.needs[k].vertex,
                          describe_shift(v.needs[k].shift));
    }
    text += '\n';
  }
  return text;
}

std::string Plan::to_graphviz() const {
  std::string text = fmt::format(
      "digraph plan {{\n  label=\"{}, rank {} of {}: {}\";\n  rankdir=LR;\n  node [shape=box];\n",
      collective_name(collective), rank, size, algorithm);
  for (std::size_t id = 0; id < vertices.size(); ++id) {
    text += fmt::format("  v{} [label=\"{}\\n{}\"];\n", id, describe_action(*this, vertices[id]),
                        describe_indices(*this, vertices[id]));
  }
  for (std::size_t id = 0; id < vertices.size(); ++id) {
    for (const Dependency& need : vertices[id].needs) {
      const std::string shift = describe_shift(need.shift);
      text += fmt::format(
          "  v{} -> v{}{};\n", need.vertex, id,
          shift.empty() ? std::string() : fmt::format(" [label=\"{}\", style=dashed]", shift));
    }
  }
  return text + "}\n";
}

}  // namespace espalier
