// The few things that TcpLink asks the kernel for when it makes connections.
// path: setup
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.hpp"
#include "core/status.hpp"
#include "net/tcp/address.hpp"

namespace espalier::net {

// "connect: Connection refused", with the errno in the status.
Error socket_error(const char* call, int failure);

// A listening socket on this address, port 0: any free one; `address` gets the port.
Result<Descriptor> listen_on(TcpAddress& address);
// A socket that is connecting: writable, or broken, when it is decided.
Result<Descriptor> start_connect(const TcpAddress& to);
// The errno of a connection attempt that poll found ready; 0: connected.
int connect_result(int fd) noexcept;

// For a connection: no delay, and keepalive probes such that the machine of a silent peer is given
// up after about `silence_ns` (whole seconds, at least 2).
void set_up_connection(int fd, std::uint64_t silence_ns) noexcept;

// What the kernel knows about the other end.
struct Acknowledgements {
  bool missing = false;         // sent again, or probed, without an answer so far
  std::uint64_t latest_ns = 0;  // age of the latest acknowledgement of anything
};
Acknowledgements acknowledgements(int fd) noexcept;
// Bytes written that the peer's machine has not acknowledged.
int unacknowledged_bytes(int fd) noexcept;

}  // namespace espalier::net
