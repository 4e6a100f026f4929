// The verbs transport as the rest of the library sees it: RDMA devices, and ports on them.
//
// This header needs no libibverbs and is always there. In a build without it (ESPALIER_VERBS=OFF,
// or not found) built() is false, no device is listed and none can be opened. Only sources of this
// folder include <infiniband/*> and <rdma/*>.
//
// Ownership: ports belong to the caller and must be gone before their adapter. Threads: the owner
// of the worker. path: setup
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/status.hpp"
#include "net/multicast/group_port.hpp"
#include "net/multicast/placing_port.hpp"
#include "net/rdma/connection_port.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/verbs/choice.hpp"
#include "net/verbs/options.hpp"

namespace espalier::verbs {

bool built() noexcept;

// All ports of all devices, unusable ones with the reason. Empty is no error.
std::vector<PortInfo> list_ports(const Options& options);
// Why list_ports() is empty; for people.
std::string why_no_device();

// Why this build has no multicast (it has no librdmacm); empty: it has.
std::string why_no_groups();

// Also of ports of a group.
struct DatagramOptions {
  std::uint32_t send_packets = 256;     // that take() hands out
  std::uint32_t receive_packets = 512;  // for arrivals
  std::uint32_t send_depth = 256;       // sends that the adapter has not completed
};

// Of one end of a lane; rounded up to powers of two, as far as the device has them.
struct PlacingOptions {
  std::uint32_t places = 2048;     // receives
  std::uint32_t send_depth = 256;  // sends that the adapter has not completed
};

struct ConnectionOptions {
  std::uint32_t receive_packets = 512;  // of all connections together
  // So many more for each connection, which receive_depth() does not count: for the least windows,
  // which are granted even when nothing is left.
  std::uint32_t packets_each = 0;
  std::uint32_t packet_bytes = 8192;
  std::uint32_t send_depth = 64;  // per connection
  std::uint32_t inline_bytes = 128;
  std::uint32_t connections = 128;  // at most; fewer where the device has smaller queues
};

// An open device with one of its ports.
class Adapter {
 public:
  virtual ~Adapter() = default;

  virtual const PortInfo& info() const noexcept = 0;
  // Whether the link works, as far as the device has told. A link that is down may come back:
  // nothing but time-outs tells the layers above.
  virtual bool link_up() const noexcept = 0;

  virtual Result<std::unique_ptr<rdma::DatagramPort>> open_datagrams(
      const DatagramOptions& options) = 0;
  virtual Result<std::unique_ptr<rdma::ConnectionPort>> open_connections(
      const ConnectionOptions& options) = 0;
  // It is joining: an error is what is known at once. What is known later is in the log and, as a
  // status, the port's fault().
  virtual Result<std::unique_ptr<multicast::GroupPort>> open_group(
      const multicast::GroupAddress& group, const DatagramOptions& options) = 0;
  // The same.
  virtual Result<std::unique_ptr<multicast::PlacingPort>> open_lane(
      const multicast::GroupAddress& group, const PlacingOptions& options) = 0;
};

// `log` is told of what the device refuses after it worked.
Result<std::unique_ptr<Adapter>> open_adapter(const PortInfo& port, const Options& options,
                                              const Log& log = Log());

}  // namespace espalier::verbs
