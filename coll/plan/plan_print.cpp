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
    case Action::kAwait:
      return "await";
    case Action::kDeliver:
      return "deliver";
  }
  return "?";
}

const char* place_name(Place place) {
  constexpr const char* kNames[] = {"-",
                                    "input",
                                    "output",
                                    "scratch",
                                    "accumulator",
                                    "view",
                                    "scratch 2",
                                    "scratch 3",
                                    "the caller's input",
                                    "the caller's output"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Place::kUserOutput) + 1);
  return kNames[static_cast<std::size_t>(place)];
}

// "3", "3 by +1 until 2", ...
std::string describe_steps(const Steps& steps, std::uint32_t count) {
  if (steps.is_constant() || count == 1) return fmt::format("{}", steps.at(0));
  if (steps.kind == Steps::Kind::kAffine) {
    return fmt::format("{} by {:+} until {}", steps.first, steps.stride, steps.at(count - 1));
  }
  const char* how = steps.kind == Steps::Kind::kXor         ? "XOR"
                    : steps.kind == Steps::Kind::kOneFactor ? "one-factor"
                    : steps.kind == Steps::Kind::kTable     ? "table"
                                                            : "digit";
  return fmt::format("{}, {}, ... ({} {})", steps.at(0), steps.at(1), how, steps.first);
}

// "to 3", "from 2 by +1 until 0" or "to 6 ranks".
std::string describe_peers(const Vertex& v) {
  if (v.action == Action::kPublish) return fmt::format("to {} ranks", v.peers.size());
  return fmt::format("{} {}", v.action == Action::kSend ? "to" : "from",
                     describe_steps(v.peer, v.steps));
}

std::string describe_operands(const Vertex& v) {
  std::string text = fmt::format("{} = ", place_name(v.dst));
  for (std::size_t k = 0; k < v.operands.size(); ++k) {
    if (k > 0) text += " op ";
    const Operand& operand = v.operands[k];
    text += operand.place == Place::kView ? fmt::format("v{}", operand.vertex)
                                          : std::string(place_name(operand.place));
    if (operand.stays) text += fmt::format(", or where v{} left it", operand.vertex);
  }
  return text;
}

// What the vertex does, without indices and edges.
std::string describe_action(const Vertex& v) {
  switch (v.action) {
    case Action::kCombine:
      return fmt::format("combine {}", describe_operands(v));
    case Action::kAwait:
      return "await";
    case Action::kDeliver:
      return fmt::format("deliver {}", place_name(v.src));
    case Action::kRecv:
      return fmt::format("recv {} {}", place_name(v.dst), describe_peers(v));
    case Action::kRecvView:
      return fmt::format("view {}", describe_peers(v));
    default:
      return fmt::format("{}{} {} {}", v.synchronous ? "synchronous " : "", action_name(v.action),
                         place_name(v.src), describe_peers(v));
  }
}

std::string describe_blocks(const Vertex& v) {
  const bool several = !v.block.is_constant() && v.steps > 1;
  std::string text = fmt::format(" block{} {}", several || v.run != 1 ? "s" : "",
                                 several && v.block.kind == Steps::Kind::kAffine
                                     ? fmt::format("{} by {:+}", v.block.first, v.block.stride)
                                     : describe_steps(v.block, v.steps));
  if (v.run > 1)
    text += fmt::format(" to {}", v.block.at(0) + static_cast<std::int64_t>(v.run) - 1);
  if (v.run == 0) text += fmt::format(", runs of {}", describe_steps(v.runs, v.steps));
  if (v.elsewhere) text += fmt::format(" of block {}", describe_steps(v.from, v.steps));
  return text;
}

std::string describe_indices(const Plan& plan, const Vertex& v) {
  std::string text =
      plan.irregular ? fmt::format("x{} steps", v.steps) : fmt::format("x{}", v.indices.count);
  if (v.lanes != 1) text += fmt::format(" pieces {}+{}i", v.lane, v.lanes);
  if (plan.layout(v.shape).blocks > 1) text += describe_blocks(v);
  if (!is_local(v.action)) text += fmt::format(" channel {}", v.channel);
  if (v.transfer.path == Path::kMulticast) text += " by multicast";
  return text + fmt::format(" window {}", v.window);
}

// "[i-2]", "[step-1]", "[all]", "[batches of 4]"; nothing for the same index.
std::string describe_need(const Vertex& v, const Dependency& need) {
  if (need.batch > 0) return fmt::format("[batches of {}]", need.batch);
  if (need.whole) return "[all]";
  const std::int64_t distance = need.distance(v.indices.inner);
  return distance == 0 ? std::string() : fmt::format("[i{:+}]", -distance);
}

}  // namespace

std::string Plan::to_text() const {
  std::string text =
      fmt::format("{} of {} elements of {} bytes, rank {} of {}: {}\n", collective_name(collective),
                  layout(Place::kOutput).elements, element_bytes, rank, size, algorithm);
  for (std::size_t id = 0; id < vertices.size(); ++id) {
    const Vertex& v = vertices[id];
    text += fmt::format("  v{}: {} {}", id, describe_action(v), describe_indices(*this, v));
    for (std::size_t k = 0; k < v.needs.size(); ++k) {
      text += fmt::format("{}v{}{}", k == 0 ? " needs " : ", ", v.needs[k].vertex,
                          describe_need(v, v.needs[k]));
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
    text += fmt::format("  v{} [label=\"{}\\n{}\"];\n", id, describe_action(vertices[id]),
                        describe_indices(*this, vertices[id]));
  }
  for (std::size_t id = 0; id < vertices.size(); ++id) {
    for (const Dependency& need : vertices[id].needs) {
      const std::string shift = describe_need(vertices[id], need);
      text += fmt::format(
          "  v{} -> v{}{};\n", need.vertex, id,
          shift.empty() ? std::string() : fmt::format(" [label=\"{}\", style=dashed]", shift));
    }
  }
  return text + "}\n";
}

}  // namespace espalier
