// FrameWorld: n FrameWires in one thread over links of any kind. A world of a new link adds its
// links in the order of ranks and says how they rest.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "core/counters.hpp"
#include "net/frame_wire.hpp"
#include "net/rdma/rdma_link.hpp"
#include "tests/harness/world.hpp"

namespace espalier::test {

class FrameWorld : public World {
 public:
  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  Wire& wire(Rank r) noexcept override { return frames(r); }
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override;
  bool gives_buffers_back() const noexcept override { return true; }

  net::FrameWire& frames(Rank r) noexcept { return *node(r).wire; }
  net::Link& link(Rank r) noexcept { return *node(r).link; }
  Counters& counters(Rank r) noexcept { return *node(r).counters; }
  // Of worlds that have some.
  virtual rdma::ConnectionLink& connections(Rank) noexcept { std::abort(); }
  rdma::RdmaLink& rdma(Rank r) noexcept { return static_cast<rdma::RdmaLink&>(link(r)); }
  bool is_open(Rank r) noexcept { return node(r).link != nullptr; }

 protected:
  // The link counts in the counters that go with it.
  void add(std::shared_ptr<Counters> counters, std::shared_ptr<net::Link> link,
           net::ControlHandler* handler = nullptr);

 private:
  struct Node {
    std::shared_ptr<Counters> counters;
    std::shared_ptr<net::Link> link;
    std::unique_ptr<net::FrameWire> wire;
    std::vector<std::unique_ptr<std::byte[]>> heap;
  };
  Node& node(Rank r) noexcept { return nodes_[static_cast<std::size_t>(r)]; }

  std::vector<Node> nodes_;
};

}  // namespace espalier::test
