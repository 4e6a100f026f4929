#include "coll/plan/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/plant.hpp"

namespace espalier {
namespace {

// A flow that carries block after block to one peer numbers all their pieces.
bool walks_blocks(const Vertex& v) {
  return !is_local(v.action) && v.peer.is_constant() && (v.steps > 1 || v.run == 0);
}

}  // namespace

Outcome Binding::bind(const Plan& plan, const BlockArrays& input, const BlockArrays& output) {
  layouts_ = plan.layouts;
  std::size_t entries = 0;
  for (const Layout& layout : layouts_) {
    if (layout.kind == Layout::Kind::kCounts) entries += 2 * std::size_t{layout.blocks};
  }
  if (arrays_.size() < entries) arrays_.resize(entries);
  used_ = 0;
  Layout& in = layouts_[buffer_of(Place::kInput)];
  Layout& out = layouts_[buffer_of(Place::kOutput)];
  // What is packed has no gaps.
  const BlockArrays packed_in = {input.counts, nullptr, input.elements};
  const BlockArrays packed_out = {output.counts, nullptr, output.elements};
  bind_layout(in, plan.packs_input ? packed_in : input);
  bind_layout(out, plan.packs_output ? packed_out : output);
  if (layouts_.size() > buffer_of(Place::kUserInput)) {
    bind_layout(layouts_[buffer_of(Place::kUserInput)], input);
    bind_layout(layouts_[buffer_of(Place::kUserOutput)], output);
  }
  const Layout& blocks = out.kind == Layout::Kind::kCounts ? out : in;
  const Layout& one = out.kind == Layout::Kind::kCounts ? in : out;
  for (std::size_t k = buffer_of(Place::kScratch);
       k < std::min(layouts_.size(), buffer_of(Place::kUserInput)); ++k) {
    if (layouts_[k].kind == Layout::Kind::kCounts) {
      bind_layout(layouts_[k], {in_order(plan, layouts_[k], blocks.counts), nullptr});
    } else if (layouts_[k].kind == Layout::Kind::kEven) {
      layouts_[k].elements = one.elements;
    }
  }
  const auto walk = std::find_if(plan.vertices.begin(), plan.vertices.end(), walks_blocks);
  if (walk != plan.vertices.end()) count_pieces(plan, *walk);
  indices_.resize(plan.vertices.size());
  for (std::size_t v = 0; v < plan.vertices.size(); ++v) {
    const Vertex& vertex = plan.vertices[v];
    if (plan.pieces(layouts_.data(), vertex) > kMaxIndices / vertex.steps) {
      return error(ESP_ERR_ARGUMENT,
                   fmt::format("segments of {} bytes cut a block into more pieces than {} members "
                               "may have: use longer ones",
                               plan.piece_elements * plan.element_bytes, plan.size));
    }
    indices_[v] = plan.indices(layouts_.data(), vertex);
  }
  return Unit{};
}

// The counts of the call as the layout has them.
const std::size_t* Binding::in_order(const Plan& plan, const Layout& layout,
                                     const std::size_t* counts) {
  if (layout.order < 0) return counts;
  const std::vector<std::int32_t>& order =
      *plan.tables[static_cast<std::size_t>(layout.order)].entries;
  std::size_t* own = arrays_.data() + used_;
  used_ += layout.blocks;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    own[b] = counts[static_cast<std::size_t>(order[b])];
  }
  return own;
}

void Binding::bind_layout(Layout& layout, const BlockArrays& arrays) {
  if (layout.kind == Layout::Kind::kEven) layout.elements = arrays.elements;
  if (layout.kind != Layout::Kind::kCounts) return;
  layout.counts = arrays.counts;
  std::size_t* begins = arrays_.data() + used_;
  used_ += layout.blocks;
  std::size_t sum = 0;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    begins[b] = sum;
    sum += ESP_PLANT(34, layout.length(b), layout.counts[b]);
  }
  layout.elements = sum;
  layout.begins = arrays.displs != nullptr ? arrays.displs : begins;
}

// The walks of a plan are of one order and one layout.
void Binding::count_pieces(const Plan& plan, const Vertex& walk) {
  Layout& layout = layouts_[buffer_of(walk.shape)];
  if (layout.kind != Layout::Kind::kCounts) return;
  Steps block = walk.block, runs = walk.runs;
  block.first = runs.first = 0;
  block.stride = runs.stride = 1;
  const auto entries = static_cast<std::uint32_t>(block.modulus);
  if (pieces_before_.size() < std::size_t{entries} + 1) {
    pieces_before_.resize(std::size_t{entries} + 1);
  }
  std::uint32_t sum = 0;
  for (std::uint32_t k = 0; k < entries; ++k) {
    pieces_before_[k] = sum;
    const std::uint32_t run = walk.run != 0 ? walk.run : static_cast<std::uint32_t>(runs.at(k));
    sum += plan.pieces_of(layout.length(static_cast<std::uint64_t>(block.at(k)), run));
  }
  pieces_before_[entries] = sum;
  layout.pieces_before = pieces_before_.data();
}

Result<Plan> bound(const Plan& plan, const BlockArrays& input, const BlockArrays& output,
                   Binding& binding) {
  if (Outcome outcome = binding.bind(plan, input, output); !outcome) return outcome.error();
  Plan copy = plan;
  copy.layouts.assign(binding.layouts(), binding.layouts() + plan.layouts.size());
  for (std::size_t v = 0; v < copy.vertices.size(); ++v) {
    copy.vertices[v].indices = binding.indices(v);
  }
  return copy;
}

}  // namespace espalier
