// VerbsAdapter: an open device, its protection domain and one of its ports; and what the device
// tells out of band (asynchronous events).
//
// Events are taken when a port goes to sleep, after thousands of polls that found nothing, and
// when something failed: a system call each time. Those of a queue go to the EventTarget that was
// given as its context. Ownership: outlives its ports. Threads: owner. path: setup
#pragma once

#include <cstdint>
#include <memory>

#include "net/verbs/handles.hpp"
#include "net/verbs/inline_sends.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier::verbs {

// Between looks at the device's events.
inline constexpr unsigned kIdlePolls = 4096;

// What an event of a device or its port means for those who use it.
enum class EventMeaning : std::uint8_t {
  kNothing,
  kPortUp,
  kPortDown,
  kDeviceGone,
  kQueueBroken,
  kReceivesBack,
};
EventMeaning meaning(ibv_event_type event) noexcept;

// Who owns a queue pair, a shared receive queue or a completion queue.
class EventTarget {
 public:
  // It is broken. `queue_pair`: its number; 0: the event is about another queue.
  virtual void queue_broken(std::uint32_t queue_pair) noexcept = 0;
  // This queue pair, which is broken, has completed all that it had taken from its shared receive
  // queue.
  virtual void receives_back(std::uint32_t) noexcept {}

 protected:
  ~EventTarget() = default;
};

class VerbsAdapter final : public Adapter {
 public:
  static Result<std::unique_ptr<Adapter>> open(const PortInfo& port, const Options& options,
                                               const Log& log);

  const PortInfo& info() const noexcept override { return info_; }
  bool link_up() const noexcept override { return link_up_; }
  Result<std::unique_ptr<rdma::DatagramPort>> open_datagrams(
      const DatagramOptions& options) override;
  Result<std::unique_ptr<rdma::ConnectionPort>> open_connections(
      const ConnectionOptions& options) override;
  Result<std::unique_ptr<multicast::GroupPort>> open_group(const multicast::GroupAddress& group,
                                                           const DatagramOptions& options) override;
  Result<std::unique_ptr<multicast::PlacingPort>> open_lane(const multicast::GroupAddress& group,
                                                            const PlacingOptions& options) override;

  ibv_context* context() const noexcept { return context_.get(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  const ibv_device_attr& limits() const noexcept { return limits_; }
  const Options& options() const noexcept { return options_; }
  const Log& log() const noexcept { return log_; }
  InlineSends& inline_sends() noexcept { return inline_sends_; }
  std::uint8_t port() const noexcept { return static_cast<std::uint8_t>(info_.port); }
  std::uint16_t partition_index() const noexcept { return info_.partition_index; }
  // Of packets: the link's, or less by option.
  std::uint32_t mtu_bytes() const noexcept { return mtu_bytes_; }

  // What peers must know of the port; queue pair and key are filled in by the caller.
  Endpoint endpoint() const noexcept;
  // How to reach a peer's port. An error when it is on another kind of link.
  Result<ibv_ah_attr> route(const Endpoint& to) const;

  Error failed(const char* call, int error_number) const {
    return verbs_error(info_.device, call, error_number);
  }

  int event_descriptor() const noexcept { return context_->async_fd; }
  void take_events() noexcept;
  void device_gone(int error_number) noexcept;
  const Status& fault() const noexcept { return fault_; }

 private:
  VerbsAdapter(const PortInfo& info, const Options& options, const Log& log, Context context,
               ProtectionDomain domain);
  void on_event(const ibv_async_event& event) noexcept;

  const PortInfo info_;
  Options options_;
  const Log log_;
  InlineSends inline_sends_;
  Context context_;
  ProtectionDomain domain_;
  ibv_device_attr limits_ = {};
  std::uint32_t mtu_bytes_ = 0;
  bool link_up_ = true;
  Status fault_;
};

// 24 or 31 random bits for PSNs and Q_Keys: no stranger meets them by accident.
std::uint32_t random_bits(std::uint32_t mask) noexcept;

constexpr ibv_mtu mtu_code(std::uint32_t bytes) noexcept {
  return bytes >= 4096   ? IBV_MTU_4096
         : bytes >= 2048 ? IBV_MTU_2048
         : bytes >= 1024 ? IBV_MTU_1024
         : bytes >= 512  ? IBV_MTU_512
                         : IBV_MTU_256;
}
constexpr std::uint32_t mtu_bytes(ibv_mtu code) noexcept {
  return 128u << static_cast<unsigned>(code);
}
static_assert(mtu_bytes(IBV_MTU_4096) == 4096 && mtu_code(256) == IBV_MTU_256);

}  // namespace espalier::verbs
