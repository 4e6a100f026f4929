#include "net/verbs/adapter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/verbs/connection_port.hpp"
#include "net/verbs/datagram_port.hpp"
#include "net/verbs/group_port.hpp"
#include "net/verbs/placing_port.hpp"

namespace espalier::verbs {
namespace {

constexpr int kAckTimeout = 14;  // 67 ms
// Soft-RoCE that sends again what only was late repeats requests, or writes the bytes of another
// place (docs/verbs.md, "Soft-RoCE and late acknowledgements"). So it waits for 1.1 s.
constexpr int kSoftRoceAckTimeout = 18;
constexpr std::uint32_t kSoftRoceVendor = 0xffffff;

}  // namespace

EventMeaning meaning(ibv_event_type event) noexcept {
  switch (event) {
    case IBV_EVENT_PORT_ACTIVE:
      return EventMeaning::kPortUp;
    case IBV_EVENT_PORT_ERR:
      return EventMeaning::kPortDown;
    case IBV_EVENT_DEVICE_FATAL:
      return EventMeaning::kDeviceGone;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
      return EventMeaning::kQueueBroken;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return EventMeaning::kReceivesBack;
    default:  // Communication established, queues drained, tables changed: no consequence here.
      return EventMeaning::kNothing;
  }
}

Error verbs_error(const std::string& device, const char* call, int error_number) {
  const bool limit = error_number == ENOMEM || error_number == EMFILE || error_number == ENOSPC;
  return error(limit ? ESP_ERR_NO_MEMORY : ESP_ERR_NETWORK,
               fmt::format("{}: {}: {}{}", device, call,
                           error_number != 0 ? std::strerror(error_number) : "no reason given",
                           error_number == ENOMEM ? " (is ulimit -l too small?)" : ""),
               kNoRank, error_number);
}

std::uint32_t random_bits(std::uint32_t mask) noexcept {
  std::uint32_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
  }
  return bits & mask;
}

VerbsAdapter::VerbsAdapter(const PortInfo& info, const Options& options, const Log& log,
                           Context context, ProtectionDomain domain)
    : info_(info),
      options_(options),
      log_(log),
      inline_sends_(info.device, log),
      context_(std::move(context)),
      domain_(std::move(domain)) {
  mtu_bytes_ = info.mtu_bytes;
  if (options.mtu_bytes != 0) {
    mtu_bytes_ = std::min(mtu_bytes_, verbs::mtu_bytes(mtu_code(options.mtu_bytes)));
  }
}

Result<std::unique_ptr<Adapter>> VerbsAdapter::open(const PortInfo& port, const Options& options,
                                                    const Log& log) {
  int count = 0;
  const DeviceList devices(ibv_get_device_list(&count));
  const auto find = [&]() -> ibv_device* {
    for (int i = 0; devices != nullptr && i < count; ++i) {
      if (port.device == ibv_get_device_name(devices[static_cast<std::size_t>(i)])) {
        return devices[static_cast<std::size_t>(i)];
      }
    }
    return nullptr;
  };
  ibv_device* device = find();
  if (device == nullptr) {
    return error(ESP_ERR_NETWORK, fmt::format("{}: there is no such device any more", port.device));
  }
  Context context(ibv_open_device(device));
  if (context == nullptr) return verbs_error(port.device, "ibv_open_device", errno);
  const int flags = ::fcntl(context->async_fd, F_GETFL);
  if (::fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return verbs_error(port.device, "fcntl", errno);
  }
  ProtectionDomain domain(ibv_alloc_pd(context.get()));
  if (domain == nullptr) return verbs_error(port.device, "ibv_alloc_pd", errno);
  std::unique_ptr<VerbsAdapter> adapter(
      new VerbsAdapter(port, options, log, std::move(context), std::move(domain)));
  if (const int failure = ibv_query_device(adapter->context(), &adapter->limits_)) {
    return verbs_error(port.device, "ibv_query_device", failure);
  }
  if (options.ack_timeout == 0) {
    adapter->options_.ack_timeout =
        adapter->limits_.vendor_id == kSoftRoceVendor ? kSoftRoceAckTimeout : kAckTimeout;
  }
  return std::unique_ptr<Adapter>(std::move(adapter));
}

Endpoint VerbsAdapter::endpoint() const noexcept {
  return {.link = info_.link,
          .mtu_bytes = mtu_bytes_,
          .lid = info_.lid,
          .partition = static_cast<std::uint16_t>(info_.partition_key & kPartitionMask),
          .limited = (info_.partition_key & ~kPartitionMask) == 0,
          .needs_grh = info_.needs_grh,
          .gid = info_.gid.bytes};
}

Result<ibv_ah_attr> VerbsAdapter::route(const Endpoint& to) const {
  constexpr std::uint8_t kHopLimit = 64;
  if (to.link != info_.link) {
    return error(ESP_ERR_NETWORK,
                 fmt::format("{} is on {}, a peer on {}", info_.name(), link_layer_name(info_.link),
                             link_layer_name(to.link)));
  }
  ibv_ah_attr route = {};
  route.port_num = port();
  route.sl = static_cast<std::uint8_t>(options_.service_level);
  route.dlid = to.lid;
  // On InfiniBand the long way of addressing is for another subnet, or where either port asks for
  // it.
  if (info_.link == LinkLayer::kEthernet || info_.needs_grh || to.needs_grh ||
      !same_subnet(to.gid, info_.gid.bytes)) {
    route.is_global = 1;
    std::memcpy(route.grh.dgid.raw, to.gid.data(), to.gid.size());
    route.grh.sgid_index = static_cast<std::uint8_t>(info_.gid.index);
    route.grh.hop_limit = kHopLimit;
    route.grh.traffic_class = static_cast<std::uint8_t>(options_.traffic_class);
  }
  return route;
}

void VerbsAdapter::take_events() noexcept {
  ibv_async_event event;
  while (fault_.ok() && ibv_get_async_event(context_.get(), &event) == 0) {
    // First: who is told may destroy the queue pair, and that waits until its events are seen.
    ibv_ack_async_event(&event);
    on_event(event);
  }
}

void VerbsAdapter::on_event(const ibv_async_event& event) noexcept {
  const auto tell = [](void* target, std::uint32_t queue_pair) {
    static_cast<EventTarget*>(target)->queue_broken(queue_pair);
  };
  switch (meaning(event.event_type)) {
    case EventMeaning::kNothing:
      return;
    case EventMeaning::kPortUp:
    case EventMeaning::kPortDown:
      if (event.element.port_num == info_.port) {
        link_up_ = meaning(event.event_type) == EventMeaning::kPortUp;
      }
      return;
    case EventMeaning::kDeviceGone:
      return device_gone(ENODEV);
    case EventMeaning::kQueueBroken:
      if (event.event_type == IBV_EVENT_CQ_ERR) return tell(event.element.cq->cq_context, 0);
      if (event.event_type == IBV_EVENT_SRQ_ERR) return tell(event.element.srq->srq_context, 0);
      return tell(event.element.qp->qp_context, event.element.qp->qp_num);
    case EventMeaning::kReceivesBack:
      return static_cast<EventTarget*>(event.element.qp->qp_context)
          ->receives_back(event.element.qp->qp_num);
  }
}

void VerbsAdapter::device_gone(int error_number) noexcept {
  if (fault_.ok()) fault_ = Status(ESP_ERR_NETWORK, kNoRank, error_number);
  link_up_ = false;
}

Result<std::unique_ptr<rdma::DatagramPort>> VerbsAdapter::open_datagrams(
    const DatagramOptions& options) {
  return VerbsDatagramPort::create(*this, options);
}

Result<std::unique_ptr<rdma::ConnectionPort>> VerbsAdapter::open_connections(
    const ConnectionOptions& options) {
  return VerbsConnectionPort::create(*this, options);
}

Result<std::unique_ptr<multicast::GroupPort>> VerbsAdapter::open_group(
    const multicast::GroupAddress& group, const DatagramOptions& options) {
  return VerbsGroupPort::create(*this, group, options);
}

Result<std::unique_ptr<multicast::PlacingPort>> VerbsAdapter::open_lane(
    const multicast::GroupAddress& group, const PlacingOptions& options) {
  return VerbsPlacingPort::create(*this, group, options);
}

Result<std::unique_ptr<Adapter>> open_adapter(const PortInfo& port, const Options& options,
                                              const Log& log) {
  if (!port.why_not.empty()) {
    return error(ESP_ERR_NETWORK, fmt::format("{}: {}", port.name(), port.why_not));
  }
  return VerbsAdapter::open(port, options, log);
}

}  // namespace espalier::verbs
