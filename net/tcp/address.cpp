#include "net/tcp/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace espalier::net {
namespace {

// A contact: magic, version, number of addresses, secret, addresses (family, 0, port, 16 bytes).
constexpr std::uint16_t kContactMagic = 0x5443;  // "CT"
constexpr std::byte kContactVersion{1};
constexpr std::size_t kHeadBytes = 20, kEntryBytes = 20;
static_assert(TcpContact::kBytesMax == kHeadBytes + kEntryBytes * TcpContact::kAddressesMax);

Error wrong(Rank rank, const std::string& what) {
  return error(ESP_ERR_NETWORK, fmt::format("bad TCP contact of rank {}: {}", rank, what), rank);
}

}  // namespace

SocketAddress socket_address(const TcpAddress& address) noexcept {
  SocketAddress made;
  if (address.family == TcpAddress::Family::kV4) {
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&made.storage, &in, sizeof in);
    made.bytes = sizeof in;
  } else {
    sockaddr_in6 in = {};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    std::memcpy(&in.sin6_addr, address.bytes.data(), sizeof in.sin6_addr);
    std::memcpy(&made.storage, &in, sizeof in);
    made.bytes = sizeof in;
  }
  return made;
}

bool from_socket_address(const sockaddr* from, TcpAddress& address) noexcept {
  address = {};
  if (from == nullptr) return false;
  if (from->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, from, sizeof in);
    address.port = ntohs(in.sin_port);
    std::memcpy(address.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
    return true;
  }
  if (from->sa_family != AF_INET6) return false;
  sockaddr_in6 in;
  std::memcpy(&in, from, sizeof in);
  address.family = TcpAddress::Family::kV6;
  address.port = ntohs(in.sin6_port);
  std::memcpy(address.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  return true;
}

std::string host_text(const TcpAddress& address) {
  char buffer[INET6_ADDRSTRLEN] = {};
  const int family = address.family == TcpAddress::Family::kV4 ? AF_INET : AF_INET6;
  return ::inet_ntop(family, address.bytes.data(), buffer, sizeof buffer) != nullptr ? buffer : "?";
}

std::string text(const TcpAddress& address) {
  const bool v4 = address.family == TcpAddress::Family::kV4;
  return fmt::format("{}{}{}:{}", v4 ? "" : "[", host_text(address), v4 ? "" : "]", address.port);
}

bool parse_host(const std::string& text, TcpAddress& address) {
  address = {};
  if (::inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return true;
  address.family = TcpAddress::Family::kV6;
  return ::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1;
}

std::vector<std::byte> contact_bytes(const TcpContact& contact) {
  const std::size_t count = std::min(contact.addresses.size(), TcpContact::kAddressesMax);
  std::vector<std::byte> bytes(kHeadBytes + count * kEntryBytes);
  std::memcpy(bytes.data(), &kContactMagic, sizeof kContactMagic);
  bytes[2] = kContactVersion;
  bytes[3] = static_cast<std::byte>(count);
  std::copy(contact.secret.begin(), contact.secret.end(), bytes.begin() + 4);
  for (std::size_t i = 0; i < count; ++i) {
    const TcpAddress& address = contact.addresses[i];
    std::byte* entry = bytes.data() + kHeadBytes + i * kEntryBytes;
    entry[0] = static_cast<std::byte>(address.family);
    std::memcpy(entry + 2, &address.port, sizeof address.port);
    std::memcpy(entry + 4, address.bytes.data(), address.bytes.size());
  }
  return bytes;
}

Result<TcpContact> parse_contact(std::span<const std::byte> bytes, Rank rank) {
  if (bytes.size() < kHeadBytes) return wrong(rank, fmt::format("{} bytes", bytes.size()));
  std::uint16_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic != kContactMagic) return wrong(rank, fmt::format("mark {:#x}", magic));
  if (bytes[2] != kContactVersion) {
    return wrong(rank, fmt::format("version {}", std::to_integer<int>(bytes[2])));
  }
  const auto count = std::to_integer<std::size_t>(bytes[3]);
  if (count == 0 || count > TcpContact::kAddressesMax) {
    return wrong(rank, fmt::format("{} addresses", count));
  }
  if (bytes.size() != kHeadBytes + count * kEntryBytes) {
    return wrong(rank, fmt::format("{} bytes for {} addresses", bytes.size(), count));
  }
  TcpContact contact;
  std::copy_n(bytes.begin() + 4, contact.secret.size(), contact.secret.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* entry = bytes.data() + kHeadBytes + i * kEntryBytes;
    TcpAddress address;
    address.family = static_cast<TcpAddress::Family>(entry[0]);
    std::memcpy(&address.port, entry + 2, sizeof address.port);
    std::memcpy(address.bytes.data(), entry + 4, address.bytes.size());
    const bool v4 = address.family == TcpAddress::Family::kV4;
    const auto set = [](std::byte b) { return b != std::byte{0}; };
    if (!v4 && address.family != TcpAddress::Family::kV6) return wrong(rank, "family");
    if (entry[1] != std::byte{0}) return wrong(rank, "an unused byte is set");
    if (address.port == 0) return wrong(rank, "port 0");
    if (v4 && std::any_of(address.bytes.begin() + 4, address.bytes.end(), set)) {
      return wrong(rank, "an IPv4 address of more than 4 bytes");
    }
    if (std::none_of(address.bytes.begin(), address.bytes.end(), set)) {
      return wrong(rank, "the address that means all addresses");
    }
    contact.addresses.push_back(address);
  }
  return contact;
}

}  // namespace espalier::net
