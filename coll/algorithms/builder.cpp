#include "coll/algorithms/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/algorithms/exchange_steps.hpp"

namespace espalier {
namespace {

std::string describe_bytes(std::uint64_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string describe_shape(esp_shape shape, std::int32_t radix) {
  const bool has_radix = shape == ESP_SHAPE_KARY || shape == ESP_SHAPE_KNOMIAL;
  return has_radix ? fmt::format("{} {}", shape_name(shape), radix) : shape_name(shape);
}

std::string describe_exchange(const NodePlan& plan) {
  const std::size_t steps = exchange_steps(plan.nodes->count(), plan.exchange_radix).count;
  return steps > 1 ? fmt::format("exchange in {} steps", steps) : "exchange";
}

// Of nodes with several leaders.
std::string describe_group(const TeamNodes& nodes) {
  return fmt::format("{} leaders of {} nodes", nodes.leaders->count(), nodes.count());
}

// Of a tree that follows nodes: level by level, from the outside to the inside.
std::string describe_levels(const PlanRequest& request, const std::string& outside) {
  const NodePlan& plan = request.nodes;
  std::string text;
  const bool down = request.collective == Collective::kBcast;
  const bool is_no_tree = plan.exchange_radix > 0 || plan.spread || (plan.multicast && down);
  for (const MemberGroups& groups : plan.nodes->outer) {
    if (plan.switches.shape == ESP_SHAPE_AUTO || is_no_tree) break;
    text += fmt::format("{} over {} groups of nodes, ",
                        describe_shape(plan.switches.shape, plan.switches.radix),
                        groups.begin.size() - 1);
  }
  if (plan.multicast && plan.nodes->leaders != nullptr) {
    text += fmt::format("{}multicast to {}, ", down ? "" : outside + " up and ",
                        describe_group(*plan.nodes));
  } else if (plan.nodes->count() > 1) {
    const std::string how = plan.exchange_radix > 0 ? describe_exchange(plan)
                            : plan.spread           ? "spread"
                            : plan.multicast ? (down ? "" : outside + " up and ") + "multicast"
                                             : outside;
    text += fmt::format("{} over {} nodes, ", how, plan.nodes->count());
  }
  for (const LocalityGroups& groups : plan.nodes->inner) {
    const LevelShape& shape = plan.between[static_cast<std::size_t>(groups.level)];
    text += fmt::format("{} over {} {}s, ", describe_shape(shape.shape, shape.radix),
                        groups.begin.size() - 1, locality_level_name(groups.level));
  }
  if (plan.stripes > 1) text += fmt::format("{} leaders each, ", plan.stripes);
  return text + describe_shape(plan.inside, plan.inside_radix) + " inside";
}

const char* variant_name(esp_variant variant) {
  switch (variant) {
    case ESP_VARIANT_BLOCKING:
      return "blocking";
    case ESP_VARIANT_WAITALL:
      return "waitall";
    default:
      return "event";
  }
}

std::string describe_tree(const PlanRequest& request) {
  std::string shapes = describe_shape(request.shape, request.radix);
  if (request.nodes.follow) shapes = describe_levels(request, shapes);
  return fmt::format("tree({}) {}", shapes, variant_name(request.variant));
}

std::string describe_leaders(const PlanRequest& request) {
  const TeamNodes* nodes = request.nodes.nodes;
  if (nodes == nullptr || nodes->count() == 1) return "leader of one node";
  if (request.nodes.multicast && nodes->leaders != nullptr)
    return "leaders, multicast to " + describe_group(*nodes);
  const char* how = request.nodes.multicast ? "leaders, multicast over" : "leaders of";
  return fmt::format("{} {} nodes", how, nodes->count());
}

std::string describe_name(const PlanRequest& request) {
  if (request.size == 1) return "alone";
  if (request.algorithm == ESP_ALGORITHM_TREE) {
    return has_shapes(request.collective) ? describe_tree(request) : describe_leaders(request);
  }
  const std::string name = algorithm_name(request.algorithm);
  if (request.algorithm == ESP_ALGORITHM_BRUCK) return fmt::format("{} {}", name, request.radix);
  if (request.variant == ESP_VARIANT_EVENT) return name;
  return fmt::format("{} {}", name, variant_name(request.variant));
}

// `blocks`: of what is one message. `others`: members, or neighbours on that side. An array of
// counts that does not matter on this rank is not there.
Layout layout_of(Extent extent, const PlanRequest& request, std::uint32_t blocks,
                 std::size_t others, bool matters) {
  const auto members = static_cast<std::uint32_t>(others);
  switch (extent) {
    case Extent::kPerMember:
      return {.kind = Layout::Kind::kUniform, .blocks = members, .elements = request.elements};
    case Extent::kCounts:
      if (!matters) return {};
      return {.kind = Layout::Kind::kCounts, .blocks = members};
    default:
      return {.kind = Layout::Kind::kEven, .blocks = blocks, .elements = request.elements};
  }
}

}  // namespace

Builder::Builder(const PlanRequest& request, std::uint32_t blocks, std::uint32_t run)
    : request_(request) {
  const CollectiveTraits& traits = traits_of(request.collective);
  plan_.collective = request.collective;
  plan_.rank = request.rank;
  plan_.size = request.size;
  plan_.element_bytes = request.element_bytes;
  plan_.irregular = is_irregular(request.collective);
  plan_.reduces = traits.reduces;
  const bool is_root = request.rank == request.root;
  const auto size = static_cast<std::size_t>(request.size);
  const Neighbors* near = traits.neighbors ? request.neighbors : nullptr;
  plan_.layouts = {
      layout_of(traits.input, request, blocks, near != nullptr ? near->destinations.size() : size,
                is_root || !traits.root_sends),
      layout_of(traits.output, request, blocks, near != nullptr ? near->sources.size() : size,
                is_root || !traits.root_gets)};
  const std::uint64_t wanted =
      std::max<std::uint64_t>(request.segment_bytes / request.element_bytes, 1);
  if (plan_.irregular) {
    plan_.piece_elements = wanted;
    return;
  }
  // No longer than the block, so that scratch slots of small messages are small.
  const std::uint64_t longest = plan_.layout(Place::kOutput).length(0);
  plan_.piece_elements = std::clamp<std::uint64_t>(longest * run, 1, wanted);
  pieces_ = std::max(1U, plan_.pieces_of(longest));
}

std::uint16_t Builder::window_send() const {
  return one_at_a_time() ? std::uint16_t{1} : static_cast<std::uint16_t>(request_.window_send);
}

std::uint16_t Builder::window_recv() const {
  return one_at_a_time() ? std::uint16_t{1} : static_cast<std::uint16_t>(request_.window_recv);
}

VertexId Builder::add(Vertex vertex) {
  vertex.synchronous = controlled() && vertex.action == Action::kSend;
  plan_.vertices.push_back(std::move(vertex));
  ESP_ASSERT(plan_.vertices.size() < kNoVertex);
  return static_cast<VertexId>(plan_.vertices.size() - 1);
}

Place Builder::add_scratch(const Layout& layout) {
  constexpr Place kPlaces[] = {Place::kScratch, Place::kScratch2, Place::kScratch3};
  const std::size_t at = plan_.layouts.size() - buffer_of(Place::kScratch);
  ESP_ASSERT(at < std::size(kPlaces));
  plan_.layouts.push_back(layout);
  return kPlaces[at];
}

Place Builder::add_ring(std::uint32_t slots) {
  return add_scratch(
      {.kind = Layout::Kind::kRing, .blocks = slots, .elements = plan_.piece_elements});
}

void Builder::need(VertexId vertex, VertexId other, std::int32_t shift) {
  plan_.vertices[vertex].needs.push_back({.vertex = other, .shift = shift});
}

void Builder::need_step(VertexId vertex, VertexId other, std::int32_t steps) {
  plan_.vertices[vertex].needs.push_back({.vertex = other, .steps = steps});
}

void Builder::need_last(VertexId vertex, VertexId other) {
  plan_.vertices[vertex].needs.push_back({.vertex = other, .shift = 1, .steps = -1});
}

void Builder::need_all(VertexId vertex, VertexId other) {
  plan_.vertices[vertex].needs.push_back({.vertex = other, .whole = true});
}

void Builder::need_batches(VertexId vertex, VertexId other, std::uint32_t steps) {
  plan_.vertices[vertex].needs.push_back({.vertex = other, .whole = true, .batch = steps});
}

void Builder::need_source(VertexId vertex, VertexId source, std::int32_t steps) {
  need_step(vertex, source, steps);
  need(vertex, vertex, plan_.vertices[vertex].window);
}

Result<Plan> Builder::finish() {
  plan_.algorithm = describe_algorithm(request_, plan_, pieces_);
  if (request_.places) place_on_arrival(plan_);
  if (stays_on_device(request_)) {
    keep_on_device(plan_);
  } else {
    if (request_.packs_input || request_.packs_output) add_packing(plan_, request_);
    const bool apart = !request_.replaces && !request_.in_place;
    if (apart && (request_.shares || request_.direct)) {
      add_sharing(plan_, request_.nodes.nodes, {.near = request_.shares, .far = request_.direct});
    }
  }
  add_partial(plan_, request_);
  plan_.finish();
  return std::move(plan_);
}

std::string describe_algorithm(const PlanRequest& request, const Plan& plan, std::uint32_t pieces) {
  const std::string name = describe_name(request);
  const std::string segment = describe_bytes(plan.piece_elements * plan.element_bytes);
  const Layout& output = plan.layout(Place::kOutput);
  if (plan.irregular) return fmt::format("{}, segments of {}", name, segment);
  const char* plural = pieces == 1 ? "" : "s";
  if (output.elements == 0) return name + ", no data";
  if (output.blocks == 1)
    return fmt::format("{}, {} segment{} of {}", name, pieces, plural, segment);
  return fmt::format("{}, {} blocks of {} segment{} of {}", name, output.blocks, pieces, plural,
                     segment);
}

bool reads_from(const Vertex& v, Place place) {
  const auto is_there = [&](Place where) {
    return where == place || (place == Place::kInput && where == Place::kAccumulator);
  };
  return is_there(v.src) || std::any_of(v.operands.begin(), v.operands.end(),
                                        [&](const Operand& o) { return is_there(o.place); });
}

}  // namespace espalier
