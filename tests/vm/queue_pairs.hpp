// What this process asks libibverbs for: verbs_tests stands between net/verbs and the library,
// whose calls go through. A device may also be made to look smaller than it is. Threads: owner.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::test {

// Of a connection (RC queue pair), as it was asked for and as the device tells it afterwards.
struct QueuePairFacts {
  std::uint32_t mtu_bytes = 0;
  int service_level = 0, traffic_class = 0;
  int ack_timeout = 0, retries = 0, not_ready_retries = 0;
};

struct QueuePairWatch {
  // From here on; until then nothing is watched.
  QueuePairWatch();
  ~QueuePairWatch();
  QueuePairWatch(const QueuePairWatch&) = delete;
  QueuePairWatch& operator=(const QueuePairWatch&) = delete;

  // Of the RC queue pairs made since and not destroyed, in their order.
  std::vector<QueuePairFacts> asked() const;
  std::vector<QueuePairFacts> told() const;  // by ibv_query_qp

  bool device_gone = false;               // all devices tell so when they are asked for events
  std::uint32_t inline_max = UINT32_MAX;  // more is refused, as devices do
  std::vector<std::uint32_t> inline_asked;
};

}  // namespace espalier::test
