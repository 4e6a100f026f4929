// ShortOperations: collectives of a few cache lines that nobody waits for on the quick way: started
// ones, and those of teams on several nodes.
//
// Each goes through a few stages; a rank's route depends on its part.
//
// clang-format off
//              one node                       several nodes
//   bcast      root: show; rest: collect      root: show, cross; heads: cross, show; rest: collect
//   reduce     root: put, gather; rest: put   heads: gather, cross; rest: put
//   allreduce  put, gather                    heads: gather, cross, show; rest: put, collect
//   barrier    as allreduce, of no bytes
//   others     put, gather; who has no line to put, or to look at, without that (ShortBlocks)
// clang-format on
//
// put: the own contribution into the own slot of the board. gather: everybody's slots of this node,
// which are combined or copied. cross: a plan of the engine among the heads, one of each node.
// show: the result into the head's slot, whence the others collect it. So inside its nodes an
// operation across nodes is what one on a single node is.
//
// Operations complete in any order; a member that goes on while it still reads says so (Board), so
// that no slot is written under it. A blocking one begins when those before it have ended: members
// that see its line know that everything before has been read.
//
// Ownership: owns operations; borrows path and engine. Threads: owner. path: short
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/engine/short_packing.hpp"
#include "coll/engine/short_path.hpp"
#include "core/pool.hpp"

namespace espalier {

// One of them.
struct ShortOperation {
  enum class Stage : std::uint8_t { kPut, kGather, kCross, kShow, kCollect, kDone };
  using Route = std::array<Stage, 4>;
  // Of a head on several nodes: what is combined there.
  struct alignas(64) Scratch {
    Scratch() noexcept {}  // uninitialized
    std::array<std::byte, Board::kNodesShortBytes> bytes;
  };

  explicit ShortOperation(Team& of, const Call& what) noexcept;
  Stage stage() const noexcept { return route[at]; }

  Team* team;
  Call call;
  Entered entered;
  Finish finish;
  Route route = {Stage::kDone, Stage::kDone, Stage::kDone, Stage::kDone};
  std::uint8_t at = 0;
  bool puts = false;                       // the own contribution stands in the own slot
  bool crossing = false, crossed = false;  // the heads' plan was started; has ended
  bool closed = false;                     // the input: by the call's gate, or not packed yet
  int cursor = 0;                          // gather: rows before it have been seen
  int head = 0;                            // row of the head
  Scratch* scratch = nullptr;
  std::unique_ptr<ShortPacking> packing;  // where elements lie apart
  ShortOperation* next = nullptr;
};

class ShortOperations final : public Agent {
 public:
  ShortOperations(ShortPath& path, Engine& engine, Counters& counters) noexcept
      : path_(path), engine_(engine), counters_(counters) {}

  // What is to take the short path, of a team that has its membership and its board.
  static void set_limits(Team& team, const Tuning& tuning);
  // Is this checked call one of them? All members answer alike.
  static bool takes(const Team& team, const Call& call) noexcept;
  // As Engine::start. `signature`: what the others have to call.
  Result<Engine::Started> start(Team& team, const Call& call, const CallSignature& signature,
                                const Finish& finish);
  Result<Engine::Started> start(Team& team, const Call& call, const Finish& finish) {
    return start(team, call, call.signature(), finish);
  }
  int progress() noexcept override;
  // A blocking operation on the quick way has ended, and callbacks have entered others meanwhile.
  void conclude(Team& team) noexcept { note_oldest(team); }
  // Whom the operation waits for; -1: its plan among the heads tells.
  static int awaited(const ShortOperation& op) noexcept;
  // The one of that number, if it is under way.
  static const ShortOperation* find(const Team& team, std::uint64_t sequence) noexcept;

 private:
  bool advance(ShortOperation& op) noexcept;
  bool waits_for_mover(ShortOperation& op) noexcept;
  bool step(ShortOperation& op) noexcept;
  bool gather(ShortOperation& op) noexcept;
  bool collect(ShortOperation& op) noexcept;
  bool cross(ShortOperation& op) noexcept;
  static void on_crossed(void* operation, Status status) noexcept;
  void append(ShortOperation& op);
  void complete(ShortOperation& op) noexcept;
  int run(Team& team) noexcept;
  void note_oldest(Team& team) noexcept;

  ShortPath& path_;
  Engine& engine_;
  Counters& counters_;
  Pool<ShortOperation> operations_;
  Pool<ShortOperation::Scratch> scratches_;
  std::vector<Team*> waiting_;  // teams with operations under way
};

}  // namespace espalier
