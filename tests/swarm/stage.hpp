// Stage: what the ranks of a scenario run on: wires, clocks, and whose turn is next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/away_memory.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/wire.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

class Stage {
 public:
  virtual ~Stage() = default;

  virtual Wire& wire(Rank rank) = 0;
  virtual Counters& counters(Rank rank) = 0;
  virtual Clock& clock(Rank rank) = 0;
  // Of ranks that share memory, with devices.
  virtual void set_away(Rank, AwayMemory*) {}
  // Called when a rank has its turn, after its wire's completions ran. Returns what happened.
  using Turn = int (*)(void* context, Rank rank);
  virtual void set_turn(Turn turn, void* context) = 0;
  virtual void schedule(Rank rank, std::uint64_t at_ns) = 0;
  // False: nothing will ever happen again.
  virtual bool step() = 0;
  virtual std::uint64_t now_ns() = 0;
  virtual std::uint64_t events() const = 0;
  virtual std::uint64_t unseed() const = 0;
  virtual bool crashed(Rank rank) const = 0;
  // Its adapter has failed; the rank lives.
  virtual bool cut_off(Rank) const { return false; }
  // Sent by connections where there are datagrams, too. Before close().
  virtual std::uint64_t connection_frames() const { return 0; }

  // What is left in the wires of a run in which nothing failed; empty: nothing.
  virtual std::string leftovers() = 0;
  // Takes the wires down; then says what is left of messages.
  virtual std::string close() = 0;
};

std::unique_ptr<Stage> make_stage(const Scenario& scenario);
std::unique_ptr<Stage> make_sim_stage(const Scenario& scenario);
std::unique_ptr<Stage> make_shm_stage(const Scenario& scenario);
std::unique_ptr<Stage> make_rdma_stage(const Scenario& scenario);

}  // namespace espalier::swarm
