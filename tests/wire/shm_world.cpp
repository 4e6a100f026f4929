#include "shm_world.hpp"

namespace espalier::test {
namespace {

// Tests have no use for a world that cannot be set up.
template <typename T>
T need(Result<T> result) {
  ESP_ASSERT(result.ok());
  return std::move(*result);
}

}  // namespace

ShmWorld::ShmWorld(int ranks, const ShmWorldOptions& options) {
  const auto count = static_cast<std::uint32_t>(ranks);
  const shm::Layout layout(count, options.arena_bytes, options.heap_bytes);
  const shm::MemoryFile file = need(shm::MemoryFile::create());
  std::vector<shm::ShmPeer> peers;
  for (Rank r = 0; r < ranks; ++r) peers.push_back({r, ::getpid()});
  for (std::uint32_t i = 0; i < count; ++i) {
    Node node;
    node.segment =
        need(shm::Segment::map(need(shm::MemoryFile::open_of(::getpid(), file.fd())), layout, i));
    auto& mine = node.segment->rank_block(i);
    for (std::uint32_t j = 0; j < count; ++j) {
      mine.may_pull[j].store(static_cast<std::uint8_t>(shm::PullAccess::kYes),
                             std::memory_order_relaxed);
    }
    node.heap = std::make_unique<shm::Heap>(node.segment->heap(i), options.heap_bytes);
    node.counters = std::make_unique<Counters>();
    node.doorbell = std::make_unique<Doorbell>(mine.bell, node.segment->header().sleepers, false);
    node.wire = std::make_unique<shm::ShmWire>(*node.segment, peers, ranks, options.wire,
                                               *node.doorbell, *node.counters);
    nodes_.push_back(std::move(node));
  }
}

std::byte* ShmWorld::shared(Rank r, std::uint64_t bytes) {
  void* memory = nodes_[static_cast<std::size_t>(r)].heap->allocate(bytes);
  ESP_ASSERT(memory != nullptr);
  return static_cast<std::byte*>(memory);
}

}  // namespace espalier::test
