// Leaving: the ranks of a job on several nodes leave it together.
//
// Nobody goes while another may still need it, in two steps: all are *leaving* (nobody starts
// anything more), then all have *compared* their last calls. Ranks of one node tell their leader by
// a flag in shared memory; the leaders meet by dissemination (in round k leader i tells leader
// i + 2^k and waits for leader i - 2^k), one message per round. The second step carries the first
// mismatch that was found.
//
// A leader that is dead, late or leaves alone ends the meeting for all: it is abandoned, and who
// learns of it tells its partners. Survivors of a death do not wait. A partner that was told too
// early, before it could hear, asks the one it waits for from time to time: who has abandoned says
// so again, and who has gone is found to be.
//
// Ownership: borrows all. Threads: owner. path: slow
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bootstrap/job_nodes.hpp"
#include "core/clock.hpp"
#include "core/liveness.hpp"
#include "core/messenger.hpp"
#include "core/worker.hpp"
#include "shm/segment.hpp"

namespace espalier {

// What a leader tells another; travels as it is.
struct LeavingMessage {
  MessageKind kind = MessageKind::kLeaving;
  std::uint8_t step = 0;
  std::uint8_t round = 0;
  std::uint8_t abandoned = 0;
  std::uint32_t team = 0;  // of a mismatch, if
  Rank blamed = kNoRank;   // is a rank
};
static_assert(sizeof(LeavingMessage) == 12);

// Nothing for what no sender of this version writes.
std::optional<LeavingMessage> parse_leaving(std::span<const std::byte> bytes,
                                            int job_size) noexcept;

// What the members of a team called differently; blamed: kNoRank: nothing.
struct FoundMismatch {
  std::uint32_t team = 0;
  Rank blamed = kNoRank;
};

class Leaving final : public MessageHandler, public Agent {
 public:
  enum class Step : std::uint8_t { kLeaving = 0, kCompared = 1 };
  static constexpr std::size_t kSteps = 2, kRounds = 31;

  Leaving(const JobNodes& nodes, shm::Segment& segment, Liveness& liveness, Messenger& messenger,
          Clock& clock) noexcept;

  // This rank has done the step. `found`: by this rank.
  void reach(Step step, const FoundMismatch& found = {}) noexcept;
  // Have all ranks of the job, or is there nothing to wait for any more?
  bool complete(Step step) const noexcept;
  // Not together with the others.
  void abandon() noexcept;
  // Also when only the leader of this node knows.
  bool abandoned() const noexcept;
  // What anybody has found, when kCompared is complete.
  FoundMismatch mismatch() const noexcept;

  void heard(Rank from, std::span<const std::byte> bytes) noexcept override;
  int progress() noexcept override;

 private:
  shm::RankBlock::Flags& flags(std::uint32_t local) const noexcept {
    return segment_.rank_block(local).flags;
  }
  bool is_leader() const noexcept { return nodes_.local_index == 0; }
  Rank partner(int direction, std::size_t round) const noexcept;
  std::size_t rounds() const noexcept;
  bool node_has_reached(Step step) noexcept;
  bool meet() noexcept;
  LeavingMessage present() const noexcept;
  void tell(Rank to, const LeavingMessage& message) noexcept;
  void tell_abandoned(Rank to) noexcept;
  void look_for_the_dead() noexcept;
  void ask_again(std::uint64_t now_ns) noexcept;
  void release(std::uint32_t value) noexcept;

  const JobNodes& nodes_;
  shm::Segment& segment_;
  Liveness& liveness_;
  Messenger& messenger_;
  Clock& clock_;
  const std::size_t own_node_;
  std::uint32_t reached_ = 0;  // steps of this rank
  bool abandoned_ = false;
  std::size_t step_ = 0;  // of the leaders' meeting
  std::size_t round_ = 0;
  bool told_ = false;  // the partner of this round
  std::array<std::array<bool, kRounds>, kSteps> arrived_ = {};
  FoundMismatch mismatch_;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t asked_ns_ = 0, ask_after_ns_ = 0;
};

}  // namespace espalier
