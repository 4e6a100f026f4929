// Partitions that travel by themselves: an exchange with neighbours becomes one on a graph that has
// an edge for each partition. path: setup
#include "api/separate.hpp"

#include <utility>

namespace espalier::api {
namespace {

// The edges of one direction, each as often as its block has parts. Both ends number the parts of
// an edge after those of the edges between the same two that have lower numbers.
bool expand(const std::vector<std::int32_t>& peers, const std::vector<std::uint8_t>& edges,
            const std::vector<int>& parts, std::vector<std::int32_t>& more_peers,
            std::vector<std::uint8_t>& more_edges) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    std::size_t before = 0;
    for (std::size_t j = 0; j < peers.size(); ++j) {
      const bool lower = peers[j] == peers[i] && edges[j] < edges[i];
      if (lower) before += static_cast<std::size_t>(parts[j]);
    }
    for (int part = 0; part < parts[i]; ++part) {
      const std::size_t number = before + static_cast<std::size_t>(part);
      if (peers[i] != Neighbors::kNone && number >= Neighbors::kEdgesMax) return false;
      more_peers.push_back(peers[i]);
      more_edges.push_back(peers[i] == Neighbors::kNone ? 0 : static_cast<std::uint8_t>(number));
    }
  }
  return true;
}

// Lengths and displacements of the parts of blocks, in elements.
void cut_blocks(const std::vector<int>& parts, const std::size_t* counts, std::size_t count,
                const std::size_t* displs, SeparateBlocks& blocks) {
  std::size_t at = 0;
  for (std::size_t b = 0; b < parts.size(); ++b) {
    const std::size_t length = counts != nullptr ? counts[b] : count;
    std::size_t begin = displs != nullptr ? displs[b] : at;
    const auto n = static_cast<std::size_t>(parts[b]);
    for (std::size_t part = 0; part < n; ++part) {
      const std::size_t more = length / n + (part < length % n ? 1 : 0);
      blocks.counts.push_back(more);
      blocks.displs.push_back(begin);
      begin += more;
    }
    at += length;
  }
}

}  // namespace

bool separate(Call& call, const std::vector<int>& out_parts, const std::vector<int>& in_parts,
              std::uint32_t id, Separate& made) {
  const Neighbors& near = *call.neighbors;
  made.near.id = id;
  made.near.serial = near.serial;
  if (!expand(near.destinations, near.destination_edges, out_parts, made.near.destinations,
              made.near.destination_edges) ||
      !expand(near.sources, near.source_edges, in_parts, made.near.sources,
              made.near.source_edges)) {
    return false;
  }
  const std::uint64_t unit = call.pattern != nullptr ? call.pattern->elements() : 1;
  const auto count = static_cast<std::size_t>(call.count / unit);
  cut_blocks(out_parts, call.in_counts, count, call.in_displs, made.out);
  cut_blocks(in_parts, call.out_counts, count, call.out_displs, made.in);
  call.collective = Collective::kNeighborAlltoallv;
  call.count = 0;
  call.neighbors = &made.near;
  call.in_counts = made.out.counts.data();
  call.in_displs = made.out.displs.data();
  call.out_counts = made.in.counts.data();
  call.out_displs = made.in.displs.data();
  return true;
}

}  // namespace espalier::api
