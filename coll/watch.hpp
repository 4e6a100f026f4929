// TeamWatch: the watchdog of all teams of a job. Called when a wait has found nothing for some
// time.
//
// Ends operations that can no longer complete: a member died, called something else, reported the
// team broken, or is later than the configured limit. Warns earlier, by name of the late rank.
// Ownership: borrows teams between add() and remove(). Threads: owner. path: slow
#pragma once

#include <string>
#include <vector>

#include "coll/engine.hpp"
#include "core/liveness.hpp"
#include "core/log.hpp"
#include "core/worker.hpp"

namespace espalier {

struct WatchLimits {
  std::uint64_t warn_ns = 10'000'000'000;
  std::uint64_t timeout_ns = 0;  // 0: never
};

class TeamWatch final : public Watchdog {
 public:
  TeamWatch(Engine& engine, Liveness& liveness, const Log& log, const WatchLimits& limits) noexcept
      : engine_(engine), liveness_(liveness), log_(log), limits_(limits) {}

  void add(Team& team) { watched_.push_back({&team}); }
  void remove(Team& team) {
    std::erase_if(watched_, [&](const Watched& watched) { return watched.team == &team; });
  }
  void look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept override;

 private:
  // The oldest thing a team waits for.
  struct Pending {
    const void* identity = nullptr;  // nullptr: nothing
    std::uint64_t sequence = 0;
    CallSignature signature;
    const Instance* instance = nullptr;
  };
  // How long it has been the same thing is measured from the first look that found it, or from the
  // begin of the present wait: what nobody waits for is not late.
  struct Watched {
    Team* team;
    const void* identity = nullptr;
    std::uint64_t sequence = 0;
    std::uint64_t since_ns = 0;
    bool warned = false;
  };
  static bool is_collective(const Pending& what) noexcept;
  static Pending pending(const Team& team) noexcept;
  void look_at(Watched& watched, const Pending& what, std::uint64_t waited_ns) noexcept;
  bool find_dead(Team& team) noexcept;
  bool find_leaving(Team& team, const Pending& what) noexcept;
  bool find_mismatch(Team& team) noexcept;
  bool find_report(Team& team, std::uint64_t waited_ns) noexcept;
  std::vector<Rank> late(const Team& team, const Pending& what) const;
  std::vector<Rank> culprits(const Team& team, const Pending& what) const;
  std::string describe(const Team& team, const Pending& what, std::uint64_t waited_ns, Rank& first);

  Engine& engine_;
  Liveness& liveness_;
  Log log_;
  WatchLimits limits_;
  std::vector<Watched> watched_;
};

}  // namespace espalier
