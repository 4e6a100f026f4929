#include "coll/engine/short_blocks.hpp"

#include <numeric>

namespace espalier {
namespace {

std::uint64_t first_elements(const std::size_t* counts, int members) noexcept {
  return std::accumulate(counts, counts + members, std::uint64_t{0});
}

// Elements that a reduction gives this member.
std::uint64_t elements_here(const Team& team, const Call& call) noexcept {
  return call.collective == Collective::kReduceScatter ? call.in_counts[team.rank] : call.count;
}

}  // namespace

ShortBlocks::ShortBlocks(const Team& team, const Call& call, std::byte* output) noexcept
    : call_(call),
      to_(output != nullptr ? output : static_cast<std::byte*>(call.output)),
      line_bytes_(call.bytes()),
      part_bytes_(call.bytes()),
      end_(team.rows()),
      reduces_(traits_of(call.collective).reduces),
      reduction_(reduces_ ? call.combiner.builtin() : nullptr, to_, elements_here(team, call)) {
  const auto own = static_cast<std::uint64_t>(team.own_row());
  const bool is_root = team.rank == call.root;
  // A block for each member in one line.
  if (traits_of(call.collective).input == Extent::kPerMember) {
    line_bytes_ *= static_cast<std::uint64_t>(team.size());
    part_at_ = own * part_bytes_;
  }
  switch (call.collective) {
    case Collective::kScan:
      end_ = team.own_row() + 1;
      break;
    case Collective::kExscan:
      end_ = team.own_row();
      break;
    case Collective::kGather:
      puts_ = !is_root;
      if (!is_root) end_ = 0;
      break;
    case Collective::kScatter:
      puts_ = is_root;
      begin_ = call.root;
      end_ = call.root + (call.output != nullptr ? 1 : 0);  // in place it stays where it is
      break;
    case Collective::kReduceScatter:
      part_at_ = first_elements(call.in_counts, team.rank) * call.element_bytes;
      break;
    default:
      break;
  }
}

std::uint64_t ShortBlocks::counted(int row) const noexcept {
  return call_.out_counts[row] * call_.element_bytes;
}

void ShortBlocks::take(int row, const void* line) noexcept {
  const auto* part = static_cast<const std::byte*>(line) + part_at_;
  if (reduces_) return reduction_.add(part);
  std::byte* to = to_;
  std::uint64_t bytes = part_bytes_;
  if (call_.collective == Collective::kAllgatherv) {
    bytes = counted(row);
    if (call_.out_displs != nullptr && bytes > 0) {
      to = static_cast<std::byte*>(call_.output) + call_.out_displs[row] * call_.element_bytes;
    }
  }
  // In place the own block is where it belongs.
  if (to != part) copy_line(to, part, bytes);
  to_ += bytes;
}

}  // namespace espalier
