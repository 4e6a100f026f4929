// Short path: operations of a few cache lines between the ranks of one node.
//
// No plan, no instance, no completion: a contribution is one slot of the team's board, a result is
// what one reads there. An 8-byte broadcast is one line written by the root and read by the others.
// Reductions combine the members' slots in rank order, so every rank gets the same bits.
//
// Here are the blocking ones where all members are on one node, written for few instructions, and
// what the others (short_operations.hpp) put and look at.
//
// All functions: the caller has entered the operation (Team::enter). False: the team has failed
// (Team::fault); otherwise the local part is complete. Threads: owner. path: short
#pragma once

#include "coll/engine/engine.hpp"
#include "coll/team/team.hpp"
#include "core/worker.hpp"

namespace espalier {

class ShortBlocks;

class ShortPath {
 public:
  // What a reduction does to bytes; made by the caller, who has checked it.
  struct Reduction {
    const void* input;
    void* output;
    std::uint64_t count;
    std::uint64_t bytes;
    CombineKernel kernel;  // user-defined operators take the engine
  };

  ShortPath(Worker& worker, Engine& engine, Doorbell& doorbell) noexcept
      : worker_(worker), engine_(engine), doorbell_(doorbell) {}

  // Does a blocking call of this size take the quick way? A barrier has 0 bytes.
  static bool takes(const Team& team, Collective collective, std::uint64_t bytes) noexcept {
    return team.quick && bytes < team.short_end[static_cast<std::size_t>(collective)];
  }

  // After Team::enter, where the operation itself wakes nobody: a member that waits for a slot to
  // be free, waits for the others to enter.
  void announce(Team& team) noexcept {
    if (doorbell_.someone_sleeps()) [[unlikely]] {
      wake(team);
    }
  }

  bool barrier(Team& team) noexcept;
  bool bcast(Team& team, int root, void* buffer, std::uint64_t bytes) noexcept;
  bool reduce(Team& team, int root, const Reduction& what) noexcept;
  bool allreduce(Team& team, const Reduction& what) noexcept;

  // Of those whose result is made of blocks or operands: gathers, scatters, scans and their like.
  // `call`: checked and entered, its elements in one piece.
  bool exchange(Team& team, const Call& call) noexcept;

  // Who has completed it has seen lines of all members.
  static bool hears_all(Collective collective) noexcept;

  // A started broadcast that has not been entered: whole, if its line is there, or has room.
  // False: nothing has happened.
  bool try_bcast(Team& team, int root, void* buffer, std::uint64_t bytes,
                 const CallSignature& signature) noexcept;

  // Without waiting. False: there is no room yet, or the team has failed.
  bool try_put(Team& team, Entered call, const void* data, std::uint64_t bytes) noexcept;
  // What the member in that row has put; nullptr: nothing yet, or the team has failed.
  const std::byte* look(Team& team, Entered call, int row, std::uint64_t bytes) noexcept;
  // All lines that it needs are there. `own`: this member's, which it has not put; nullptr: it has.
  static void take(Team& team, Entered call, ShortBlocks& blocks, const void* own) noexcept;
  // Does a blocking operation on this team wait?
  bool waits(const Team& team) const noexcept { return waits_ == &team; }

 private:
  bool put(Team& team, Entered call, const void* data, std::uint64_t bytes) noexcept;
  const std::byte* get(Team& team, Entered call, int member, std::uint64_t bytes) noexcept;
  bool combine(Team& team, Entered call, const void* own, const Reduction& what) noexcept;

  [[gnu::noinline]] bool combine_many(Team& team, Entered call, const Reduction& what) noexcept;
  static bool find_room(Team& team, std::uint64_t sequence, std::uint64_t depth) noexcept;
  void begin_wait(Team& team, std::uint64_t own, std::uint64_t needed) noexcept;
  void end_wait(Team& team) noexcept;
  // What happens when the data is not there yet, or is somebody else's.
  [[gnu::noinline]] bool make_room(Team& team, Entered call, std::uint64_t depth) noexcept;
  [[gnu::noinline]] bool await(Team& team, Entered call, const Board::Slot& slot) noexcept;
  [[gnu::cold, gnu::noinline]] void mismatch(Team& team, Entered call, int row) noexcept;
  [[gnu::noinline]] void wake(Team& team) noexcept;

  Worker& worker_;
  Engine& engine_;
  Doorbell& doorbell_;
  const Team* waits_ = nullptr;
};

}  // namespace espalier
