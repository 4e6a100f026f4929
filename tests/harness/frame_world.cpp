#include "tests/harness/frame_world.hpp"

#include <utility>

namespace espalier::test {

void FrameWorld::add(std::shared_ptr<Counters> counters, std::shared_ptr<net::Link> link,
                     net::ControlHandler* handler) {
  Node made;
  made.counters = std::move(counters);
  made.link = std::move(link);
  made.wire = std::make_unique<net::FrameWire>(*made.link, net::FrameWireOptions{}, *made.counters,
                                               handler);
  nodes_.push_back(std::move(made));
}

std::byte* FrameWorld::shared(Rank r, std::uint64_t bytes) {
  node(r).heap.push_back(std::make_unique<std::byte[]>(bytes));
  return node(r).heap.back().get();
}

void FrameWorld::close(Rank r) noexcept {
  node(r).wire.reset();
  node(r).link.reset();
}

}  // namespace espalier::test
