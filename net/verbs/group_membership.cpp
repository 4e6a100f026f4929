#include "net/verbs/group_membership.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "net/multicast/group_address.hpp"

namespace espalier::verbs {
namespace {

using multicast::Joined;

using EventChannel = std::unique_ptr<rdma_event_channel, Destroyer<&rdma_destroy_event_channel>>;
using ManagedId = std::unique_ptr<rdma_cm_id, Destroyer<&rdma_destroy_id>>;

sockaddr_in socket_address_of(const GidBytes& gid) noexcept {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_addr, gid.data() + 12, sizeof address.sin_addr);
  return address;
}

GidBytes gid_of(const multicast::GroupAddress& group) noexcept {
  GidBytes gid;
  std::memcpy(gid.data(), group.gid.data(), gid.size());
  return gid;
}

class ManagedMembership final : public GroupMembership {
 public:
  ManagedMembership(VerbsAdapter& adapter, const multicast::GroupAddress& group, ibv_qp* queue_pair)
      : adapter_(adapter),
        group_(socket_address_of(gid_of(group))),
        name_(fmt::format("{}: group {}", adapter.info().name(), group_text(group))),
        queue_pair_(queue_pair) {
    std::memcpy(gid_.raw, group.gid.data(), sizeof gid_.raw);
  }
  ~ManagedMembership() override;
  ManagedMembership(const ManagedMembership&) = delete;
  ManagedMembership& operator=(const ManagedMembership&) = delete;

  Outcome begin();
  Joined look() noexcept override;
  Joined joined() const noexcept override { return joined_; }
  ibv_ah* handle() const noexcept override { return handle_.get(); }
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return channel_->fd; }

 private:
  sockaddr* group() noexcept { return reinterpret_cast<sockaddr*>(&group_); }
  Outcome open_channel();
  Outcome bind();
  void take(const rdma_cm_event& event) noexcept;
  void attach(ibv_ah_attr route) noexcept;
  void fail(const char* call, int error_number) noexcept;
  Error refused(const char* call, int error_number) const;

  VerbsAdapter& adapter_;
  sockaddr_in group_;
  ibv_gid gid_ = {};
  const std::string name_;  // for people
  ibv_qp* const queue_pair_;
  EventChannel channel_;
  ManagedId id_;
  AddressHandle handle_;
  bool asked_ = false, attached_ = false;
  Joined joined_ = Joined::kNotYet;
  Status fault_;
};

// All events have been acknowledged, so nothing here waits. A queue pair that is attached could not
// be destroyed.
ManagedMembership::~ManagedMembership() {
  if (attached_) (void)ibv_detach_mcast(queue_pair_, &gid_, 0);
  if (asked_) (void)rdma_leave_multicast(id_.get(), group());
}

Outcome ManagedMembership::begin() {
  if (const std::string why = why_no_groups(adapter_.info()); !why.empty()) {
    return error(ESP_ERR_UNSUPPORTED, fmt::format("{}: {}", name_, why));
  }
  adapter_.take_events();
  if (!adapter_.link_up()) {
    return error(ESP_ERR_NETWORK, fmt::format("{}: the link is down", name_));
  }
  Outcome opened = open_channel();
  if (!opened) return opened;
  Outcome bound = bind();
  if (!bound) return bound;
  if (rdma_join_multicast(id_.get(), group(), nullptr) != 0) {
    return refused("rdma_join_multicast", errno);
  }
  asked_ = true;
  return Unit{};
}

Outcome ManagedMembership::open_channel() {
  errno = 0;
  channel_.reset(rdma_create_event_channel());
  if (channel_ == nullptr) return refused("rdma_create_event_channel", errno);
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) return refused("fcntl", errno);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, this, RDMA_PS_UDP) != 0) {
    return refused("rdma_create_id", errno);
  }
  id_.reset(id);
  return Unit{};
}

// To the port, by its address. No queue pair belongs to the identifier: it would have to be one of
// another context of the device.
Outcome ManagedMembership::bind() {
  const PortInfo& info = adapter_.info();
  sockaddr_in own = socket_address_of(info.gid.bytes);
  if (rdma_bind_addr(id_.get(), reinterpret_cast<sockaddr*>(&own)) != 0) {
    return refused("rdma_bind_addr", errno);
  }
  const char* device = id_->verbs != nullptr ? ibv_get_device_name(id_->verbs->device) : "nobody";
  if (info.device == device && id_->port_num == info.port) return Unit{};
  return error(ESP_ERR_NETWORK, fmt::format("{}: its address {} is taken for that of {}:{}", name_,
                                            gid_text(info.gid.bytes), device, id_->port_num));
}

Joined ManagedMembership::look() noexcept {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel_.get(), &event) == 0) {
    const rdma_cm_event copy = *event;
    rdma_ack_cm_event(event);  // Else leaving waits for it.
    take(copy);
  }
  if (errno != EAGAIN && errno != EINTR) fail("rdma_get_cm_event", errno);
  return joined_;
}

void ManagedMembership::take(const rdma_cm_event& event) noexcept {
  switch (event.event) {
    case RDMA_CM_EVENT_MULTICAST_JOIN:
      if (joined_ == Joined::kNotYet) attach(event.param.ud.ah_attr);
      return;
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return fail("joining", event.status != 0 ? std::abs(event.status) : EIO);
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return fail("a member's device", ENODEV);
    default:  // The address has changed, for one: the queue pair stays what it is.
      return;
  }
}

void ManagedMembership::attach(ibv_ah_attr route) noexcept {
  route.sl = static_cast<std::uint8_t>(adapter_.options().service_level);
  route.grh.traffic_class = static_cast<std::uint8_t>(adapter_.options().traffic_class);
  errno = EHOSTUNREACH;  // Not all drivers set it.
  handle_.reset(ibv_create_ah(adapter_.domain(), &route));
  if (handle_ == nullptr) return fail("ibv_create_ah", errno);
  if (const int failure = ibv_attach_mcast(queue_pair_, &gid_, 0)) {
    return fail("ibv_attach_mcast", std::abs(failure));
  }
  attached_ = true;
  joined_ = Joined::kYes;
}

void ManagedMembership::fail(const char* call, int error_number) noexcept {
  if (joined_ == Joined::kFailed) return;
  joined_ = Joined::kFailed;
  const Error why = refused(call, error_number);
  fault_ = why.status;
  adapter_.log().warn("{}", why.text);
}

Error ManagedMembership::refused(const char* call, int error_number) const {
  const bool full = error_number == ENOMEM || error_number == ENOSPC;
  std::string hint;
  switch (error_number) {
    case EACCES:
    case EPERM:
      hint = " (may this process open /dev/infiniband/rdma_cm?)";
      break;
    case ENOENT:
      hint = " (is the module rdma_ucm loaded?)";
      break;
    case ENOMEM:
    case ENOSPC:
      hint = fmt::format(" (its tables may be full; {})", describe_groups(adapter_.info()));
      break;
    default:
      break;
  }
  return error(
      full ? ESP_ERR_NO_MEMORY : ESP_ERR_NETWORK,
      fmt::format("{}: {}: {}{}", name_, call,
                  error_number != 0 ? std::strerror(error_number) : "no reason given", hint),
      kNoRank, error_number);
}

}  // namespace

std::string why_no_groups() {
  return "";
}

Result<std::unique_ptr<GroupMembership>> join_group(VerbsAdapter& adapter,
                                                    const multicast::GroupAddress& group,
                                                    ibv_qp* queue_pair) {
  auto membership = std::make_unique<ManagedMembership>(adapter, group, queue_pair);
  const Outcome begun = membership->begin();
  if (!begun) return begun.error();
  return std::unique_ptr<GroupMembership>(std::move(membership));
}

}  // namespace espalier::verbs
