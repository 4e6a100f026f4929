// Keeps strangers from stopping the PMIx server by connecting to its port and saying nothing.
//
// libpmix 4.2.2 reads the greeting of a new connection with a blocking recv on the one thread that
// serves all clients (ptl_base_connection_hdlr.c): a local process that connects and waits would
// hold up the job for ever. Two options of the listening socket bound that: the kernel reports a
// connection only when it has brought data, and accepted sockets inherit a limit for each recv.
#pragma once

namespace esp_run {

// For every listening TCP socket of this process with a descriptor from `first_fd` on. Best effort.
void guard_listening_ports(int first_fd);

}  // namespace esp_run
