#include "net/udp/udp_group_port.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/assert.hpp"
#include "net/multicast/group_address.hpp"

namespace espalier::net {
namespace {

constexpr std::uint32_t kFailedPacketBytes = 1472;

void push_packet(rdma::Packet*& list, rdma::Packet& packet) noexcept {
  packet.next = std::exchange(list, &packet);
}

rdma::Packet* pop_packet(rdma::Packet*& list) noexcept {
  rdma::Packet* packet = list;
  if (packet != nullptr) list = std::exchange(packet->next, nullptr);
  return packet;
}

// Of a port that has no socket, so that a group can be made on it all the same.
GroupSocket without_socket(const UdpGroupOptions& options) noexcept {
  GroupSocket none;
  none.packet_bytes = options.packet_bytes > 0 ? options.packet_bytes : kFailedPacketBytes;
  none.depth = options.receive_packets;
  return none;
}

Outcome check_options(const UdpGroupOptions& options) {
  const Outcome right = check_group(options.group);
  if (!right) return right.error();
  const bool ipv4 = options.interface.address.family == TcpAddress::Family::kV4;
  const char* flaw = ipv4 ? nullptr : "it is made by IPv4 alone";
  if (options.port == 0) flaw = "it has no port";
  if (options.packet_bytes > kUdpBytesMax) flaw = "its packets are longer than UDP's";
  if (flaw == nullptr) return Unit{};
  return error(ESP_ERR_ARGUMENT, fmt::format("group {}: {}", group_text(options), flaw));
}

// The packet may leave at another time.
bool means_later(int failure) noexcept {
  return failure == EAGAIN || failure == EWOULDBLOCK || failure == ENOBUFS || failure == ENOMEM;
}

}  // namespace

Result<std::unique_ptr<UdpGroupPort>> UdpGroupPort::create(const UdpGroupOptions& options,
                                                           const Log& log) {
  ESP_ASSERT(options.receive_packets > 0 && options.send_packets > 0 && options.send_depth > 0);
  const Outcome right = check_options(options);
  if (!right) return right.error();
  auto socket = open_group_socket(options, log);
  Status fault;
  if (!socket) {
    log.warn("{}", socket.error().text);
    fault = socket.error().status;
  }
  GroupSocket joined = socket ? std::move(*socket) : without_socket(options);
  return std::unique_ptr<UdpGroupPort>(new UdpGroupPort(options, std::move(joined), fault));
}

UdpGroupPort::UdpGroupPort(const UdpGroupOptions& options, GroupSocket socket, const Status& fault)
    : socket_(std::move(socket.descriptor)),
      fault_(fault),
      packet_bytes_(socket.packet_bytes),
      receive_depth_(socket.depth),
      send_packets_(options.send_packets),
      group_{
          .sin_family = AF_INET, .sin_port = htons(options.port), .sin_addr = {}, .sin_zero = {}},
      packets_(std::size_t{options.send_packets} + options.receive_packets),
      queue_(std::bit_ceil(options.send_depth)) {
  const multicast::Ipv4 address = ipv4_of(options.group);
  std::memcpy(&group_.sin_addr, address.data(), address.size());
  memory_ = std::make_unique_for_overwrite<std::byte[]>(packets_.size() * packet_bytes_);
  for (std::size_t i = packets_.size(); i-- > 0;) {
    packets_[i].data = memory_.get() + i * packet_bytes_;
    packets_[i].capacity = packet_bytes_;
    push_packet(for_arrivals(packets_[i]) ? vacant_ : free_, packets_[i]);
  }
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    leaving_[i].msg_hdr.msg_name = &group_;
    leaving_[i].msg_hdr.msg_namelen = sizeof group_;
    leaving_[i].msg_hdr.msg_iov = &leaving_places_[i];
    leaving_[i].msg_hdr.msg_iovlen = 1;
    coming_[i].msg_hdr.msg_iov = &coming_places_[i];
    coming_[i].msg_hdr.msg_iovlen = 1;
  }
}

bool UdpGroupPort::for_arrivals(const rdma::Packet& packet) const noexcept {
  return &packet >= packets_.data() + send_packets_;
}

rdma::Packet* UdpGroupPort::take() noexcept {
  rdma::Packet* packet = pop_packet(free_);
  if (packet != nullptr) packet->bytes = 0;
  return packet;
}

void UdpGroupPort::give(rdma::Packet& packet) noexcept {
  ESP_ASSERT(!packet.surrendered);
  if (for_arrivals(packet)) {
    push_packet(vacant_, packet);
  } else if (packet.in_flight > 0) {
    packet.surrendered = true;
  } else {
    push_packet(free_, packet);
  }
}

// ---- sending ----

bool UdpGroupPort::send(rdma::Packet& packet, bool more) noexcept {
  ESP_ASSERT(!for_arrivals(packet) && packet.bytes <= packet.capacity);
  if (!fault_.ok()) return false;
  if (tail_ - head_ == queue_.size() && send_queued() == 0) return false;
  ++packet.in_flight;
  queued(tail_++) = &packet;
  if (!more || (tail_ - head_) % kBatch == 0) (void)send_queued();
  return true;
}

// As far as the kernel takes them. Returns how many it has taken or refused for good.
std::uint32_t UdpGroupPort::send_queued() noexcept {
  const std::uint32_t begin = head_;
  while (head_ != tail_) {
    const std::uint32_t count = std::min(tail_ - head_, kBatch);
    for (std::uint32_t i = 0; i < count; ++i) {
      const rdma::Packet& packet = *queued(head_ + i);
      leaving_places_[i] = {.iov_base = packet.data, .iov_len = packet.bytes};
    }
    const int sent = ::sendmmsg(socket_.fd(), leaving_.data(), count, 0);
    ++counts_.doorbells;
    if (sent > 0) {
      counts_.sends += static_cast<std::uint32_t>(sent);
      retire(static_cast<std::uint32_t>(sent));
    } else if (errno != EINTR) {
      if (means_later(errno)) break;
      ++udp_counts_.lost;
      retire(1);
    }
  }
  return head_ - begin;
}

void UdpGroupPort::retire(std::uint32_t sends) noexcept {
  for (; sends > 0; --sends) {
    rdma::Packet& packet = *queued(head_++);
    if (--packet.in_flight > 0 || !packet.surrendered) continue;
    packet.surrendered = false;
    push_packet(free_, packet);
  }
}

// ---- receiving ----

void UdpGroupPort::expose_packets() noexcept {
  for (; exposed_count_ < kBatch && vacant_ != nullptr; ++exposed_count_) {
    rdma::Packet* packet = exposed_[exposed_count_] = pop_packet(vacant_);
    coming_places_[exposed_count_] = {.iov_base = packet->data, .iov_len = packet->capacity};
  }
}

// Returns how many have come, those that nobody is handed among them.
std::uint32_t UdpGroupPort::receive(rdma::DatagramSink& sink, std::uint32_t most) noexcept {
  expose_packets();
  const std::uint32_t room = std::min(most, exposed_count_);
  if (room == 0) return 0;
  ++counts_.looks;
  const int found = ::recvmmsg(socket_.fd(), coming_.data(), room, 0, nullptr);
  // Sockets of datagrams do not break: whatever the kernel says, nothing is here now.
  if (found <= 0) return 0;
  const auto count = static_cast<std::uint32_t>(found);
  for (std::uint32_t i = 0; i < count; ++i) {
    rdma::Packet& packet = *exposed_[i];
    if ((coming_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      ++udp_counts_.too_long;
      push_packet(vacant_, packet);
      continue;
    }
    ++counts_.arrivals;
    packet.bytes = coming_[i].msg_len;
    sink.arrived(packet);
  }
  // The last ones move to the places of those that have come.
  const std::uint32_t left = exposed_count_ - count;
  for (std::uint32_t i = 0; i < std::min(count, left); ++i) {
    exposed_[i] = exposed_[exposed_count_ - 1 - i];
    coming_places_[i] = coming_places_[exposed_count_ - 1 - i];
  }
  exposed_count_ = left;
  return count;
}

int UdpGroupPort::poll(rdma::DatagramSink& sink, int budget) noexcept {
  if (!fault_.ok()) return -1;
  std::uint32_t events = send_queued();
  for (auto rest = static_cast<std::uint32_t>(std::max(budget, 0)); rest > 0;) {
    const std::uint32_t most = std::min(rest, kBatch);
    const std::uint32_t found = receive(sink, most);
    events += found;
    rest -= found;
    if (found < most) break;
  }
  return static_cast<int>(events);
}

bool UdpGroupPort::arm() noexcept {
  if (!fault_.ok()) return false;
  (void)send_queued();
  pollfd look = {.fd = socket_.fd(), .events = POLLIN, .revents = 0};
  return head_ == tail_ && ::poll(&look, 1, 0) == 0;
}

}  // namespace espalier::net
