// Short path: blocking operations of a few cache lines between the ranks of one node.
//
// No plan, no instance, no completion: a contribution is one slot of the team's board, a result is
// what one reads there. An 8-byte broadcast is one line written by the root and read by the others.
// Reductions combine the members' slots in rank order, so every rank gets the same bits.
// Threads: owner. path: short
#pragma once

#include "coll/engine.hpp"
#include "coll/team.hpp"
#include "core/worker.hpp"

namespace espalier {

class ShortPath {
 public:
  ShortPath(Worker& worker, Engine& engine, Doorbell& doorbell) noexcept
      : worker_(worker), engine_(engine), doorbell_(doorbell) {}

  // Does this call take the short path? All members answer alike. The barrier counts as 0 bytes.
  static bool takes(const Team& team, std::uint64_t bytes) noexcept {
    return team.short_path && bytes <= team.board.short_bytes();
  }

  // The caller has advanced team.sequence and entered it on the board. Return when the local part
  // is complete; on failure the team is failed (team.fault).
  Status barrier(Team& team, const CallSignature& signature) noexcept;
  Status bcast(Team& team, const CallSignature& signature, void* buffer,
               std::uint64_t bytes) noexcept;
  Status reduce(Team& team, const CallSignature& signature, const Call& call) noexcept;
  Status allreduce(Team& team, const CallSignature& signature, const Call& call) noexcept;

 private:
  bool put(Team& team, const CallSignature& signature, const void* data,
           std::uint64_t bytes) noexcept;
  const Board::Slot* get(Team& team, const CallSignature& signature, int member) noexcept;
  bool combine(Team& team, const CallSignature& signature, const Call& call) noexcept;
  bool own_slot(Team& team, const CallSignature& signature, Call& call) noexcept;
  bool make_room(Team& team, const CallSignature& signature) noexcept;
  void mismatch(Team& team, const CallSignature& mine, int member) noexcept;
  void wake(Team& team) noexcept;

  Worker& worker_;
  Engine& engine_;
  Doorbell& doorbell_;
};

}  // namespace espalier
