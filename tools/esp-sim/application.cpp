#include "tools/esp-sim/application.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier::sim {

// Blocks come whole, in runs, or piece by piece, and are told apart by where they lie.
void Consumption::land(const Portion& portion, std::uint64_t now_ns) {
  if (block_bytes_ == 0) return land_block(portion.bytes, now_ns);
  std::uint64_t at = portion.at;
  const std::uint64_t end = at + portion.bytes;
  while (at < end) {
    const std::uint64_t block = at / block_bytes_;
    const std::uint64_t part = std::min(end, (block + 1) * block_bytes_) - at;
    at += part;
    if ((pieces_[block] += part) < block_bytes_) continue;
    pieces_.erase(block);
    land_block(block_bytes_, now_ns);
  }
}

void Consumption::land_block(std::uint64_t bytes, std::uint64_t now_ns) {
  ++open_.blocks;
  open_.bytes += bytes;
  const bool is_full =
      application_.consuming == Consuming::kPartial && open_.blocks == application_.group;
  if (is_full) work(std::exchange(open_, {}), now_ns);
}

std::uint64_t Consumption::finish(std::uint64_t now_ns) {
  Group last = std::exchange(open_, {});
  if (application_.merges) {
    last.blocks += std::exchange(groups_.blocks, 0);
    last.bytes += std::exchange(groups_.bytes, 0);
  }
  if (last.blocks > 0) work(last, now_ns);
  return free_ns_;
}

void Consumption::work(const Group& group, std::uint64_t from_ns) {
  const double passes = application_.merges ? std::log2(static_cast<double>(group.blocks)) : 1.0;
  const double work_ns = static_cast<double>(group.bytes) * application_.ns_per_byte * passes;
  const auto whole_ns = static_cast<std::uint64_t>(std::floor(work_ns + 0.5));
  free_ns_ = std::max(free_ns_, from_ns) + whole_ns;
  worked_ns_ += whole_ns;
  ++groups_.blocks;
  groups_.bytes += group.bytes;
}

}  // namespace espalier::sim
