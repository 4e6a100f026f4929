// TeamNews: what a rank knows of the members of its teams on other nodes, and tells them.
//
// Members on one node see each other's calls, and that a team is broken, on the board. For the
// others this is done by messages: the watchdog of a rank that waits asks those it waits for
// (seldom, and more seldom the longer it lasts); a question is answered from progress(). The first
// member of a node that finds a team broken tells one member of each other node, which writes it on
// the board there; everybody else learns it from a board or with an answer. Whoever fails also
// tells those on other nodes who wait for it: they must hear why before they hear that it has gone.
//
// Ownership: borrows teams between add() and remove(). Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "coll/engine/engine.hpp"
#include "coll/team/news_format.hpp"
#include "coll/team/team.hpp"
#include "core/liveness.hpp"

namespace espalier {

class TeamNews final : public MessageHandler, public FailureListener {
 public:
  // Between two questions to the same member about the same operation: doubled from the least to
  // the most.
  static constexpr std::uint64_t kAskLeastNs = 20'000'000, kAskMostNs = 320'000'000;
  // Of a failure in a team of at most so many nodes each is told by who has found it.
  static constexpr std::int32_t kTellAll = 16;
  // So long does a mismatch wait for its explanation.
  static constexpr std::uint64_t kInquireNs = 500'000'000;

  // `machine_clock`: the same for all ranks of this node, whose boards carry its time.
  TeamNews(Messenger& messenger, Liveness& liveness, Clock& clock, Clock& machine_clock,
           int job_size, Rank me) noexcept
      : messenger_(messenger),
        liveness_(liveness),
        clock_(clock),
        machine_clock_(machine_clock),
        job_size_(job_size),
        me_(me) {}

  void add(Team& team);
  void remove(Team& team);

  // Asks the member of another node, unless that was done lately.
  void ask(Team& team, int member) noexcept;
  void ask_now(Team& team, int member) noexcept;
  // This rank calls nothing more; answers say so.
  void set_leaving() noexcept { leaving_ = true; }

  void heard(Rank from, std::span<const std::byte> message) noexcept override;
  void failed(Team& team, bool first) noexcept override;
  bool inquire(Team& team, Rank rank) noexcept override;
  // Teams of which other nodes have told something that may end operations, for the watchdog.
  std::vector<Team*> take_changed() noexcept { return std::exchange(changed_, {}); }
  // In which blames are dated.
  std::uint64_t machine_ns() noexcept { return machine_clock_.now_ns(); }

 private:
  News about(const Team& team, std::uint8_t flags) const noexcept;
  News about_unknown(std::uint32_t team) const noexcept;
  void note_freed(const Team& team);
  void ask_or_answer(Rank to, const News& news) noexcept;
  void learn(Team& team, const CallRing& ring, const News& news, bool is_sender) noexcept;
  bool inquire_one(Team& team, Rank rank) noexcept;
  void learn_fault(Team& team, const Report& fault) noexcept;
  bool is_there(const Team& team, int member) const noexcept;
  std::vector<int> readers_elsewhere(const Team& team) const noexcept;

  Messenger& messenger_;
  Liveness& liveness_;
  Clock& clock_;
  Clock& machine_clock_;
  const int job_size_;
  const Rank me_;
  bool leaving_ = false;
  std::map<std::uint32_t, Team*> teams_;
  // Failures of teams that this rank has not made yet (or has freed).
  std::map<std::uint32_t, Report> early_;
  struct Freed {
    std::uint32_t team;
    std::uint64_t last;  // operation that this rank called there
    // Of one that had failed: what the others may not have heard yet, so that they do not take the
    // end for the reason.
    std::unique_ptr<News> why;
  };
  std::deque<Freed> freed_;
  std::vector<Team*> changed_;
};

}  // namespace espalier
