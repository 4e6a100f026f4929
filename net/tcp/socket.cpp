#include "net/tcp/socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.hpp"
#include "core/open_files.hpp"

namespace espalier::net {
namespace {

constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

int family_of(const TcpAddress& address) noexcept {
  return address.family == TcpAddress::Family::kV4 ? AF_INET : AF_INET6;
}

void set(int fd, int level, int option, int value) noexcept {
  // None of these can fail for a reason that its caller could act on.
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

Error socket_error(const char* call, int failure) {
  const bool limit =
      failure == EMFILE || failure == ENFILE || failure == ENOBUFS || failure == ENOMEM;
  return error(limit ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
               fmt::format("{}: {}{}", call, std::strerror(failure), open_files_hint(failure)),
               kNoRank, failure);
}

Result<Descriptor> listen_on(TcpAddress& address) {
  Descriptor made(::socket(family_of(address), kFlags, 0));
  if (!made.is_open()) return socket_error("socket", errno);
  if (address.family == TcpAddress::Family::kV6) set(made.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const SocketAddress at = socket_address(address);
  if (::bind(made.fd(), at.get(), at.bytes) != 0) {
    Error failure = socket_error("bind", errno);
    failure.text += fmt::format(" ({})", text(address));
    return failure;
  }
  if (::listen(made.fd(), SOMAXCONN) != 0) return socket_error("listen", errno);
  SocketAddress bound;
  bound.bytes = sizeof bound.storage;
  if (::getsockname(made.fd(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.bytes) != 0) {
    return socket_error("getsockname", errno);
  }
  (void)from_socket_address(bound.get(), address);
  return made;
}

Result<Descriptor> start_connect(const TcpAddress& to) {
  Descriptor made(::socket(family_of(to), kFlags, 0));
  if (!made.is_open()) return socket_error("socket", errno);
  const SocketAddress at = socket_address(to);
  int result = 0;
  do {
    result = ::connect(made.fd(), at.get(), at.bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EINPROGRESS) return socket_error("connect", errno);
  return made;
}

int connect_result(int fd) noexcept {
  int failure = 0;
  socklen_t bytes = sizeof failure;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &bytes) == 0 ? failure : errno;
}

// Not TCP_USER_TIMEOUT: it also ends connections to a rank that computes and does not read, whose
// window is closed although its machine answers every probe. See Silence in net/tcp/tcp_link.hpp.
void set_up_connection(int fd, std::uint64_t silence_ns) noexcept {
  const auto seconds = std::max(
      2, static_cast<int>(std::min<std::uint64_t>(silence_ns / kNanosecondsPerSecond, 3600)));
  const int idle = std::max(1, seconds / 2), interval = std::max(1, seconds / 8);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, std::max(1, (seconds - idle) / interval));
}

Acknowledgements acknowledgements(int fd) noexcept {
  tcp_info info = {};
  socklen_t bytes = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  Acknowledgements found;
  found.missing = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
  found.latest_ns = std::uint64_t{info.tcpi_last_ack_recv} * 1'000'000;
  return found;
}

int unacknowledged_bytes(int fd) noexcept {
  int bytes = 0;
  return ::ioctl(fd, TIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace espalier::net
