#include "net/verbs/placing_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/clock.hpp"
#include "net/multicast/group_address.hpp"

namespace espalier::verbs {
namespace {

using multicast::Joined;
using multicast::kLaneHeaderBytes;

constexpr std::uint32_t kLaneRoutingHeader = 40;  // the GRH, or the IP header in its place
constexpr std::uint64_t kPlaceId = std::uint64_t{1} << 63;
constexpr std::uint32_t kLaneGenerations = 0x7FFFFFFF;
// For the device to complete what it has, in the error state. RESET ends it in any case.
constexpr std::uint64_t kDrainNs = 2'000'000;

std::uint32_t lane_generation(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id >> 32) & kLaneGenerations;
}

PlacingOptions rounded_up(const PlacingOptions& options, const ibv_device_attr& limits) noexcept {
  const auto most = std::bit_floor(static_cast<std::uint32_t>(std::max(limits.max_qp_wr, 1)));
  return {.places = std::min(std::bit_ceil(options.places), most),
          .send_depth = std::min(std::bit_ceil(options.send_depth), most)};
}

}  // namespace

VerbsPlacingPort::VerbsPlacingPort(VerbsAdapter& adapter, const PlacingOptions& options,
                                   std::uint32_t key)
    : adapter_(adapter),
      options_(rounded_up(options, adapter.limits())),
      key_(key),
      places_(options_.places) {}

Result<std::unique_ptr<multicast::PlacingPort>> VerbsPlacingPort::create(
    VerbsAdapter& adapter, const multicast::GroupAddress& group, const PlacingOptions& options) {
  const Outcome right = check_group(group);
  if (!right) {
    return error(right.error().status.code(),
                 fmt::format("{}: {}", adapter.info().name(), right.error().text));
  }
  std::unique_ptr<VerbsPlacingPort> port(new VerbsPlacingPort(adapter, options, group.key));
  const Outcome opened = port->open(group);
  if (!opened) return opened.error();
  return std::unique_ptr<multicast::PlacingPort>(std::move(port));
}

Outcome VerbsPlacingPort::open(const multicast::GroupAddress& group) {
  ESP_ASSERT(options_.places > 0 && options_.send_depth > 0);
  const std::uint32_t all = options_.places + options_.send_depth;
  auto completions = CompletionQueue::create(adapter_, all, *this, counts_.looks);
  if (!completions) return completions.error();
  completions_ = std::move(*completions);
  auto slots = PacketMemory::create(
      adapter_, {.count = all, .bytes = kLaneHeaderBytes, .headroom = kLaneRoutingHeader});
  if (!slots) return slots.error();
  slots_ = std::move(*slots);
  Outcome made = create_queue_pair();
  if (!made) return made;
  Outcome started = start_queue_pair();
  if (!started) return started;
  auto membership = join_group(adapter_, group, queue_pair_.get());
  if (!membership) return membership.error();
  membership_ = std::move(*membership);
  return completions_->also_wake_for(membership_->descriptor());
}

Outcome VerbsPlacingPort::create_queue_pair() {
  ibv_qp_init_attr wanted = {};
  wanted.qp_context = static_cast<EventTarget*>(this);
  wanted.send_cq = wanted.recv_cq = completions_->get();
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {.max_send_wr = options_.send_depth,
                .max_recv_wr = options_.places,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 0};
  errno = 0;  // Not all drivers set it.
  queue_pair_.reset(ibv_create_qp(adapter_.domain(), &wanted));
  if (queue_pair_ == nullptr) return adapter_.failed("ibv_create_qp (UD, of a lane)", errno);
  return Unit{};
}

// From RESET to RTS.
Outcome VerbsPlacingPort::start_queue_pair() {
  ibv_qp_attr state = {};
  state.pkey_index = adapter_.partition_index();
  state.port_num = adapter_.port();
  state.qkey = key_;
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  for (const auto& [to, mask] :
       {std::pair(IBV_QPS_INIT, kInit), std::pair(IBV_QPS_RTR, int{IBV_QP_STATE}),
        std::pair(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN)}) {
    state.qp_state = to;
    const int failure = ibv_modify_qp(queue_pair_.get(), &state, mask);
    if (failure != 0) return adapter_.failed("ibv_modify_qp (UD, of a lane)", failure);
  }
  return Unit{};
}

Joined VerbsPlacingPort::joined() noexcept {
  if (!adapter_.fault().ok()) return Joined::kFailed;
  if (membership_->joined() == Joined::kNotYet) (void)membership_->look();
  return membership_->joined();
}

const Status& VerbsPlacingPort::fault() const noexcept {
  return adapter_.fault().ok() ? membership_->fault() : adapter_.fault();
}

void VerbsPlacingPort::gone(int error_number) noexcept {
  adapter_.device_gone(error_number);
}

Result<rdma::Region> VerbsPlacingPort::enroll(const void* begin, std::uint64_t bytes) {
  constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE, kReadOnly = 0;
  void* memory = const_cast<void*>(begin);
  errno = 0;
  ibv_mr* made = ibv_reg_mr(adapter_.domain(), memory, bytes, kWritable);
  const bool writable = made != nullptr;
  // Memory that this process may only read is still good for sending.
  if (made == nullptr && (errno == EFAULT || errno == EACCES || errno == EPERM)) {
    made = ibv_reg_mr(adapter_.domain(), memory, bytes, kReadOnly);
  }
  if (made == nullptr) return adapter_.failed("ibv_reg_mr", errno);
  rdma::Region region;
  region.begin = static_cast<const std::byte*>(begin);
  region.bytes = bytes;
  region.local_key = made->lkey;
  region.handle = reinterpret_cast<std::uint64_t>(made);
  region.writable = writable;
  return region;
}

void VerbsPlacingPort::withdraw(const rdma::Region& region) noexcept {
  const int failure = ibv_dereg_mr(reinterpret_cast<ibv_mr*>(region.handle));
  if (failure != 0) gone(failure);
}

std::uint64_t VerbsPlacingPort::id(bool receive, std::uint32_t position) const noexcept {
  return (receive ? kPlaceId : 0) | std::uint64_t{generation_} << 32 | position;
}

// ---- places ----

bool VerbsPlacingPort::post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t key,
                                  std::uint64_t token) noexcept {
  ESP_ASSERT(bytes <= payload_bytes());
  if (posted_ - used_ == options_.places) return false;
  places_[posted_ & (options_.places - 1)] = {token, bytes};
  std::array<ibv_sge, 2>& parts = receive_parts_[unshown_];
  parts[0] = slots_->whole(place_slot(posted_));
  parts[1] = {.addr = reinterpret_cast<std::uint64_t>(memory), .length = bytes, .lkey = key};
  receives_[unshown_] = {
      .wr_id = id(true, posted_), .next = nullptr, .sg_list = parts.data(), .num_sge = 2};
  if (unshown_ > 0) receives_[unshown_ - 1].next = &receives_[unshown_];
  ++posted_;
  if (++unshown_ == kPosts) show_places();
  return true;
}

void VerbsPlacingPort::show_places() noexcept {
  if (unshown_ == 0) return;
  ibv_recv_wr* refused = nullptr;
  ++counts_.refills;
  const int failure = ibv_post_recv(queue_pair_.get(), receives_.data(), &refused);
  unshown_ = 0;
  if (failure != 0) gone(failure);
}

// ---- sending ----

bool VerbsPlacingPort::send(multicast::LaneHeader header, const std::byte* payload,
                            std::uint32_t bytes, std::uint32_t key, bool more) noexcept {
  if (membership_->handle() == nullptr) return false;  // joined() has not been kYes.
  if (sending() == options_.send_depth) {
    ring();
    return false;
  }
  rdma::Packet& slot = send_slot(sent_);
  std::memcpy(slot.data, header.data(), kLaneHeaderBytes);
  slot.bytes = kLaneHeaderBytes;
  std::array<ibv_sge, 2>& parts = send_parts_[batched_];
  parts[0] = slots_->payload(slot);
  parts[1] = {.addr = reinterpret_cast<std::uint64_t>(payload), .length = bytes, .lkey = key};
  ibv_send_wr& request = sends_[batched_];
  request.next = nullptr;
  request.wr_id = id(false, sent_);
  request.sg_list = parts.data();
  request.num_sge = bytes > 0 ? 2 : 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = 0;
  request.wr.ud = {.ah = membership_->handle(), .remote_qpn = kAllMembers, .remote_qkey = key_};
  if (batched_ > 0) sends_[batched_ - 1].next = &request;
  ++sent_;
  if (++batched_ == kPosts || !more) ring();
  return true;
}

// One doorbell, and one completion for what it hands over: payload is waited for.
void VerbsPlacingPort::ring() noexcept {
  if (batched_ == 0) return;
  sends_[batched_ - 1].send_flags = IBV_SEND_SIGNALED;
  counts_.sends += batched_;
  ++counts_.doorbells;
  batched_ = 0;
  ibv_send_wr* refused = nullptr;
  const int failure = ibv_post_send(queue_pair_.get(), sends_.data(), &refused);
  if (failure == 0) return;
  broken_ = true;
  if (failure == EIO || failure == ENODEV) gone(failure);
}

// ---- completions ----

int VerbsPlacingPort::poll(multicast::PlacingSink& sink, int budget) noexcept {
  ring();
  int events = 0;
  while (events < budget) {
    const ibv_wc* completion = completions_->next();
    if (completion == nullptr) break;
    finish(*completion, sink);
    ++events;
  }
  if (events > 0) {
    idle_polls_ = 0;
  } else if (++idle_polls_ % kIdlePolls == 0) {
    adapter_.take_events();
  }
  if (broken_ && adapter_.fault().ok()) start_again(sink);
  if (adapter_.fault().ok()) return events;
  completions_->mute();
  return -1;
}

void VerbsPlacingPort::finish(const ibv_wc& completion, multicast::PlacingSink& sink) noexcept {
  if (lane_generation(completion.wr_id) != generation_) return;
  const bool of_place = (completion.wr_id & kPlaceId) != 0;
  if (completion.status != IBV_WC_SUCCESS) {
    broken_ = true;
    if (of_place) ++taken_back_;
  } else if (of_place) {
    finish_place(completion, sink);
  } else {
    ++counts_.send_completions;
    completed_ = static_cast<std::uint32_t>(completion.wr_id) + 1;
  }
}

void VerbsPlacingPort::finish_place(const ibv_wc& completion,
                                    multicast::PlacingSink& sink) noexcept {
  constexpr std::uint32_t kHeaders = kLaneRoutingHeader + kLaneHeaderBytes;
  const auto position = static_cast<std::uint32_t>(completion.wr_id);
  ESP_ASSERT(position - used_ < posted_ - used_);
  ++counts_.arrivals;
  for (; used_ != position; ++used_) {  // They have failed.
    --taken_back_;
    sink.returned(places_[used_ & (options_.places - 1)].token);
  }
  ++used_;
  rdma::Packet& slot = place_slot(position);
  // Too short for a header: what stands there is an older one.
  const bool is_short = completion.byte_len < kHeaders;
  if (is_short) std::memset(slot.data, 0, kLaneHeaderBytes);
  const Place place = places_[position & (options_.places - 1)];
  const std::uint32_t bytes = is_short ? 0 : std::min(completion.byte_len - kHeaders, place.bytes);
  sink.placed(place.token, multicast::LaneHeader(slot.data, kLaneHeaderBytes), bytes);
}

void VerbsPlacingPort::queue_broken(std::uint32_t queue_pair) noexcept {
  if (queue_pair == 0) return gone(EOVERFLOW);  // The completion queue.
  broken_ = true;
}

// In the error state: what has come is handed over, and the device completes the rest.
void VerbsPlacingPort::drain(multicast::PlacingSink& sink) noexcept {
  SteadyClock clock;
  const std::uint64_t end_ns = clock.now_ns() + kDrainNs;
  while (used_ + taken_back_ != posted_ && adapter_.fault().ok()) {
    while (const ibv_wc* completion = completions_->next()) finish(*completion, sink);
    if (clock.now_ns() >= end_ns) break;
  }
}

// Takes the queue pair out of use, returns all places, and takes it into use again. What was posted
// for sending is lost.
void VerbsPlacingPort::start_again(multicast::PlacingSink& sink) noexcept {
  show_places();
  ring();
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_ERR;
  int failure = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE);
  if (failure == 0) drain(sink);
  state.qp_state = IBV_QPS_RESET;
  if (failure == 0) failure = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE);
  if (failure != 0) return gone(failure);
  generation_ = (generation_ + 1) & kLaneGenerations;
  broken_ = false;
  taken_back_ = 0;
  completed_ = sent_;
  for (; used_ != posted_ && adapter_.fault().ok(); ++used_) {
    sink.returned(places_[used_ & (options_.places - 1)].token);
  }
  const Outcome started = start_queue_pair();
  if (!started) gone(started.error().status.error_number());
}

bool VerbsPlacingPort::arm() noexcept {
  ring();
  show_places();
  const Joined before = membership_->joined();
  return membership_->look() == before && completions_->arm() && !broken_;
}

}  // namespace espalier::verbs
