// What this process asks libibverbs for: verbs_tests stands between net/verbs and the library,
// whose calls go through. A device may also be made to look smaller than it is. Threads: owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/verbs/choice.hpp"

namespace espalier::test {

// Of a connection (RC queue pair), as it was asked for and as the device tells it afterwards.
struct QueuePairFacts {
  std::uint32_t mtu_bytes = 0;
  int service_level = 0, traffic_class = 0;
  int ack_timeout = 0, retries = 0, not_ready_retries = 0;
};

// What becomes of requests whose payload goes inline, on all queue pairs of a kind together.
struct InlineFate {
  enum class Refusal : std::uint8_t { kNone, kAtPost, kAtCompletion };
  Refusal refusal = Refusal::kNone;
  std::uint64_t taken_max = 0;  // before the first that is refused
  std::uint64_t taken = 0, refused = 0;
  // Where those are read from that followed the first refusal, with what was inline no more.
  std::vector<std::uint64_t> read_from = {};
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
  int inline_errno = 22;                  // EINVAL; 0: some give no reason
  std::vector<std::uint32_t> inline_asked;
  // Of queue pairs that are made from here on.
  InlineFate connections_inline, datagrams_inline;
  std::uint32_t shared_receives_max = UINT32_MAX;

  // What ports of devices that are opened from here on tell of themselves; nothing: the truth.
  std::optional<verbs::LinkLayer> link;
  std::optional<verbs::Transport> transport;
  std::uint16_t lid = 0;
  std::optional<bool> wants_grh;
  std::vector<std::uint16_t> partitions;  // the table of P_Keys
  // The indices in it that queue pairs of all kinds were asked to use; the device gets 0.
  std::vector<int> partitions_used;

  // Whether the kernel leaves it to libibverbs to keep children from memory of adapters; and what
  // was called in which order: 'f' that it does, 'o' opening a device.
  std::optional<bool> forks_matter;
  std::string calls;

  // Paths (address handles): refused with this errno after so long; and how often one was asked
  // for.
  int path_errno = 0;
  unsigned path_ms = 0;
  int paths_asked = 0;
  int channel_errno = 0;  // of the connection manager: refused with this one
};

}  // namespace espalier::test
