#include "tests/harness/shm_world.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace espalier::test {
namespace {

// Tests have no use for a world that cannot be set up.
template <typename T>
T need(Result<T> result) {
  ESP_ASSERT(result.ok());
  return std::move(*result);
}

}  // namespace

ssize_t ForgetfulKernel::copy(shm::CmaDirection direction, VisiblePid pid,
                              std::span<const iovec> local,
                              std::span<const iovec> remote) noexcept {
  if (left_ > 0) {
    --left_;
    return shm::copy_between(direction, pid, local, remote);
  }
  ++refused_;
  errno = refusal_;
  return -1;
}

ShmWorld::ShmWorld(int ranks, const ShmWorldOptions& options) {
  const auto count = static_cast<std::uint32_t>(ranks);
  const shm::Layout layout(count, options.arena_bytes, options.heap_bytes);
  const shm::MemoryFile file = need(shm::MemoryFile::create(layout.total(), {}));
  std::vector<shm::ShmPeer> peers;
  for (Rank r = 0; r < ranks; ++r) peers.push_back({r, VisiblePid::self()});
  for (std::uint32_t i = 0; i < count; ++i) {
    Node node;
    shm::MemoryFile same =
        need(shm::MemoryFile::adopt(Descriptor(::dup(file.fd())), layout.total(), {}));
    node.segment = need(shm::Segment::map(std::move(same), layout, i));
    auto& mine = node.segment->rank_block(i);
    for (std::uint32_t j = 0; j < count; ++j) {
      node.segment->may_pull(i, j).store(static_cast<std::uint8_t>(shm::PullAccess::kYes),
                                         std::memory_order_relaxed);
    }
    node.heap = std::make_unique<shm::Heap>(node.segment->heap(i), options.heap_bytes);
    node.counters = std::make_unique<Counters>();
    node.doorbell = std::make_unique<Doorbell>(mine.bell, node.segment->header().sleepers, false);
    shm::ShmOptions wire = options.wire;
    if (i < options.pulls_allowed.size()) {
      node.kernel =
          std::make_unique<ForgetfulKernel>(options.pulls_allowed[i], i % 2 == 0 ? EPERM : ENOSYS);
      wire.cma = node.kernel.get();
    }
    node.wire =
        std::make_unique<shm::ShmWire>(*node.segment, peers, wire, *node.doorbell, *node.counters);
    nodes_.push_back(std::move(node));
  }
}

std::uint64_t ShmWorld::held_bytes() const noexcept {
  struct stat status {};
  return ::fstat(nodes_.front().segment->fd(), &status) == 0
             ? static_cast<std::uint64_t>(status.st_blocks) * 512
             : 0;
}

std::uint64_t ShmWorld::pulls_refused() const noexcept {
  std::uint64_t sum = 0;
  for (const Node& node : nodes_) sum += node.kernel != nullptr ? node.kernel->refused() : 0;
  return sum;
}

std::byte* ShmWorld::shared(Rank r, std::uint64_t bytes) {
  void* memory = nodes_[static_cast<std::size_t>(r)].heap->allocate(bytes);
  ESP_ASSERT(memory != nullptr);
  return static_cast<std::byte*>(memory);
}

}  // namespace espalier::test
