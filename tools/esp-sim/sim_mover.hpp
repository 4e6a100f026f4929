// SimMover: the mover of a simulated rank whose buffers lie on its device. Copies take the lanes of
// the device (net/sim/device_lanes.hpp) in virtual time; so do the combinations of calls with a
// Reduction, of which the operands and the result that are the caller's lie on the device, others
// in memory of the host. All else the processor combines.
//
// It also knows places on devices of others (AwayMemory), which cost nothing to open: copies and
// kernels read them over the lanes between devices. The address of such a place is that of a note
// about it, so that whoever reads it without a device fails.
//
// Ownership: borrows the rank's wire and counters, the world and its devices. Threads: owner.
// path: data
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coll/engine/mover.hpp"
#include "core/away_memory.hpp"
#include "core/counters.hpp"
#include "net/sim/device_lanes.hpp"
#include "net/sim/message.hpp"
#include "net/sim/sim_wire.hpp"

namespace espalier::sim {

class SimMover final : public Mover, public AwayMemory {
 public:
  struct Context {
    World& world;
    Rank rank;
    Counters& counters;
    SimWire& wire;
    Devices& devices;
  };

  explicit SimMover(const Context& context) noexcept
      : context_(context), lanes_(context.devices.of(context.rank)) {}
  ~SimMover() override;

  // What the caller has on the device: calls from now on.
  using Memory = std::span<const std::byte>;
  void set_buffers(Memory input, Memory output) noexcept { input_ = input, output_ = output; }

  Posted move(const Move& move, Completion& op) noexcept override;
  Posted repack(const Repack& repack, Completion& op) noexcept override;
  std::byte* allocate(std::uint64_t bytes) noexcept override;
  void release(std::byte* memory, std::uint64_t bytes) noexcept override;
  std::string why() const override { return {}; }
  void cancel(Completion& op) noexcept override;

  AwayName name_of(const void* at) noexcept override;
  const void* open(Rank owner, const AwayName& name) noexcept override;
  void close(Rank owner, const void* opened) noexcept override;
  Posted fetch(std::byte* dst, const void* src, std::uint64_t bytes,
               Completion& op) noexcept override;

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
  // On a device of another.
  struct Opened {
    Rank owner;
    std::byte* at;
  };

  void combine(const Move& move) noexcept;
  void combine_there(const Move& move) noexcept;
  std::uint64_t launch(const Move& move) noexcept;
  std::uint64_t copy(const Repack& repack, const Opened* from) noexcept;
  void pend(Completion& op, std::uint64_t bytes, std::uint64_t end_ns,
            const Repack& repack) noexcept;
  bool is_callers(const void* at) const noexcept;
  const Opened* find_opened(const void* at) const noexcept;

  const Context context_;
  DeviceLanes& lanes_;
  const Pattern bytes_ = Pattern::plain(ESP_BYTE);
  Memory input_, output_;
  std::map<const void*, std::unique_ptr<Opened>> opened_;  // by the address of the note
  std::map<const std::byte*, std::uint64_t> own_;          // memory: bytes
  std::vector<std::byte> scratch_;                         // of users' operators
  std::vector<const void*> operands_;
  std::vector<DeviceLanes::FromPeer> from_peers_;
  Recycler<Pending> pending_;
  std::vector<Pending*> under_way_, ended_;
};

}  // namespace espalier::sim
