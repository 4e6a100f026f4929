#include "net/sim/sim_group_port.hpp"

#include <utility>

namespace espalier::sim {

using multicast::Joined;

SimGroupPort::SimGroupPort(GroupNet& net, Rank rank, const multicast::GroupAddress& address,
                           const GroupPortOptions& options)
    : net_(net),
      world_(net.world_),
      rank_(rank),
      options_(options),
      join_over_ns_(options.join_ns == kNever ? kNever : world_.local_ns(rank) + options.join_ns),
      packets_(options.packet_bytes, options.send_packets, options.receive_packets) {
  left_.reserve(options.send_depth);
  net_.attach(*this, address);
  if (join_over_ns_ != kNever) world_.schedule_turn(rank, join_over_ns_);
}

SimGroupPort::~SimGroupPort() {
  net_.detach(*this);
}

Joined SimGroupPort::joined() noexcept {
  if (world_.local_ns(rank_) < join_over_ns_) return Joined::kNotYet;
  if (options_.join_fails && fault_.ok()) fault_ = Status(ESP_ERR_NETWORK, rank_);
  return fault_.ok() ? Joined::kYes : Joined::kFailed;
}

// As the switches see it.
bool SimGroupPort::is_member() const noexcept {
  return !options_.join_fails && world_.now_ns() >= join_over_ns_;
}

rdma::Packet* SimGroupPort::take() noexcept {
  if (world_.lacks_memory(rank_)) return nullptr;
  rdma::Packet* packet = packets_.take();
  starved_ |= packet == nullptr;
  return packet;
}

bool SimGroupPort::send(rdma::Packet& packet, bool) noexcept {
  ESP_ASSERT(!packet.surrendered && packet.bytes > 0 && packet.bytes <= packet.capacity);
  if (joined() != Joined::kYes || world_.refuses(rank_)) return false;
  if (sends_ == options_.send_depth) {
    starved_ = true;
    return false;
  }
  ++sends_;
  ++packet.in_flight;
  net_.launch(*this, packet);
  return true;
}

void SimGroupPort::note_left(rdma::Packet& packet) {
  left_.push_back(&packet);
  if (std::exchange(starved_, false)) world_.wake(rank_);
}

bool SimGroupPort::note_arrival(Rank from, std::span<const std::byte> bytes) {
  if (!packets_.fill(from, bytes)) return false;
  world_.wake(rank_);
  return true;
}

int SimGroupPort::poll(rdma::DatagramSink& sink, int budget) noexcept {
  if (joined() == Joined::kFailed) return -1;
  int events = static_cast<int>(left_.size());
  ESP_ASSERT(sends_ >= left_.size());
  sends_ -= static_cast<std::uint32_t>(left_.size());
  for (rdma::Packet* packet : left_) packets_.collect(*packet);
  left_.clear();
  for (; budget > 0 && packets_.has_arrivals(); --budget, ++events) {
    rdma::Packet& packet = *packets_.next_arrival();
    const Rank from = PortPackets::sender_of(packet);
    (void)world_.charge(rank_, world_.price(from, rank_).overhead_recv_ns);
    sink.arrived(packet);
  }
  return events;
}

bool SimGroupPort::arm() noexcept {
  return left_.empty() && !packets_.has_arrivals() && joined() != Joined::kFailed;
}

}  // namespace espalier::sim
