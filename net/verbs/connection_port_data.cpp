// VerbsConnectionPort: posting, polling and the end of connections.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "net/verbs/connection_port.hpp"

namespace espalier::verbs {
namespace {

constexpr std::uint64_t kReceivesBackNs = 1'000'000;
constexpr std::uint32_t kUntoldMax = 4;

// The id of a work request for sending: 23 bits for whose, 8 for the generation, 32 for the
// position.
constexpr std::uint32_t kRequestGenerationMask = 0xFF;
struct Request {
  std::uint32_t connection, generation, position;
};
constexpr std::uint64_t id_of(const Request& request) noexcept {
  return std::uint64_t{request.connection} << 40 |
         std::uint64_t{request.generation & kRequestGenerationMask} << 32 | request.position;
}
constexpr Request request_of(std::uint64_t id) noexcept {
  return {static_cast<std::uint32_t>(id >> 40),
          static_cast<std::uint32_t>(id >> 32) & kRequestGenerationMask,
          static_cast<std::uint32_t>(id)};
}
static_assert(request_of(id_of({5, 0x107, 9})).generation == 7);

}  // namespace

bool VerbsConnectionPort::send(rdma::ConnectionId on, const rdma::Transfer& what) noexcept {
  ibv_send_wr* request = next_request(on);
  if (request == nullptr) return false;
  request->opcode = IBV_WR_SEND;
  post(on, what, *request);
  return true;
}

bool VerbsConnectionPort::send_immediate(rdma::ConnectionId on, const rdma::Transfer& what,
                                         std::uint32_t immediate) noexcept {
  ibv_send_wr* request = next_request(on);
  if (request == nullptr) return false;
  request->opcode = IBV_WR_SEND_WITH_IMM;
  request->imm_data = htobe32(immediate);
  post(on, what, *request);
  return true;
}

bool VerbsConnectionPort::write(rdma::ConnectionId on, const rdma::Transfer& what,
                                rdma::RemoteMemory to, bool with_immediate,
                                std::uint32_t immediate) noexcept {
  ibv_send_wr* request = next_request(on);
  if (request == nullptr) return false;
  request->opcode = with_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request->imm_data = htobe32(immediate);
  request->wr.rdma = {.remote_addr = to.address, .rkey = to.key};
  post(on, what, *request);
  return true;
}

bool VerbsConnectionPort::read(rdma::ConnectionId on, const rdma::Transfer& what,
                               rdma::RemoteMemory from) noexcept {
  ESP_ASSERT(what.region != nullptr || what.bytes == 0);
  ibv_send_wr* request = next_request(on);
  if (request == nullptr) return false;
  request->opcode = IBV_WR_RDMA_READ;
  request->wr.rdma = {.remote_addr = from.address, .rkey = from.key};
  post(on, what, *request);
  return true;
}

bool VerbsConnectionPort::atomic(rdma::ConnectionId on, const rdma::Transfer& result,
                                 rdma::RemoteMemory at, rdma::Atomic kind, std::uint64_t operand,
                                 std::uint64_t compare) noexcept {
  ESP_ASSERT(result.region != nullptr && result.bytes == sizeof operand);
  ESP_ASSERT(at.address % sizeof operand == 0);
  ibv_send_wr* request = next_request(on);
  if (request == nullptr) return false;
  const bool add = kind == rdma::Atomic::kFetchAdd;
  request->opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
  request->wr.atomic = {.remote_addr = at.address,
                        .compare_add = add ? operand : compare,
                        .swap = add ? 0 : operand,
                        .rkey = at.key};
  post(on, result, *request);
  return true;
}

void VerbsConnectionPort::repost(rdma::Packet& packet) noexcept {
  ESP_ASSERT(packet.in_flight == 0);
  packet.in_flight = 1;
  receives_->post(packet, kReceive | packet.port_data);
}

// A device that takes no receives is found gone by the next poll().
void VerbsConnectionPort::provide(std::uint32_t packets) noexcept {
  const std::uint32_t wanted = std::min(packets + late_ + lost_, options_.receive_packets);
  while (provided_ < wanted) repost((*packets_)[provided_++]);
  receives_->flush();
}

// Where the next request is written, behind others of this connection; nullptr: its queue is full.
// Set are `next` and `send_flags`: a work request has 128 bytes, of which an operation uses few.
ibv_send_wr* VerbsConnectionPort::next_request(rdma::ConnectionId on) noexcept {
  const Connection& connection = at(on);
  ESP_ASSERT(connection.state == Connection::State::kConnected ||
             connection.state == Connection::State::kHalted);
  if (batch_of_ != &connection) ring();
  if (connection.posted.full()) {
    ring();
    return nullptr;
  }
  ibv_send_wr& request = batch_[batched_];
  request.next = nullptr;
  request.send_flags = 0;
  return &request;
}

void VerbsConnectionPort::post(rdma::ConnectionId on, const rdma::Transfer& what,
                               ibv_send_wr& request) noexcept {
  Connection& connection = at(on);
  const std::uint32_t position =
      connection.posted.push({.cookie = what.cookie, .report = what.signaled});
  if (connection.state == Connection::State::kHalted) {  // Fails with the rest.
    const auto number = static_cast<std::uint32_t>(on);
    if (std::find(halted_.begin(), halted_.end(), number) == halted_.end()) {
      halted_.push_back(number);
    }
    return;
  }
  request.wr_id = id_of({static_cast<std::uint32_t>(on), connection.generation, position});
  fill(request, what);
  connection.posted.at(position).inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (what.signaled || ++connection.unsignaled >= options_.send_depth / 2) {
    request.send_flags |= IBV_SEND_SIGNALED;
    connection.unsignaled = 0;
  }
  if (batched_ > 0) batch_[batched_ - 1].next = &request;
  batch_of_ = &connection;
  ++batched_;
  if (!what.more || batched_ == kBatch) ring();
}

// Inline bytes need no copy here if the doorbell follows at once: it makes one.
void VerbsConnectionPort::fill(ibv_send_wr& request, const rdma::Transfer& what) noexcept {
  ibv_sge& place = places_[batched_];
  request.sg_list = &place;
  request.num_sge = what.bytes > 0 ? 1 : 0;
  place.addr = reinterpret_cast<std::uint64_t>(what.local);
  place.length = static_cast<std::uint32_t>(what.bytes);
  place.lkey = what.region != nullptr ? what.region->local_key : 0;
  if (what.region != nullptr || what.bytes == 0) return;
  ESP_ASSERT(what.bytes <= options_.inline_bytes);
  if (!adapter_.inline_sends().wanted()) return copy_to_slot(request);
  request.send_flags |= IBV_SEND_INLINE;
  if (!what.more) return;
  std::memcpy(copies_[batched_].data(), what.local, what.bytes);
  place.addr = reinterpret_cast<std::uint64_t>(copies_[batched_].data());
}

// The slot belongs to the request's position, which is used again when this request has completed,
// or a later one that was signaled. Queue pairs work in order: by then the device has read it.
void VerbsConnectionPort::copy_to_slot(ibv_send_wr& request) noexcept {
  const Request which = request_of(request.wr_id);
  const rdma::Packet& slots = (*slots_)[which.connection];
  const std::size_t slot_bytes = slots.capacity / options_.send_depth;
  std::byte* slot = slots.data + slot_bytes * (which.position & (options_.send_depth - 1));
  ibv_sge& place = *request.sg_list;
  std::memcpy(slot, reinterpret_cast<const void*>(place.addr), place.length);
  place.addr = reinterpret_cast<std::uint64_t>(slot);
  place.lkey = slots_->payload(slots).lkey;
  connections_[which.connection]->posted.at(which.position).inlined = false;
}

void VerbsConnectionPort::ring() noexcept {
  if (batched_ == 0) return;
  Connection& connection = *batch_of_;
  counts_.sends += batched_;
  ++counts_.doorbells;
  batched_ = 0;
  batch_of_ = nullptr;
  const int failure =
      adapter_.inline_sends().post(connection.queue_pair.get(), batch_.data(),
                                   [this](ibv_send_wr& request) { copy_to_slot(request); });
  if (failure == 0) return;
  if (failure == EIO || failure == ENODEV) adapter_.device_gone(failure);
  halt(connection, rdma::Fault::kLocal);
}

int VerbsConnectionPort::poll(rdma::ConnectionSink& sink, int budget) noexcept {
  ring();
  int events = 0;
  while (events < budget) {
    const ibv_wc* completion = completions_->next();
    if (completion == nullptr) break;
    finish(*completion, sink);
    ++events;
  }
  // The ends of connections come after everything that they had completed.
  if (events < budget && !halted_.empty()) events += tell_halted(sink, budget - events);
  if (events > 0) {
    receives_->flush_surplus();
    idle_polls_ = 0;
  } else {
    receives_->flush();
    if (++idle_polls_ % kIdlePolls == 0) adapter_.take_events();
  }
  if (receives_->failure() != 0) adapter_.device_gone(receives_->failure());
  if (adapter_.fault().ok()) return events;
  completions_->mute();
  return -1;
}

void VerbsConnectionPort::finish(ibv_wc completion, rdma::ConnectionSink& sink) noexcept {
  const bool arrival = (completion.wr_id & kReceive) != 0;
  ++(arrival ? counts_.arrivals : counts_.send_completions);
  if (arrival) {
    finish_arrival(completion, sink);
  } else {
    finish_send(completion, sink);
  }
}

void VerbsConnectionPort::finish_arrival(const ibv_wc& completion,
                                         rdma::ConnectionSink& sink) noexcept {
  rdma::Packet& packet = (*packets_)[static_cast<std::uint32_t>(completion.wr_id)];
  ESP_ASSERT(packet.in_flight == 1);
  packet.in_flight = 0;
  if (completion.qp_num != heard_.first) {
    const auto found = by_queue_pair_.find(completion.qp_num);
    if (found == by_queue_pair_.end()) return repost(packet);  // Destroyed since.
    heard_ = *found;
  }
  const auto from = static_cast<rdma::ConnectionId>(heard_.second);
  if (completion.status != IBV_WC_SUCCESS) {  // Longer than a packet.
    if (at(from).state == Connection::State::kConnected) {
      halt(at(from), fault_of(completion.status));
    }
    return repost(packet);
  }
  if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    sink.placed(from, be32toh(completion.imm_data), completion.byte_len);
    return repost(packet);
  }
  packet.bytes = completion.byte_len;
  if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) {
    return sink.received_immediate(from, packet, be32toh(completion.imm_data));
  }
  sink.received(from, packet);
}

void VerbsConnectionPort::finish_send(const ibv_wc& completion,
                                      rdma::ConnectionSink& sink) noexcept {
  const Request request = request_of(completion.wr_id);
  Connection& connection = *connections_[request.connection];
  if ((connection.generation & kRequestGenerationMask) != request.generation) return;
  if (!connection.posted.holds(request.position)) return;  // Has been told as failed.
  const bool failed = completion.status != IBV_WC_SUCCESS;
  if (failed && connection.state == Connection::State::kHalted) return;  // tell_halted() does it.
  // Queue pairs work in order: those before it, which asked for nothing, are complete.
  while (connection.posted.head() != request.position) {
    const PostedQueue::Entry entry = connection.posted.pop();
    ESP_ASSERT(!entry.report);
  }
  if (failed) {
    const bool inlined = connection.posted.at(request.position).inlined;
    return halt_failed(connection, inlined, completion.status);
  }
  const PostedQueue::Entry entry = connection.posted.pop();
  if (entry.report) {
    sink.completed(static_cast<rdma::ConnectionId>(request.connection), entry.cookie);
  }
}

// A refusal of inline data is no fault of the operation: the next connection does it without.
void VerbsConnectionPort::halt_failed(Connection& connection, bool inlined,
                                      ibv_wc_status status) noexcept {
  halt(connection, fault_of(status));  // Takes the device's events, those of its link, too.
  if (!inlined || !adapter_.inline_sends().refused(status, adapter_.link_up())) return;
  connection.why = rdma::Fault::kFlushed;
}

void VerbsConnectionPort::queue_broken(std::uint32_t queue_pair) noexcept {
  if (queue_pair == 0) return adapter_.device_gone(EOVERFLOW);  // Completions or shared receives.
  const auto found = by_queue_pair_.find(queue_pair);
  if (found == by_queue_pair_.end()) return;
  Connection& connection = *connections_[found->second];
  if (connection.state == Connection::State::kConnected) {
    halt(connection, rdma::Fault::kRemoteOperation);
  }
}

void VerbsConnectionPort::halt(Connection& connection, rdma::Fault why) noexcept {
  ESP_ASSERT(connection.state == Connection::State::kConnected);
  if (batch_of_ == &connection) {
    batched_ = 0;
    batch_of_ = nullptr;
  }
  connection.state = Connection::State::kHalted;
  connection.why = why;
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_ERR;
  const int failure = ibv_modify_qp(connection.queue_pair.get(), &state, IBV_QP_STATE);
  if (failure != 0) adapter_.device_gone(failure);
  await_receives(connection);
  completions_->fetch_all();
  connection.queue_pair.reset();
  completions_->fetch_all();
  if (const auto spare = spares_.queue_pair_destroyed(connection.receives_back)) {
    repost((*packets_)[*spare]);
    receives_->flush_surplus();
  } else if (!connection.receives_back && receive_depth() > 0) {
    ++lost_;
  }
  halted_.push_back(by_queue_pair_.at(connection.own.queue_pair));
}

// For a short time: not all devices tell, and one that never has, for several queue pairs, is not
// waited for any more. Other queue pairs may be found broken meanwhile, and are halted inside.
void VerbsConnectionPort::await_receives(const Connection& connection) noexcept {
  SteadyClock clock;
  const bool tells = has_told_ || untold_ < kUntoldMax;
  const std::uint64_t end_ns = clock.now_ns() + (tells ? kReceivesBackNs : 0);
  do {
    completions_->fetch_all();
    adapter_.take_events();
  } while (!connection.receives_back && adapter_.fault().ok() && clock.now_ns() < end_ns);
  untold_ += connection.receives_back ? 0 : 1;
}

void VerbsConnectionPort::receives_back(std::uint32_t queue_pair) noexcept {
  has_told_ = true;
  const auto found = by_queue_pair_.find(queue_pair);
  if (found != by_queue_pair_.end()) connections_[found->second]->receives_back = true;
}

// broken(), and failed() for what is left. The sink may post, stop and destroy meanwhile.
int VerbsConnectionPort::tell_halted(rdma::ConnectionSink& sink, int budget) noexcept {
  int told = 0;
  while (!halted_.empty() && told < budget) {
    const std::uint32_t position = halted_.front();
    const auto which = static_cast<rdma::ConnectionId>(position);
    Connection& connection = *connections_[position];
    if (!connection.stopped && !connection.told) {
      connection.told = true;
      ++told;
      sink.broken(which, connection.why);
    } else if (!connection.posted.empty()) {
      const std::uint64_t cookie = connection.posted.pop().cookie;
      const rdma::Fault why = std::exchange(connection.why, rdma::Fault::kFlushed);
      ++told;
      sink.failed(which, cookie, why);
    } else {
      halted_.erase(halted_.begin());
    }
  }
  return told;
}

bool VerbsConnectionPort::arm() noexcept {
  ring();
  receives_->flush();
  return completions_->arm() && halted_.empty();
}

}  // namespace espalier::verbs
