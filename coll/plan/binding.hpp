// Binding: the layouts and index spaces of one call of an irregular plan (the v-variants).
//
// The plan says which buffers have blocks of different lengths; the call brings the lengths and the
// displacements of the user's buffers. Scratch buffers of such blocks hold them in one run, by the
// lengths of the blocks of the output, or else the input. Memory is kept for the next call: bind()
// allocates only where a team or a plan is larger than all before. Arrays are borrowed until the
// next bind().
//
// Threads: owner. path: data, O(team) as the arrays are
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/plan/plan.hpp"

namespace espalier {

struct BlockArrays {
  const std::size_t* counts = nullptr;
  const std::size_t* displs = nullptr;  // nullptr: one block after the other
  std::uint64_t elements = 0;           // of a buffer that is one block: no counts
};

class Binding {
 public:
  // ESP_ERR_ARGUMENT: more pieces than a plan can count.
  Outcome bind(const Plan& plan, const BlockArrays& input, const BlockArrays& output);

  const Layout* layouts() const noexcept { return layouts_.data(); }
  const Indices& indices(std::size_t vertex) const noexcept { return indices_[vertex]; }

 private:
  void bind_layout(Layout& layout, const BlockArrays& arrays);
  const std::size_t* in_order(const Plan& plan, const Layout& layout, const std::size_t* counts);
  void count_pieces(const Plan& plan, const Vertex& walk);

  std::vector<Layout> layouts_;
  std::vector<Indices> indices_;
  std::vector<std::size_t> arrays_;  // of layouts: where blocks begin, and lengths in another order
  std::size_t used_ = 0;
  std::vector<std::uint32_t> pieces_before_;
};

// The plan with these layouts in it, as a regular one: for those who look at plans.
Result<Plan> bound(const Plan& plan, const BlockArrays& input, const BlockArrays& output,
                   Binding& binding);

}  // namespace espalier
