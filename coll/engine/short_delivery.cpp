#include "coll/engine/short_delivery.hpp"

#include "coll/plan/has_result.hpp"

namespace espalier {
namespace {

// Of one block of regular and irregular outputs. A reduce-scatter's is a message.
std::uint64_t block_bytes(const Team& team, const Call& call, std::size_t block) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  std::uint64_t count = call.count;
  if (traits.output == Extent::kCounts) count = call.out_counts[block];
  if (call.collective == Collective::kReduceScatter) {
    count = call.in_counts[static_cast<std::size_t>(team.rank)];
  }
  if (is_irregular(call.collective) && call.pattern != nullptr) count *= call.pattern->elements();
  return count * call.element_bytes;
}

}  // namespace

void deliver_all(const Team& team, const Call& call) noexcept {
  if (!has_result(call.collective, team.rank, call.root, call.in_place)) return;
  const bool many = traits_of(call.collective).output != Extent::kOne;
  const auto blocks = static_cast<std::size_t>(many ? team.size() : 1);
  std::uint64_t at = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    Portion block;
    block.index = block.block = static_cast<std::uint32_t>(b);
    block.at = at;
    block.bytes = block_bytes(team, call, b);
    block.data = static_cast<const std::byte*>(call.output);
    const bool displaced = call.out_displs != nullptr && many;
    if (block.data != nullptr) {
      block.data += displaced ? call.out_displs[b] * call.element_bytes : at;
    }
    at += block.bytes;
    if (block.bytes > 0) (void)call.consumer.function(call.consumer.context, block);
  }
}

}  // namespace espalier
