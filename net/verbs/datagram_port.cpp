#include "net/verbs/datagram_port.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "core/clock.hpp"

namespace espalier::verbs {

Result<std::unique_ptr<rdma::DatagramPort>> VerbsDatagramPort::create(
    VerbsAdapter& adapter, const DatagramOptions& options) {
  std::unique_ptr<VerbsDatagramPort> port(new VerbsDatagramPort(adapter));
  port->own_ = adapter.endpoint();
  port->own_.key = random_bits(kQKeyMask);
  auto queue = DatagramQueue::create(adapter, options, port->own_.key, port->counts_);
  if (!queue) return queue.error();
  port->queue_ = std::move(*queue);
  port->own_.queue_pair = port->queue_->queue_pair()->qp_num;
  return std::unique_ptr<rdma::DatagramPort>(std::move(port));
}

Result<rdma::PathId> VerbsDatagramPort::open_path(const rdma::PortAddress& to) {
  const auto peer = parse_address(to);
  if (!peer) return peer.error();
  if (peer.value().mtu_bytes < own_.mtu_bytes) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("{}: a peer takes packets of {} bytes, this rank sends {}; set "
                             "RDMA_MTU={} for all",
                             adapter_.info().name(), peer.value().mtu_bytes, own_.mtu_bytes,
                             peer.value().mtu_bytes));
  }
  KnownPort& port = ports_[PortKey{peer.value().gid, peer.value().lid}];
  Outcome found = find(port, peer.value());
  if (!found) return found.error();
  paths_.push_back({port.handle.get(), peer.value().queue_pair, peer.value().key});
  return static_cast<rdma::PathId>(paths_.size() - 1);
}

// The kernel looks for a RoCE port by ARP, and the call waits for the answer: a second, where there
// is none. So a failure is the answer to everybody for some time.
Outcome VerbsDatagramPort::find(KnownPort& port, const Endpoint& peer) {
  constexpr std::uint64_t kPausesPerTry = 4;
  if (port.handle != nullptr) return Unit{};
  SteadyClock clock;
  const std::uint64_t begin_ns = clock.now_ns();
  if (begin_ns < port.next_try_ns) return port.refused;
  auto route = adapter_.route(peer);
  if (!route) return route.error();
  errno = EHOSTUNREACH;  // Not all drivers set it.
  port.handle.reset(ibv_create_ah(adapter_.domain(), &*route));
  if (port.handle != nullptr) return Unit{};
  port.refused = adapter_.failed("ibv_create_ah", errno);
  port.refused.text += " (to " + gid_text(peer.gid) + ")";
  const std::uint64_t end_ns = clock.now_ns();
  port.next_try_ns = end_ns + kPausesPerTry * (end_ns - begin_ns);
  return port.refused;
}

bool VerbsDatagramPort::send(rdma::PathId to, rdma::Packet& packet, bool more) noexcept {
  ESP_ASSERT(static_cast<std::size_t>(to) < paths_.size());
  return queue_->send(paths_[static_cast<std::size_t>(to)], packet, more);
}

}  // namespace espalier::verbs
