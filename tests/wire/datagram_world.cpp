#include "datagram_world.hpp"

namespace espalier::test {

DatagramWorld::DatagramWorld(int ranks, const std::string& faults, const sim::PortOptions& ports)
    : SimFrameWorld(ranks, faults), net_(world_) {
  for (Rank r = 0; r < ranks; ++r) {
    ports_.push_back(std::make_unique<sim::SimDatagramPort>(net_, r, ports));
    add(std::make_unique<Counters>(),
        std::make_unique<rdma::DatagramLink>(*ports_.back(), world_.clock(r), book(),
                                             datagram_options(r, ranks)));
  }
}

DatagramWorld::~DatagramWorld() {
  for (Rank r = 0; r < size(); ++r) {
    if (is_open(r)) close(r);
  }
}

std::uint64_t DatagramWorld::faults() {
  std::uint64_t again = 0;
  for (Rank r = 0; r < size(); ++r) again += is_open(r) ? datagrams(r).counts().data_again : 0;
  return again;
}

void DatagramWorld::close(Rank r) noexcept {
  FrameWorld::close(r);
  ports_[static_cast<std::size_t>(r)].reset();
}

}  // namespace espalier::test
