#include "net/tcp/interfaces.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/config_value.hpp"
#include "core/open_files.hpp"

namespace espalier::net {
namespace {

bool link_local(const TcpAddress& address) noexcept {
  const auto first = std::to_integer<unsigned>(address.bytes[0]);
  const auto second = std::to_integer<unsigned>(address.bytes[1]);
  if (address.family == TcpAddress::Family::kV4) return first == 169 && second == 254;
  return first == 0xfe && (second & 0xc0) == 0x80;
}

unsigned prefix_of(const sockaddr* mask) noexcept {
  TcpAddress bits;
  unsigned count = 0;
  if (!from_socket_address(mask, bits)) return 0;
  for (const std::byte b : bits.bytes) {
    count += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(b)));
  }
  return count;
}

// One element of a wish.
struct Pattern {
  std::string name;
  bool numeric = false;
  TcpAddress network;
  unsigned bits = 0;

  bool matches(const Interface& interface) const {
    return numeric ? same_network(interface.address, network, bits) : interface.name == name;
  }
};

// False: a network whose length is not a number or too large.
bool parse_pattern(std::string_view word, Pattern& pattern) {
  pattern.name = word;
  const std::size_t slash = word.find('/');
  pattern.numeric = parse_host(std::string(word.substr(0, slash)), pattern.network);
  const unsigned most = pattern.network.family == TcpAddress::Family::kV4 ? 32 : 128;
  pattern.bits = most;
  if (slash == std::string_view::npos) return true;
  const std::string_view length = word.substr(slash + 1);
  const auto [end, failure] =
      std::from_chars(length.data(), length.data() + length.size(), pattern.bits);
  return pattern.numeric && failure == std::errc() && end == length.data() + length.size() &&
         pattern.bits <= most;
}

}  // namespace

bool same_network(const TcpAddress& a, const TcpAddress& b, unsigned bits) noexcept {
  if (a.family != b.family) return false;
  for (unsigned at = 0; at < bits; at += 8) {
    const unsigned left = std::min(8U, bits - at);
    const auto differ = std::to_integer<unsigned>(a.bytes[at / 8] ^ b.bytes[at / 8]);
    if (differ >> (8 - left) != 0) return false;
  }
  return true;
}

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    const int failure = errno;
    return error(ESP_ERR_SYSTEM,
                 fmt::format("getifaddrs: {}{}", std::strerror(failure), open_files_hint(failure)),
                 kNoRank, failure);
  }
  std::vector<Interface> all;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    Interface found;
    if ((i->ifa_flags & IFF_UP) == 0 || !from_socket_address(i->ifa_addr, found.address)) continue;
    if (link_local(found.address)) continue;
    found.name = i->ifa_name;
    found.address.port = 0;
    found.prefix_bits = prefix_of(i->ifa_netmask);
    found.loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    all.push_back(std::move(found));
  }
  ::freeifaddrs(first);
  std::stable_sort(all.begin(), all.end(), [](const Interface& a, const Interface& b) {
    return a.address.family < b.address.family;
  });
  return all;
}

std::string list_text(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& i : all) {
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", i.name, host_text(i.address),
                        i.prefix_bits);
  }
  return text.empty() ? "none" : text;
}

Result<std::vector<Interface>> choose_interfaces(const std::vector<Interface>& all,
                                                 std::string_view wish,
                                                 std::vector<std::string>* unmatched) {
  std::vector<Interface> chosen;
  const auto choose = [&](const auto& matches) {
    for (const Interface& i : all) {
      const auto same = [&](const Interface& c) { return c.address == i.address; };
      if (chosen.size() < TcpContact::kAddressesMax && matches(i) &&
          std::none_of(chosen.begin(), chosen.end(), same)) {
        chosen.push_back(i);
      }
    }
  };
  if (wish.empty()) {
    choose([](const Interface& i) { return !i.loopback; });
    if (chosen.empty()) choose([](const Interface&) { return true; });
  }
  for (std::string_view rest = wish; !rest.empty();) {
    const std::string_view word = next_field(rest, ',');
    if (word.empty()) continue;
    Pattern pattern;
    if (!parse_pattern(word, pattern)) {
      return error(
          ESP_ERR_CONFIG,
          fmt::format("network interface \"{}\": not a name, an address or a network", word));
    }
    const auto matches = [&](const Interface& i) { return pattern.matches(i); };
    choose(matches);
    if (unmatched != nullptr && std::none_of(all.begin(), all.end(), matches)) {
      unmatched->emplace_back(word);
    }
  }
  if (chosen.empty()) {
    return error(ESP_ERR_CONFIG, fmt::format("no network interface matches \"{}\"; there are: {}",
                                             wish, list_text(all)));
  }
  return chosen;
}

}  // namespace espalier::net
