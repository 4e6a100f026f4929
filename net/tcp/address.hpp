// TcpAddress, and TcpContact: what a rank tells the others so that they can reach it.
//
// Values. A contact travels in the card of its rank; parse_contact() trusts nothing. path: setup
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "net/tcp/siphash.hpp"

namespace espalier::net {

struct TcpAddress {
  enum class Family : std::uint8_t { kV4 = 4, kV6 = 6 };

  Family family = Family::kV4;
  std::uint16_t port = 0;
  std::array<std::byte, 16> bytes = {};  // IPv4: the first four, the others are 0

  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

// "10.0.0.2:4711", "[fd00::2]:4711".
std::string text(const TcpAddress& address);
// Without the port.
std::string host_text(const TcpAddress& address);
// A numeric address without a port; false: it is none.
bool parse_host(const std::string& text, TcpAddress& address);

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};
SocketAddress socket_address(const TcpAddress& address) noexcept;
// False: neither IPv4 nor IPv6.
bool from_socket_address(const sockaddr* from, TcpAddress& address) noexcept;

struct TcpContact {
  static constexpr std::size_t kAddressesMax = 8;
  static constexpr std::size_t kBytesMax = 20 + 20 * kAddressesMax;

  SipKey secret = {};                 // proves to this rank, and by it, that both belong to the job
  std::vector<TcpAddress> addresses;  // where it listens, the one to try first first

  friend bool operator==(const TcpContact&, const TcpContact&) = default;
};

std::vector<std::byte> contact_bytes(const TcpContact& contact);
// An error that names what is wrong; `rank` is for its text.
Result<TcpContact> parse_contact(std::span<const std::byte> bytes, Rank rank);

}  // namespace espalier::net
