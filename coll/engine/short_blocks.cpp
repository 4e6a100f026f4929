#include "coll/engine/short_blocks.hpp"

namespace espalier {

ShortBlocks::ShortBlocks(const Team& team, const Call& call, std::byte* output) noexcept
    : to_(output != nullptr ? output : static_cast<std::byte*>(call.output)),
      line_bytes_(call.bytes()),
      part_bytes_(call.bytes()),
      end_(team.rows()),
      reduces_(traits_of(call.collective).reduces),
      reduction_(reduces_ ? call.combiner.builtin() : nullptr, to_, call.count) {
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
    default:
      break;
  }
}

void ShortBlocks::take(const void* line) noexcept {
  const auto* part = static_cast<const std::byte*>(line) + part_at_;
  if (reduces_) return reduction_.add(part);
  // In place the own block is where it belongs.
  if (to_ != part) copy_line(to_, part, part_bytes_);
  to_ += part_bytes_;
}

}  // namespace espalier
