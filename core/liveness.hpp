// Liveness: what is known about the other processes of the job, whatever the source.
// Threads: owner. path: slow
#pragma once

#include <cstdint>

#include "core/status.hpp"

namespace espalier {

class Liveness {
 public:
  virtual ~Liveness() = default;
  // Differs from what it was whenever anything below but is_stopped() may answer otherwise than
  // then, of any rank. 0: that is not known, and who looks asks about each.
  virtual std::uint64_t changes() noexcept { return 0; }
  // Has the process ended (or left the job) without this rank having said goodbye?
  virtual bool is_dead(Rank rank) noexcept = 0;
  // How it was lost, of a rank that is dead: as a status that names it.
  virtual Status loss(Rank rank) noexcept { return Status(ESP_ERR_PEER_DIED, rank); }
  // Is it stopped (SIGSTOP, a debugger)? False where that cannot be told.
  virtual bool is_stopped(Rank rank) noexcept = 0;
  // Is it done, and only waits for the others to leave the job together?
  virtual bool is_leaving(Rank rank) noexcept = 0;
  // Has it left the job in an orderly way?
  virtual bool has_left(Rank rank) noexcept = 0;
};

}  // namespace espalier
