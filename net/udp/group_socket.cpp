#include "net/udp/group_socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "net/multicast/group_address.hpp"
#include "net/tcp/socket.hpp"

namespace espalier::net {
namespace {

constexpr std::uint32_t kIpAndUdp = 28;      // bytes of headers
constexpr std::uint32_t kUdpBytesMin = 256;  // less is not worth a packet's header
// What Linux adds to a datagram, rounded up: around its bytes before they are rounded to a power of
// two, and beside them.
constexpr std::uint32_t kAround = 512, kBeside = 1024;
constexpr std::uint32_t kLoopbackBytes = 8192 - kAround;
// Drivers have a page at least for each frame, or share one.
constexpr std::uint32_t kFramePage = 4096;

TcpAddress address_of(const UdpGroupOptions& options) noexcept {
  TcpAddress address;
  address.port = options.port;
  const multicast::Ipv4 group = ipv4_of(options.group);
  std::memcpy(address.bytes.data(), group.data(), group.size());
  return address;
}

// What an errno of joining usually means.
const char* meaning_of(int failure) noexcept {
  switch (failure) {
    case ENODEV:
    case EADDRNOTAVAIL:
      return ": no interface has this address";
    case EADDRINUSE:
      return ": a program keeps this port for itself";
    case ENOBUFS:
      return ": net.ipv4.igmp_max_memberships is too small";
    case ENOMEM:
      return ": net.core.optmem_max is too small";
    case EPERM:
    case EACCES:
      return ": this process is not allowed to";
    default:
      return "";
  }
}

Error group_refused(const UdpGroupOptions& options, const char* call, int failure) {
  Error refused = socket_error(call, failure);
  refused.text += fmt::format(" (group {}{})", group_text(options), meaning_of(failure));
  return refused;
}

ip_mreqn membership_of(const UdpGroupOptions& options) noexcept {
  ip_mreqn membership = {};
  const multicast::Ipv4 group = ipv4_of(options.group);
  std::memcpy(&membership.imr_multiaddr, group.data(), group.size());
  std::memcpy(&membership.imr_address, options.interface.address.bytes.data(),
              sizeof membership.imr_address);
  return membership;
}

template <typename Value>
bool set_of_ip(const Descriptor& socket, int option, const Value& value) noexcept {
  return ::setsockopt(socket.fd(), IPPROTO_IP, option, &value, sizeof value) == 0;
}

// That sends to groups by this interface.
Result<Descriptor> socket_on_interface(const UdpGroupOptions& options) {
  Descriptor made(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.is_open()) return group_refused(options, "socket", errno);
  if (!set_of_ip(made, IP_MULTICAST_IF, membership_of(options))) {
    return group_refused(options, "IP_MULTICAST_IF", errno);
  }
  return made;
}

Result<std::uint32_t> ask_for_mtu(const UdpGroupOptions& options) {
  auto probe = socket_on_interface(options);
  if (!probe) return probe.error();
  const SocketAddress group = socket_address(address_of(options));
  if (::connect(probe->fd(), group.get(), group.bytes) != 0) {
    return group_refused(options, "connect", errno);
  }
  int mtu = 0;
  socklen_t bytes = sizeof mtu;
  if (::getsockopt(probe->fd(), IPPROTO_IP, IP_MTU, &mtu, &bytes) != 0) {
    return group_refused(options, "IP_MTU", errno);
  }
  return static_cast<std::uint32_t>(mtu);
}

Outcome join_and_bind(const Descriptor& socket, const UdpGroupOptions& options) {
  const int yes = 1, no = 0;
  // What other sockets of this machine have joined, or by another interface, is not for this one.
  if (!set_of_ip(socket, IP_MULTICAST_ALL, no)) {
    return group_refused(options, "IP_MULTICAST_ALL", errno);
  }
  if (::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    return group_refused(options, "SO_REUSEADDR", errno);
  }
  const SocketAddress group = socket_address(address_of(options));
  if (::bind(socket.fd(), group.get(), group.bytes) != 0) {
    return group_refused(options, "bind", errno);
  }
  if (!set_of_ip(socket, IP_ADD_MEMBERSHIP, membership_of(options))) {
    return group_refused(options, "IP_ADD_MEMBERSHIP", errno);
  }
  // Members may be on one machine.
  if (!set_of_ip(socket, IP_MULTICAST_LOOP, yes)) {
    return group_refused(options, "IP_MULTICAST_LOOP", errno);
  }
  const int hops = options.interface.loopback ? 0 : 1;
  if (!set_of_ip(socket, IP_MULTICAST_TTL, hops)) {
    return group_refused(options, "IP_MULTICAST_TTL", errno);
  }
  return Unit{};
}

std::uint64_t cost_of_datagram(std::uint32_t packet_bytes, bool loopback) noexcept {
  const std::uint64_t block = std::bit_ceil(packet_bytes + kAround);
  return kBeside + std::max<std::uint64_t>(block, loopback ? 0 : kFramePage);
}

// 0: the kernel does not tell.
std::uint64_t receive_buffer_of(const Descriptor& socket) noexcept {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  const int failed = ::getsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return failed == 0 ? static_cast<std::uint64_t>(std::max(bytes, 0)) : 0;
}

// What it holds then. The kernel doubles what it is given.
std::uint32_t grow_receive_buffer(const Descriptor& socket, const UdpGroupOptions& options,
                                  std::uint32_t packet_bytes, const Log& log) {
  const bool loopback = options.interface.loopback;
  const std::uint64_t charged =
      (options.receive_packets + std::uint64_t{1}) * cost_of_datagram(packet_bytes, loopback);
  const std::uint64_t wanted = charged / 3 * 4;
  if (receive_buffer_of(socket) < wanted) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max() / 2;
    const int half = static_cast<int>(std::min(wanted / 2, kMost));
    (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &half, sizeof half);
  }
  const std::uint64_t buffer = receive_buffer_of(socket);
  const std::uint32_t depth = datagrams_held(buffer, packet_bytes, loopback);
  if (depth >= options.receive_packets) return options.receive_packets;
  log.info(
      "group {}: packets for arrivals: {} instead of {}; net.core.rmem_max would have to be {}",
      group_text(options), depth, options.receive_packets, wanted / 2);
  return depth;
}

}  // namespace

std::uint32_t udp_packet_bytes(std::uint32_t mtu_bytes, bool loopback) noexcept {
  const std::uint32_t fits = mtu_bytes > kIpAndUdp ? mtu_bytes - kIpAndUdp : 0;
  return std::min(fits, loopback ? kLoopbackBytes : kUdpBytesMax);
}

std::uint32_t datagrams_held(std::uint64_t buffer_bytes, std::uint32_t packet_bytes,
                             bool loopback) noexcept {
  const std::uint64_t held = buffer_bytes / 4 * 3 / cost_of_datagram(packet_bytes, loopback);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(held, 1, std::numeric_limits<std::uint32_t>::max()));
}

std::string group_text(const UdpGroupOptions& options) {
  return fmt::format("{} on {}", text(address_of(options)), host_text(options.interface.address));
}

Result<GroupSocket> prepare_group_socket(const UdpGroupOptions& options, const Log& log) {
  GroupSocket made;
  made.packet_bytes = options.packet_bytes;
  if (made.packet_bytes == 0) {
    std::uint32_t mtu = options.mtu_bytes;
    if (mtu == 0) {
      const auto asked = ask_for_mtu(options);
      if (!asked) return asked.error();
      mtu = asked.value();
    }
    made.packet_bytes = udp_packet_bytes(mtu, options.interface.loopback);
    if (made.packet_bytes < kUdpBytesMin) {
      return error(ESP_ERR_NETWORK, fmt::format("group {}: its interface's MTU of {} is too small",
                                                group_text(options), mtu));
    }
  }
  auto socket = socket_on_interface(options);
  if (!socket) return socket.error();
  made.depth = grow_receive_buffer(*socket, options, made.packet_bytes, log);
  made.descriptor = std::move(*socket);
  return made;
}

Result<GroupSocket> open_group_socket(const UdpGroupOptions& options, const Log& log) {
  auto made = prepare_group_socket(options, log);
  if (!made) return made.error();
  const Outcome joined = join_and_bind(made->descriptor, options);
  if (!joined) return joined.error();
  return made;
}

}  // namespace espalier::net
