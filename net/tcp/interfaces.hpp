// Interfaces: the addresses of this machine, and which of them a rank listens on.
// Values. path: setup
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "net/tcp/address.hpp"

namespace espalier::net {

struct Interface {
  std::string name;
  TcpAddress address;  // port 0
  unsigned prefix_bits = 0;
  bool loopback = false;
};

// Those that are up, IPv4 before IPv6, without link-local addresses (which mean nothing elsewhere).
Result<std::vector<Interface>> list_interfaces();

// `wish`: interface names, addresses and networks (10.1.0.0/16, fd00::/8), separated by commas, the
// first that matches anything first. Empty: all but loopback, or loopback when there is nothing
// else. At most TcpContact::kAddressesMax. An error lists what there is. `unmatched` receives the
// elements that match nothing.
Result<std::vector<Interface>> choose_interfaces(const std::vector<Interface>& all,
                                                 std::string_view wish,
                                                 std::vector<std::string>* unmatched = nullptr);
// "lo 127.0.0.1/8, ...", or "none".
std::string list_text(const std::vector<Interface>& all);

// Whether the first `bits` bits are equal (and the family).
bool same_network(const TcpAddress& a, const TcpAddress& b, unsigned bits) noexcept;

}  // namespace espalier::net
