#include "net/verbs/datagram_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace espalier::verbs {
namespace {

constexpr std::uint32_t kRoutingHeader = 40;  // the GRH, or on RoCE v2 the IP header in its place
constexpr std::uint32_t kInlineWanted = 256;
constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;
constexpr std::uint32_t kGenerationMask = 0x7FFFFFFF;

std::uint32_t generation_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id >> 32) & kGenerationMask;
}

// What `packet` waits for in a list of the port.
void push(rdma::Packet*& list, rdma::Packet& packet) noexcept {
  packet.next = list;
  list = &packet;
}

}  // namespace

Result<std::unique_ptr<DatagramQueue>> DatagramQueue::create(VerbsAdapter& adapter,
                                                             const DatagramOptions& options,
                                                             std::uint32_t key,
                                                             rdma::PortCounts& counts) {
  DatagramOptions rounded = options;
  rounded.send_depth = std::bit_ceil(options.send_depth);  // Positions wrap around.
  std::unique_ptr<DatagramQueue> queue(new DatagramQueue(adapter, rounded, key, counts));
  const Outcome opened = queue->open();
  if (!opened) return opened.error();
  return queue;
}

Outcome DatagramQueue::open() {
  ESP_ASSERT(options_.send_depth > 0 && options_.receive_packets > 0);
  auto completions = CompletionQueue::create(
      adapter_, options_.send_depth + options_.receive_packets, *this, counts_.looks);
  if (!completions) return completions.error();
  completions_ = std::move(*completions);
  auto packets =
      PacketMemory::create(adapter_, {.count = options_.receive_packets + options_.send_packets,
                                      .bytes = adapter_.mtu_bytes(),
                                      .headroom = kRoutingHeader});
  if (!packets) return packets.error();
  packets_ = std::move(*packets);
  Outcome made = create_queue_pair();
  if (!made) return made;
  receives_ = std::make_unique<ReceivePoster>(*packets_, queue_pair_.get(),
                                              ReceivePoster::late_of(options_.receive_packets),
                                              counts_.refills);
  for (std::uint32_t i = options_.send_packets; i > 0; --i) {
    push(free_, (*packets_)[options_.receive_packets + i - 1]);
  }
  for (std::uint32_t i = 0; i < options_.receive_packets; ++i) (*packets_)[i].in_flight = 1;
  Outcome started = start_queue_pair();
  if (!started) return started;
  post_receives();
  if (receives_->failure() != 0) return adapter_.failed("ibv_post_recv", receives_->failure());
  return Unit{};
}

Outcome DatagramQueue::create_queue_pair() {
  for (std::uint32_t inlined : {kInlineWanted, kInlineWanted / 2, kInlineWanted / 4, 0U}) {
    ibv_qp_init_attr wanted = {};
    wanted.qp_context = static_cast<EventTarget*>(this);
    wanted.send_cq = wanted.recv_cq = completions_->get();
    wanted.qp_type = IBV_QPT_UD;
    wanted.cap = {.max_send_wr = options_.send_depth,
                  .max_recv_wr = options_.receive_packets,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = inlined};
    errno = 0;  // Not all drivers set it.
    queue_pair_.reset(ibv_create_qp(adapter_.domain(), &wanted));
    if (queue_pair_ != nullptr) {
      inline_bytes_ = std::min(wanted.cap.max_inline_data, kInlineWanted);
      return Unit{};
    }
  }
  return adapter_.failed("ibv_create_qp (UD)", errno);
}

// From RESET to RTS.
Outcome DatagramQueue::start_queue_pair() {
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_INIT;
  state.pkey_index = adapter_.partition_index();
  state.port_num = adapter_.port();
  state.qkey = key_;
  if (const int failure =
          ibv_modify_qp(queue_pair_.get(), &state,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)) {
    return adapter_.failed("ibv_modify_qp (UD, INIT)", failure);
  }
  state.qp_state = IBV_QPS_RTR;
  if (const int failure = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE)) {
    return adapter_.failed("ibv_modify_qp (UD, RTR)", failure);
  }
  state.qp_state = IBV_QPS_RTS;
  if (const int failure = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE | IBV_QP_SQ_PSN)) {
    return adapter_.failed("ibv_modify_qp (UD, RTS)", failure);
  }
  return Unit{};
}

// All packets for arrivals that nobody outside holds.
void DatagramQueue::post_receives() {
  for (std::uint32_t i = 0; i < options_.receive_packets; ++i) {
    rdma::Packet& packet = (*packets_)[i];
    if (packet.in_flight > 0) receives_->post(packet, receive_id(packet));
  }
  receives_->flush();
}

rdma::Packet* DatagramQueue::take() noexcept {
  rdma::Packet* packet = free_;
  if (packet == nullptr) return nullptr;
  free_ = packet->next;
  packet->next = nullptr;
  packet->bytes = 0;
  ESP_ASSERT(packet->in_flight == 0 && !packet->surrendered);
  return packet;
}

void DatagramQueue::give(rdma::Packet& packet) noexcept {
  ESP_ASSERT(!packet.surrendered);
  if (PacketMemory::index(packet) < options_.receive_packets) {
    ESP_ASSERT(packet.in_flight == 0);
    packet.in_flight = 1;
    receives_->post(packet, receive_id(packet));
  } else if (packet.in_flight > 0) {
    packet.surrendered = true;
  } else {
    push(free_, packet);
  }
}

std::uint64_t DatagramQueue::send_id(std::uint32_t position) const noexcept {
  return std::uint64_t{generation_} << 32 | position;
}

std::uint64_t DatagramQueue::receive_id(const rdma::Packet& packet) const noexcept {
  return kReceive | std::uint64_t{generation_} << 32 | PacketMemory::index(packet);
}

bool DatagramQueue::send(const Destination& to, rdma::Packet& packet, bool more) noexcept {
  ESP_ASSERT(PacketMemory::index(packet) >= options_.receive_packets);
  ESP_ASSERT(packet.bytes <= packet.capacity);
  if (tail_ - head_ == options_.send_depth) {
    ring();
    return false;
  }
  places_[batched_] = packets_->payload(packet);
  ibv_send_wr& request = batch_[batched_];
  request.next = nullptr;
  request.wr_id = send_id(tail_);
  request.sg_list = &places_[batched_];
  request.num_sge = packet.bytes > 0 ? 1 : 0;
  request.opcode = IBV_WR_SEND;
  const bool inlined = packet.bytes <= inline_bytes_ && adapter_.inline_sends().wanted();
  request.send_flags = inlined ? unsigned{IBV_SEND_INLINE} : 0u;
  request.wr.ud = {.ah = to.handle, .remote_qpn = to.queue_pair, .remote_qkey = to.key};
  if (batched_ > 0) batch_[batched_ - 1].next = &request;
  ++batched_;
  ++packet.in_flight;
  queued(tail_) = &packet;
  ++tail_;
  if (!more || batched_ == kBatch) ring();
  return true;
}

// One doorbell for what is batched. Its last request asks for a completion if packets wait for one,
// or if many positions do.
void DatagramQueue::ring() noexcept {
  if (batched_ == 0) return;
  const auto all_inline = [this] {
    return std::all_of(batch_.begin(), batch_.begin() + batched_, [](const ibv_send_wr& request) {
      return (request.send_flags & IBV_SEND_INLINE) != 0;
    });
  };
  unsignaled_ += batched_;
  if (unsignaled_ >= options_.send_depth / 4 || !all_inline()) {
    batch_[batched_ - 1].send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
  }
  counts_.sends += batched_;
  ++counts_.doorbells;
  // Packets lie in registered memory: what is refused inline has only to wait for its completion.
  const auto wait = [this](ibv_send_wr&) {
    batch_[batched_ - 1].send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
  };
  const int failure = adapter_.inline_sends().post(queue_pair_.get(), batch_.data(), wait);
  for (std::uint32_t i = 0; i < batched_; ++i) {
    if ((batch_[i].send_flags & IBV_SEND_INLINE) == 0) continue;
    rdma::Packet*& slot = queued(tail_ - batched_ + i);
    release(*slot);
    slot = nullptr;
  }
  batched_ = 0;
  if (failure != 0) {  // An error state is left by poll(); a device that is gone tells so, too.
    broken_ = true;
    if (failure == EIO || failure == ENODEV) adapter_.device_gone(failure);
  }
}

int DatagramQueue::poll(rdma::DatagramSink& sink, int budget) noexcept {
  ring();
  int events = 0;
  while (events < budget) {
    const ibv_wc* completion = completions_->next();
    if (completion == nullptr) break;
    finish(*completion, sink);
    ++events;
  }
  if (events > 0) {
    receives_->flush_surplus();  // PacketBudget promises half of the packets only.
    idle_polls_ = 0;
  } else {
    receives_->flush();
    if (++idle_polls_ % kIdlePolls == 0) adapter_.take_events();
  }
  if (receives_->failure() != 0) adapter_.device_gone(receives_->failure());
  if (broken_) revive();
  if (adapter_.fault().ok()) return events;
  completions_->mute();
  return -1;
}

void DatagramQueue::finish(ibv_wc completion, rdma::DatagramSink& sink) noexcept {
  if (generation_of(completion.wr_id) != generation_) return;
  const auto low = static_cast<std::uint32_t>(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS) return finish_failed(completion);
  if ((completion.wr_id & kReceive) == 0) {
    ++counts_.send_completions;
    return retire(low + 1);
  }
  ++counts_.arrivals;
  rdma::Packet& packet = (*packets_)[low];
  ESP_ASSERT(low < options_.receive_packets && packet.in_flight == 1);
  if (completion.byte_len < kRoutingHeader ||
      completion.byte_len - kRoutingHeader > packet.capacity) {
    receives_->post(packet, completion.wr_id);  // Longer than it can be.
    return;
  }
  packet.in_flight = 0;
  packet.bytes = completion.byte_len - kRoutingHeader;
  sink.arrived(packet);
}

// The queue pair is in its error state; the slot of a send that was inline holds no packet.
void DatagramQueue::finish_failed(const ibv_wc& completion) noexcept {
  broken_ = true;
  const auto position = static_cast<std::uint32_t>(completion.wr_id);
  const bool is_send = (completion.wr_id & kReceive) == 0 && position - head_ < tail_ - head_;
  if (!is_send || queued(position) != nullptr) return;
  adapter_.take_events();  // Perhaps the link is down.
  (void)adapter_.inline_sends().refused(completion.status, adapter_.link_up());
}

// The adapter is done with the sends before `end`.
void DatagramQueue::retire(std::uint32_t end) noexcept {
  ESP_ASSERT(end - head_ <= tail_ - head_);
  for (; head_ != end; ++head_) {
    if (rdma::Packet* packet = queued(head_)) release(*packet);
  }
}

void DatagramQueue::release(rdma::Packet& packet) noexcept {
  ESP_ASSERT(packet.in_flight > 0);
  if (--packet.in_flight > 0 || !packet.surrendered) return;
  packet.surrendered = false;
  push(free_, packet);
}

void DatagramQueue::queue_broken(std::uint32_t queue_pair) noexcept {
  if (queue_pair == 0) return adapter_.device_gone(EOVERFLOW);  // The completion queue.
  broken_ = true;
}

// Through RESET, after which the device holds nothing of ours, back to work. What was posted for
// sending is lost, what was posted for arrivals is posted again.
void DatagramQueue::revive() noexcept {
  ring();
  broken_ = false;
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_RESET;
  if (const int failure = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE)) {
    return adapter_.device_gone(failure);
  }
  generation_ = (generation_ + 1) & kGenerationMask;
  retire(tail_);
  unsignaled_ = 0;
  receives_->forget();
  const Outcome started = start_queue_pair();
  if (!started) return adapter_.device_gone(started.error().status.error_number());
  post_receives();
}

bool DatagramQueue::arm() noexcept {
  ring();
  receives_->flush();
  return completions_->arm() && !broken_;
}

}  // namespace espalier::verbs
