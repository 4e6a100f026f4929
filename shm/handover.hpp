// MeetingPoint: where a rank is met by the others of its node, and how the descriptor of the node's
// shared memory gets from the rank that makes it (the leader) to the others.
//
//   guest                                     leader, listens since before the bootstrap exchange
//     connect  ----------------------------->
//     Hello: first half of the secret, rank ->   one of the node's, and not served yet?
//              <--- Answer: second half, and the descriptor (SCM_RIGHTS)
//
// It is an abstract Unix socket with a random name: no path, so different mount namespaces do not
// matter; ranks of different network namespaces cannot meet. Name and secret travel in the card of
// the rank, so who knows them belongs to the job. No process and no descriptor is named by a number
// that another PID namespace gave it. A rank keeps listening for the whole job where somebody may
// want to know its process: the credentials that the kernel gives with a connection have the
// listener's number as the one who connects sees it, and take nothing of the listener's time.
//
// Ownership: owns its socket. Threads: owner; statics: any. path: setup, slow (listener_of)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/status.hpp"
#include "core/visible_pid.hpp"
#include "shm/layout.hpp"

namespace espalier::shm {

// Travels in cards.
struct MeetingAddress {
  Key name{};
  Key secret{};
};

struct Guest {
  Rank rank = kNoRank;
  MeetingAddress address;  // where that rank is met itself
};

// How long one of the two waits for the other.
struct HandoverWait {
  Clock& clock;
  std::uint64_t limit_ns;
};

class MeetingPoint {
 public:
  // Also an error where there are too few descriptors to hand something over later: ranks that are
  // short of them find that out before they rely on each other.
  static Result<MeetingPoint> open(const MeetingAddress& address);

  const MeetingAddress& address() const noexcept { return address_; }
  // Gives `descriptor` to each of these ranks that comes; one whose own meeting point is gone is
  // not waited for. An error names those who are late.
  Outcome hand_out(int descriptor, std::span<const Guest> guests, const HandoverWait& wait);
  // What the rank at this address, `leader`, hands out. `me`: this one.
  static Result<Descriptor> fetch(const MeetingAddress& address, Rank leader, Rank me,
                                  const HandoverWait& wait);
  // The process that listens there. None: it is in a PID namespace that this one does not see, or
  // nobody can tell. Nothing: nobody listens, so the rank is gone.
  static std::optional<VisiblePid> listener_of(const MeetingAddress& address) noexcept;

 private:
  MeetingPoint(Descriptor listener, const MeetingAddress& address) noexcept
      : listener_(std::move(listener)), address_(address) {}

  Descriptor listener_;
  MeetingAddress address_;
};

}  // namespace espalier::shm
