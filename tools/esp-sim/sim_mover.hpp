// SimMover: the mover of a simulated rank whose buffers lie on its device. Copies take the lanes of
// the device (net/sim/device_lanes.hpp) in virtual time; so do combinations, if the device reduces,
// else the processor computes them.
//
// What stands in memory of the mover's own has been on the device, and stays there: of a
// combination's operands only others, as what the wire shows, are read from the host. Its result
// goes to the host, from where it is sent on.
//
// Ownership: borrows the rank's wire and counters and the world. Threads: owner. path: data
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coll/engine/mover.hpp"
#include "core/counters.hpp"
#include "net/sim/device_lanes.hpp"
#include "net/sim/message.hpp"
#include "net/sim/sim_wire.hpp"

namespace espalier::sim {

class SimMover final : public Mover {
 public:
  enum class Reducer : std::uint8_t { kHost, kDevice };
  struct Context {
    World& world;
    Rank rank;
    Counters& counters;
    SimWire& wire;
    Reducer reducer;
  };

  explicit SimMover(const Context& context) noexcept
      : context_(context), lanes_(context.world, context.rank) {}
  ~SimMover() override;

  Posted move(const Move& move, Completion& op) noexcept override;
  Posted repack(const Repack& repack, Completion& op) noexcept override;
  std::byte* allocate(std::uint64_t bytes) noexcept override;
  void release(std::byte* memory, std::uint64_t bytes) noexcept override;
  std::string why() const override { return {}; }
  void cancel(Completion& op) noexcept override;

  // Tells what has ended; how much that was.
  int progress() noexcept;
  DeviceLanes& lanes() noexcept { return lanes_; }

 private:
  struct Pending final : Happening {
    void happen() noexcept override;
    std::uint64_t mark() const noexcept override { return bytes; }

    SimMover* mover = nullptr;
    Completion* op = nullptr;  // nullptr: taken back
    std::uint64_t bytes = 0;
    Repack repack;  // with data, unless it was a combination
  };

  void combine(const Move& move) noexcept;
  void pend(Completion& op, std::uint64_t bytes, std::uint64_t end_ns,
            const Repack& repack) noexcept;
  bool is_own(const void* at) const noexcept;

  const Context context_;
  DeviceLanes lanes_;
  std::map<const std::byte*, std::uint64_t> own_;  // memory: bytes
  std::vector<std::byte> scratch_;                 // of users' operators
  Recycler<Pending> pending_;
  std::vector<Pending*> under_way_, ended_;
};

}  // namespace espalier::sim
