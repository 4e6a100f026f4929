// TeamWatch: the watchdog of all teams of a job. Called when a wait has found nothing for some
// time.
//
// Ends operations that can no longer complete: a member died, called something else, reported the
// team broken, or is later than the configured limit. Warns earlier, by name of the late rank.
// Ownership: borrows teams between add() and remove(). Threads: owner. path: slow
#pragma once

#include <string>
#include <vector>

#include "coll/engine/engine.hpp"
#include "coll/team/team_news.hpp"
#include "core/liveness.hpp"
#include "core/log.hpp"
#include "core/worker.hpp"

namespace espalier {

struct WatchLimits {
  std::uint64_t warn_ns = 10'000'000'000;
  std::uint64_t timeout_ns = 0;  // 0: never
};

// What a rank waits for on a team: "barrier (operation 7 on team 0)", and who has not done his
// part.
struct TeamWait {
  std::string text;
  std::uint64_t waited_ns = 0;
  std::vector<Rank> awaited;
};

class TeamWatch final : public Watchdog, public Agent {
 public:
  // `news`: of a job on several nodes.
  TeamWatch(Engine& engine, Liveness& liveness, const Log& log, const WatchLimits& limits,
            TeamNews* news = nullptr) noexcept
      : engine_(engine), liveness_(liveness), log_(log), limits_(limits), news_(news) {}

  // Whether somebody waits for the end of this operation; else a flow may stay open as long as its
  // user likes.
  using Awaited = bool (*)(const Finish& finish) noexcept;
  void set_awaited(Awaited awaited) noexcept { awaited_ = awaited; }

  void add(Team& team) {
    watched_.push_back({&team});
    if (team.nodes() != nullptr) news_->add(team);
  }
  void remove(Team& team) {
    std::erase_if(watched_, [&](const Watched& watched) { return watched.team == &team; });
    if (team.nodes() != nullptr) news_->remove(team);
  }
  void look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept override;
  // For who waits for a message of this member beside the engine, in a look: one on another node is
  // asked, and what it has said is what is known.
  bool asks_whether_leaving(Team& team, int member) noexcept;
  // What is under way in a wait that began at `since_ns`: of each team the oldest collective, or
  // else all messages.
  std::vector<TeamWait> waits(std::uint64_t since_ns, std::uint64_t now_ns) const;
  // Ends what other nodes have told to be in vain. Attached to the worker where there are several.
  int progress() noexcept override;

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
    // Of a flow whose other end is in finalize: since when nothing has come, and how far it was.
    std::uint64_t gone_ns = 0, gone_mark = 0;
    std::uint64_t changes = 0;  // of the members' lives, at the last look at each
  };
  // A flow that this rank waits for.
  struct Flow {
    int peer = -1;                         // member; -1: there is none
    std::uint64_t mark = 0;                // differs whenever the flow is another or goes on
    const Instance* collective = nullptr;  // whose receive waits; nullptr: it is a message
  };
  template <typename Visit>
  static void for_each_sender(const Instance& instance, Visit&& visit) noexcept;
  template <typename Visit>
  void for_each_awaited_flow(const Team& team, Visit&& visit) const noexcept;
  Flow flow_to_leaving(const Team& team) const noexcept;
  static bool is_collective(const Pending& what) noexcept;
  static Pending pending(const Team& team) noexcept;
  void look_at(Watched& watched, const Pending& what, std::uint64_t now_ns,
               std::uint64_t waited_ns) noexcept;
  bool find_dead(Watched& watched, std::uint64_t waited_ns) noexcept;
  static bool has_freed(const Team& team, int member) noexcept;
  bool goes(const Team& team, int member) const noexcept;
  void fail_by_leaver(Team& team, const Pending& what, int member) noexcept;
  bool find_leaving(Team& team, const Pending& what, std::uint64_t waited_ns) noexcept;
  bool find_told_mismatch(Team& team, std::uint64_t waited_ns) noexcept;
  bool find_told_leaving(Team& team, const Pending& what) noexcept;
  bool has_done_its_part(const Team& team, const Pending& what, int member,
                         std::uint64_t waited_ns) const;
  bool find_gone(Watched& watched, std::uint64_t now_ns) noexcept;
  bool find_mismatch(Team& team) noexcept;
  bool find_report(Team& team, std::uint64_t waited_ns) noexcept;
  bool is_leaving(const Team& team, int member) const noexcept;
  bool is_missing(const Team& team, const Pending& what, int member) const noexcept;
  std::vector<int> debtors(const Team& team, const Pending& what) const;
  void ask(Team& team, const Pending& what) noexcept;
  Blame blamed_by(const Team& team, Rank rank) const noexcept;
  Blame end_of_chain(const Team& team, Rank rank) const noexcept;
  std::vector<Rank> late(const Team& team, const Pending& what) const;
  int first_closed(const Team& team, const Pending& what) const noexcept;
  std::vector<Blame> culprits(const Team& team, const Pending& what) const;
  bool is_silent(const Team& team, int member) const noexcept;
  const char* state_text(const Team& team, Rank rank) const noexcept;
  std::string describe(const Team& team, const Pending& what, std::uint64_t waited_ns, Rank& first);

  Engine& engine_;
  Liveness& liveness_;
  Log log_;
  WatchLimits limits_;
  TeamNews* news_;
  Awaited awaited_ = [](const Finish&) noexcept { return false; };
  std::vector<Watched> watched_;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t machine_ns_ = 0;  // then, as blames are dated
};

}  // namespace espalier
