#include "coll/plan/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/plant.hpp"

namespace espalier {
namespace {

// A flow that carries block after block to one peer numbers all their pieces.
bool walks_blocks(const Vertex& v) {
  return v.action != Action::kCombine && v.peer.is_constant() && v.steps > 1;
}

}  // namespace

Outcome Binding::bind(const Plan& plan, const BlockArrays& input, const BlockArrays& output) {
  layouts_ = plan.layouts;
  std::size_t entries = 0;
  for (const Layout& layout : layouts_) {
    if (layout.kind == Layout::Kind::kCounts) entries += layout.blocks;
  }
  if (begins_.size() < entries) begins_.resize(entries);
  used_ = 0;
  for (std::size_t k = 0; k < layouts_.size(); ++k) {
    BlockArrays arrays = k == buffer_of(Place::kInput) ? input : output;
    if (k >= buffer_of(Place::kScratch)) arrays.displs = nullptr;
    bind_layout(layouts_[k], arrays);
  }
  // An input that is one block has the length of this rank's block in the output.
  Layout& own = layouts_[buffer_of(Place::kInput)];
  if (own.kind != Layout::Kind::kCounts) {
    own.elements = output.counts[static_cast<std::size_t>(plan.rank)];
  }
  Layout& result = layouts_[buffer_of(Place::kOutput)];
  if (std::any_of(plan.vertices.begin(), plan.vertices.end(), walks_blocks)) {
    count_pieces(plan, result);
  }
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

void Binding::bind_layout(Layout& layout, const BlockArrays& arrays) {
  if (layout.kind != Layout::Kind::kCounts) return;
  layout.counts = arrays.counts;
  std::size_t* begins = begins_.data() + used_;
  used_ += layout.blocks;
  std::size_t sum = 0;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    begins[b] = sum;
    sum += ESP_PLANT(34, layout.length(b), layout.counts[b]);
  }
  layout.elements = sum;
  layout.begins = arrays.displs != nullptr ? arrays.displs : begins;
}

void Binding::count_pieces(const Plan& plan, Layout& layout) {
  if (layout.kind != Layout::Kind::kCounts) return;
  if (pieces_before_.size() < std::size_t{layout.blocks} + 1) {
    pieces_before_.resize(std::size_t{layout.blocks} + 1);
  }
  std::uint32_t sum = 0;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    pieces_before_[b] = sum;
    sum += plan.pieces_of(layout.length(b));
  }
  pieces_before_[layout.blocks] = sum;
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
