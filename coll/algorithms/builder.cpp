#include "coll/algorithms/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/algorithms/exchange_steps.hpp"

namespace espalier {
namespace {

Partition make_partition(const PlanRequest& request, std::uint32_t blocks) {
  Partition partition;
  partition.elements = request.elements;
  partition.element_bytes = request.element_bytes;
  partition.blocks = blocks;
  const std::uint64_t largest = partition.block_begin(1);  // the first block has the extra element
  const std::uint64_t wanted =
      std::max<std::uint64_t>(request.segment_bytes / request.element_bytes, 1);
  // No longer than the block, so that scratch slots of small messages are small.
  partition.piece_elements = std::clamp<std::uint64_t>(largest, 1, wanted);
  // The request was checked: this fits.
  partition.pieces = static_cast<std::uint32_t>(std::max<std::uint64_t>(
      1, (largest + partition.piece_elements - 1) / partition.piece_elements));
  return partition;
}

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

// Of a tree that follows nodes: level by level, from the outside to the inside.
std::string describe_levels(const PlanRequest& request, const std::string& outside) {
  const NodePlan& plan = request.nodes;
  std::string text;
  if (plan.nodes->count() > 1) {
    const std::string how = plan.exchange_radix > 0 ? describe_exchange(plan)
                            : plan.spread           ? "spread"
                                                    : outside;
    text = fmt::format("{} over {} nodes, ", how, plan.nodes->count());
  }
  for (const InnerGroups& groups : plan.nodes->inner) {
    const LevelShape& shape = plan.between[static_cast<std::size_t>(groups.level)];
    text += fmt::format("{} over {} {}s, ", describe_shape(shape.shape, shape.radix),
                        groups.begin.size() - 1, inner_level_name(groups.level));
  }
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

}  // namespace

Builder::Builder(const PlanRequest& request, std::uint32_t blocks) : request_(request) {
  plan_.collective = request.collective;
  plan_.rank = request.rank;
  plan_.size = request.size;
  plan_.partition = make_partition(request, blocks);
}

std::uint16_t Builder::window_send() const {
  return controlled() ? std::uint16_t{1} : static_cast<std::uint16_t>(request_.window_send);
}

std::uint16_t Builder::window_recv() const {
  return controlled() ? std::uint16_t{1} : static_cast<std::uint16_t>(request_.window_recv);
}

VertexId Builder::add(Vertex vertex) {
  vertex.synchronous = controlled() && vertex.action == Action::kSend;
  plan_.vertices.push_back(std::move(vertex));
  ESP_ASSERT(plan_.vertices.size() < kNoVertex);
  return static_cast<VertexId>(plan_.vertices.size() - 1);
}

void Builder::need(VertexId vertex, VertexId other, std::int32_t shift) {
  plan_.vertices[vertex].needs.push_back({other, shift});
}

void Builder::need_source(VertexId vertex, VertexId source, std::int32_t shift) {
  need(vertex, source, shift);
  need(vertex, vertex, plan_.vertices[vertex].window);
}

Result<Plan> Builder::finish(std::string algorithm) {
  plan_.algorithm = std::move(algorithm);
  plan_.finish();
  return std::move(plan_);
}

std::string describe_algorithm(const PlanRequest& request, const Partition& partition) {
  std::string name;
  if (request.size == 1) {
    name = "alone";
  } else if (request.algorithm == ESP_ALGORITHM_PUBLISH) {
    name = "publish";
  } else if (request.algorithm == ESP_ALGORITHM_SPREAD) {
    name = "spread";
  } else {
    std::string shapes = describe_shape(request.shape, request.radix);
    if (request.nodes.follow) shapes = describe_levels(request, shapes);
    for (const TreeLevel& level : request.levels) {
      if (level.ranks == 0) break;
      shapes += fmt::format(", {} of {}", describe_shape(level.shape, level.radix), level.ranks);
    }
    name = fmt::format("tree({}) {}", shapes, variant_name(request.variant));
  }
  const std::string segment = describe_bytes(partition.piece_elements * partition.element_bytes);
  const char* plural = partition.pieces == 1 ? "" : "s";
  if (partition.elements == 0) return name + ", no data";
  if (partition.blocks == 1) {
    return fmt::format("{}, {} segment{} of {}", name, partition.pieces, plural, segment);
  }
  return fmt::format("{}, {} blocks of {} segment{} of {}", name, partition.blocks,
                     partition.pieces, plural, segment);
}

}  // namespace espalier
