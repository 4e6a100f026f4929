#include "net/verbs/connection_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace espalier::verbs {
namespace {

constexpr std::uint8_t kReadsMax = 16;  // reads and atomics that a connection serves at once

// What is asked for after a queue pair was refused with so many bytes inline. Messages without a
// payload fit into the least.
constexpr std::uint32_t kInlineMin = 64;
constexpr std::uint32_t fewer_inline(std::uint32_t bytes) noexcept {
  return bytes > kInlineMin ? std::max(bytes / 2, kInlineMin) : 0;
}
static_assert(fewer_inline(256) == 128 && fewer_inline(100) == 64 && fewer_inline(64) == 0);

}  // namespace

Result<std::unique_ptr<rdma::ConnectionPort>> VerbsConnectionPort::create(
    VerbsAdapter& adapter, const ConnectionOptions& options) {
  std::unique_ptr<VerbsConnectionPort> port(new VerbsConnectionPort(adapter, options));
  const Outcome opened = port->open();
  if (!opened) return opened.error();
  return std::unique_ptr<rdma::ConnectionPort>(std::move(port));
}

// What the device can have of what is asked for.
Outcome VerbsConnectionPort::fit_options() {
  const ibv_device_attr& limits = adapter_.limits();
  const auto at_most = [](std::uint32_t& value, int limit) {
    value = std::min(value, static_cast<std::uint32_t>(std::max(limit, 0)));
  };
  options_.send_depth = std::bit_ceil(options_.send_depth);  // Positions wrap around.
  options_.inline_bytes = std::min(options_.inline_bytes, kInlineMax);
  // Spare packets first, then those of the least windows: they are promised whatever else is.
  const auto room = static_cast<std::uint32_t>(std::max(limits.max_srq_wr, 0));
  const std::uint32_t spares = std::min(kSpares, room / 8);
  options_.receive_packets = std::min(options_.receive_packets, room - spares);
  late_ = ReceivePoster::late_of(options_.receive_packets);
  if (options_.packets_each > 0) {
    options_.connections =
        std::min(options_.connections, (room - spares - late_) / options_.packets_each);
  }
  const std::uint32_t least = options_.packets_each * options_.connections;
  options_.receive_packets = std::min(options_.receive_packets + least, room - spares);
  uncounted_ = late_ + least;
  spares_ = SparePackets(options_.receive_packets, spares);
  at_most(options_.connections,
          (limits.max_cqe - static_cast<int>(options_.receive_packets + spares)) /
              static_cast<int>(options_.send_depth));
  at_most(options_.connections, limits.max_qp);
  if (options_.connections == 0 || options_.receive_packets == 0) {
    return error(ESP_ERR_UNSUPPORTED,
                 fmt::format("{}: its queues are too small for connections ({} completions, {} "
                             "shared receives)",
                             adapter_.info().device, limits.max_cqe, limits.max_srq_wr));
  }
  return Unit{};
}

Outcome VerbsConnectionPort::open() {
  Outcome fits = fit_options();
  if (!fits) return fits;
  const std::uint32_t arrivals_max = options_.receive_packets + spares_.left();
  auto completions = CompletionQueue::create(
      adapter_, arrivals_max + options_.connections * options_.send_depth, *this, counts_.looks);
  if (!completions) return completions.error();
  completions_ = std::move(*completions);
  auto packets =
      PacketMemory::create(adapter_, {.count = arrivals_max, .bytes = options_.packet_bytes});
  if (!packets) return packets.error();
  packets_ = std::move(*packets);

  ibv_srq_init_attr wanted = {};
  wanted.srq_context = static_cast<EventTarget*>(this);
  wanted.attr = {.max_wr = arrivals_max, .max_sge = 1, .srq_limit = 0};
  shared_.reset(ibv_create_srq(adapter_.domain(), &wanted));
  if (shared_ == nullptr) return adapter_.failed("ibv_create_srq", errno);
  receives_ = std::make_unique<ReceivePoster>(*packets_, shared_.get(), late_, counts_.refills);
  provide(0);  // Shows whether the device takes any.
  if (receives_->failure() != 0) return adapter_.failed("ibv_post_srq_recv", receives_->failure());

  if (auto fitting = fit_inline_bytes(); !fitting) return fitting;
  auto slots = PacketMemory::create(
      adapter_,
      {.count = options_.connections, .bytes = options_.send_depth * options_.inline_bytes});
  if (!slots) return slots.error();
  slots_ = std::move(*slots);
  return Unit{};
}

// How much a queue pair of this device takes inline, which only a trial shows. The layers above
// rely on it: later ones are made with as much, or not at all.
Outcome VerbsConnectionPort::fit_inline_bytes() {
  auto trial = make_queue_pair();
  // Drivers do not agree on what is wrong then, if they say anything. Limits of the system are
  // another matter.
  while (!trial && trial.error().status.code() != ESP_ERR_NO_MEMORY && options_.inline_bytes > 0) {
    options_.inline_bytes = fewer_inline(options_.inline_bytes);
    trial = make_queue_pair();
  }
  if (!trial) return trial.error();
  return Unit{};
}

Result<QueuePair> VerbsConnectionPort::make_queue_pair() {
  ibv_qp_init_attr wanted = {};
  wanted.qp_context = static_cast<EventTarget*>(this);
  wanted.send_cq = wanted.recv_cq = completions_->get();
  wanted.srq = shared_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {.max_send_wr = options_.send_depth,
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = options_.inline_bytes};
  errno = 0;  // Not all drivers set it.
  QueuePair made(ibv_create_qp(adapter_.domain(), &wanted));
  if (made == nullptr) return adapter_.failed("ibv_create_qp (RC)", errno);
  options_.inline_bytes = std::min(options_.inline_bytes, wanted.cap.max_inline_data);
  return made;
}

// With a number that no connection has or had whose completions may still be waiting.
Result<QueuePair> VerbsConnectionPort::make_distinct_queue_pair() {
  std::vector<QueuePair> passed_over;
  while (true) {
    auto made = make_queue_pair();
    if (!made || !by_queue_pair_.contains((*made)->qp_num)) return made;
    passed_over.push_back(std::move(*made));
  }
}

Connection& VerbsConnectionPort::at(rdma::ConnectionId which) noexcept {
  ESP_ASSERT(static_cast<std::size_t>(which) < connections_.size());
  return *connections_[static_cast<std::size_t>(which)];
}

const Connection& VerbsConnectionPort::at(rdma::ConnectionId which) const noexcept {
  ESP_ASSERT(static_cast<std::size_t>(which) < connections_.size());
  return *connections_[static_cast<std::size_t>(which)];
}

Result<rdma::ConnectionId> VerbsConnectionPort::create() {
  if (!adapter_.fault().ok()) {
    return adapter_.failed("no connection", adapter_.fault().error_number());
  }
  const auto unused = std::find_if(connections_.begin(), connections_.end(), [](const auto& c) {
    return c->state == Connection::State::kFree;
  });
  const auto position = static_cast<std::uint32_t>(unused - connections_.begin());
  if (position == options_.connections) {
    return error(ESP_ERR_NO_MEMORY, fmt::format("{}: {} connections are open, more are not allowed",
                                                adapter_.info().name(), position));
  }
  auto queue_pair = make_distinct_queue_pair();
  if (!queue_pair) return queue_pair.error();
  if (unused == connections_.end()) {
    connections_.push_back(std::make_unique<Connection>(options_.send_depth));
  }
  Connection& connection = *connections_[position];
  connection.state = Connection::State::kMade;
  connection.queue_pair = std::move(*queue_pair);
  connection.own = adapter_.endpoint();
  connection.own.queue_pair = connection.queue_pair->qp_num;
  connection.own.key = random_bits(kPsnMask);
  connection.own.reads =
      static_cast<std::uint8_t>(std::clamp<int>(adapter_.limits().max_qp_rd_atom, 0, kReadsMax));
  by_queue_pair_[connection.own.queue_pair] = position;
  return static_cast<rdma::ConnectionId>(position);
}

rdma::ConnectionAddress VerbsConnectionPort::address(rdma::ConnectionId which) const noexcept {
  ESP_ASSERT(at(which).state != Connection::State::kFree);
  return connection_address(at(which).own);
}

Outcome VerbsConnectionPort::connect(rdma::ConnectionId which, const rdma::ConnectionAddress& to) {
  Connection& connection = at(which);
  ESP_ASSERT(connection.state == Connection::State::kMade);
  const auto peer = parse_address(to);
  if (!peer) return peer.error();
  Outcome connected = connect_queue_pair(adapter_, connection, peer.value());
  if (connected) connection.state = Connection::State::kConnected;
  return connected;
}

void VerbsConnectionPort::stop(rdma::ConnectionId which) noexcept {
  Connection& connection = at(which);
  ESP_ASSERT(connection.state != Connection::State::kFree);
  if (connection.state != Connection::State::kConnected) return;
  connection.stopped = true;
  halt(connection, rdma::Fault::kFlushed);
}

void VerbsConnectionPort::destroy(rdma::ConnectionId which) noexcept {
  Connection& connection = at(which);
  ESP_ASSERT(connection.state == Connection::State::kMade ||
             connection.state == Connection::State::kHalted);
  std::erase(halted_, static_cast<std::uint32_t>(which));
  by_queue_pair_.erase(connection.own.queue_pair);
  heard_ = {};
  completions_->remove(
      [&](const ibv_wc& completion) {
        return (completion.wr_id & kReceive) != 0 && completion.qp_num == connection.own.queue_pair;
      },
      [&](const ibv_wc& completion) {
        rdma::Packet& packet = (*packets_)[static_cast<std::uint32_t>(completion.wr_id)];
        packet.in_flight = 0;
        repost(packet);
      });
  receives_->flush_surplus();
  const std::uint32_t generation = connection.generation + 1;
  connection = Connection(options_.send_depth);
  connection.generation = generation;
}

Result<rdma::Region> VerbsConnectionPort::enroll(const void* begin, std::uint64_t bytes) {
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC;
  constexpr int kReadOnly = IBV_ACCESS_REMOTE_READ;
  void* memory = const_cast<void*>(begin);
  ibv_mr* made = ibv_reg_mr(adapter_.domain(), memory, bytes, kAll);
  const bool writable = made != nullptr;
  // Memory that this process may only read is still good for sending.
  if (made == nullptr && (errno == EFAULT || errno == EACCES || errno == EPERM)) {
    made = ibv_reg_mr(adapter_.domain(), memory, bytes, kReadOnly);
  }
  if (made == nullptr) {
    Error failure = adapter_.failed("ibv_reg_mr", errno);
    failure.text += fmt::format(" ({} bytes)", bytes);
    return failure;
  }
  return rdma::Region{.begin = static_cast<const std::byte*>(begin),
                      .bytes = bytes,
                      .local_key = made->lkey,
                      .remote_key = made->rkey,
                      .handle = reinterpret_cast<std::uint64_t>(made),
                      .writable = writable};
}

// No atomics: what they may reach is told by esp_alloc, which gives memory of the host.
Result<rdma::Region> VerbsConnectionPort::enroll_file(int file, const std::byte* begin,
                                                      std::uint64_t bytes) {
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  ibv_mr* const made = ibv_reg_dmabuf_mr(adapter_.domain(), 0, bytes,
                                         reinterpret_cast<std::uint64_t>(begin), file, kAccess);
  if (made == nullptr) {
    const int why = errno;
    Error failure = adapter_.failed("ibv_reg_dmabuf_mr", why);
    failure.text += fmt::format(" ({} bytes)", bytes);
    const bool never = why == EOPNOTSUPP || why == ENOSYS || why == EPROTONOSUPPORT;
    if (never) failure.status = Status(ESP_ERR_UNSUPPORTED, kNoRank, why);
    return failure;
  }
  return rdma::Region{.begin = begin,
                      .bytes = bytes,
                      .local_key = made->lkey,
                      .remote_key = made->rkey,
                      .handle = reinterpret_cast<std::uint64_t>(made),
                      .writable = true};
}

void VerbsConnectionPort::withdraw(const rdma::Region& region) noexcept {
  if (const int failure = ibv_dereg_mr(reinterpret_cast<ibv_mr*>(region.handle))) {
    adapter_.device_gone(failure);
  }
}

}  // namespace espalier::verbs
