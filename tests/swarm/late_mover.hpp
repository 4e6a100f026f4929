// LateMover: carries out a rank's copies and combinations late, in any order, and refuses some; one
// rank's breaks. Ownership: borrows the stage's time by functions. Threads: one.
#pragma once

#include <functional>
#include <vector>

#include "coll/engine/mover.hpp"
#include "core/prng.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

class LateMover final : public Mover {
 public:
  // Asks for a turn of its rank, at that time or later.
  using Schedule = std::function<void(std::uint64_t at_ns)>;
  using Now = std::function<std::uint64_t()>;
  LateMover(const LateMoves& moves, std::uint64_t seed, Rank rank, Now now, Schedule schedule);

  Posted move(const Move& move, Completion& op) noexcept override;
  Posted repack(const Repack& repack, Completion& op) noexcept override;
  std::byte* allocate(std::uint64_t bytes) noexcept override;
  void release(std::byte* memory, std::uint64_t bytes) noexcept override;
  std::string why() const override { return "the mover broke"; }
  void cancel(Completion& op) noexcept override;
  // Completes what is due. Returns how many.
  int progress() noexcept;
  std::size_t open() const noexcept { return open_.size(); }
  // Will something be written there, or read from there?
  bool uses(const std::byte* memory, std::uint64_t bytes) const noexcept;

 private:
  using Operands = std::vector<const void*>;
  struct Late {
    Move move;
    Operands operands;
    Repack repack;  // with a pattern: this, instead
    Completion* op = nullptr;
    std::uint64_t due_ns = 0;
  };
  Posted post(Late late);
  static void carry_out(const Late& late);
  Status verdict() noexcept;

  const LateMoves moves_;
  const Rank rank_;
  Prng prng_;
  Now now_;
  Schedule schedule_;
  std::vector<Late> open_;
  std::uint64_t completed_ = 0;
};

}  // namespace espalier::swarm
