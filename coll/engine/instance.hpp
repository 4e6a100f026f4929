// Instance: a plan bound to buffers and to a sequence number. Counters, bitmaps and the operations
// in flight, in one block of memory whose size is a function of the plan; blocks are re-used, so a
// call of a known shape allocates nothing.
//
// Index state of a vertex: all indices below `base` are complete; bit b of `done` / `posted` speaks
// of index base + b. Only indices in [base, base + window) are ever posted, so index i owns the
// operation slot i % window. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coll/engine/group.hpp"
#include "coll/engine/mover.hpp"
#include "coll/plan/binding.hpp"
#include "coll/plan/plan.hpp"
#include "coll/team/team.hpp"
#include "core/wire.hpp"

namespace espalier {

class Engine;

struct SendSlot : SendOp {
  Instance* instance = nullptr;
  std::uint16_t vertex = 0;
  std::uint32_t index = 0;
  bool pending = false;
};

struct RecvSlot : RecvOp {
  Instance* instance = nullptr;
  std::uint16_t vertex = 0;
  std::uint32_t index = 0;
  bool busy = false;  // from post until completed and, for a view, released
};

// Of a copy or combination that a mover has not done at once.
struct MoveSlot : Completion {
  Instance* instance = nullptr;
  std::uint16_t vertex = 0;
  std::uint32_t index = 0;
  bool pending = false;
};

struct VertexState {
  std::uint32_t base = 0;
  Indices indices;  // of this call
  std::uint64_t done = 0;
  std::uint64_t posted = 0;
  SendSlot* sends = nullptr;   // window entries, or
  RecvSlot* recvs = nullptr;   // or,
  MoveSlot* moves = nullptr;   // of calls with a mover
  TeamGroup* group = nullptr;  // of a kPublish vertex, from its first publication on
  // Of a kRecvView vertex whose segments a mover combines: they come into memory of the mover's, as
  // many as there are slots. nullptr: they are read where the wire has them.
  std::byte* landing = nullptr;
  std::uint16_t slots = 0;
  bool queued = false;
  bool stalled = false;  // a post answered kRetry
};

// The processor's, or a mover's.
class OwnMemory {
 public:
  OwnMemory() = default;
  ~OwnMemory() { reset(); }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  std::byte* begin() const noexcept { return begin_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  // So much at least; what was in it is gone. `mover`: the same at each call. False: there is none.
  bool grow(std::uint64_t bytes, Mover* mover) noexcept;
  void reset() noexcept;

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
  Mover* mover_ = nullptr;
};

// Memory of a device, of a mover's.
class DeviceScratch {
 public:
  DeviceScratch() = default;
  ~DeviceScratch() { reset(); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  std::byte* begin() const noexcept { return begin_; }
  // In place of what it has had. False: there is none.
  bool take(std::uint64_t bytes, Mover& mover, const Reduction& beside) noexcept;
  void reset() noexcept;

 private:
  std::byte* begin_ = nullptr;
  Mover* mover_ = nullptr;
};

// What a call has of its own where its plan is irregular, or packs. All grow to the largest call,
// and are kept; of scratch memory so much.
struct IrregularCall {
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{4} << 20;

  Binding binding;
  // Counts of what is packed, where that differs; all arrays of a persistent call, because the
  // caller has its own back.
  std::vector<std::size_t> arrays;
  std::vector<esp_type> types;
  OwnMemory scratch;
  // Of a plan whose buffers are all on a device, its own: taken anew by each call.
  DeviceScratch on_device;
  const RecvSlot* refused = nullptr;  // the receive that failed first, if one did
  // Of a plan that places blocks on arrival: the layouts, with what stands in `begins`, in
  // elements, and the end of what has come.
  std::vector<Layout> layouts;
  std::vector<std::size_t> begins, counts;
  std::size_t end = 0;
};

// The caller's elements of a block. `apart`: the block has a beginning of its own; else `begin` is
// that of all blocks.
struct UserElements {
  const Pattern* pattern = nullptr;
  std::byte* begin = nullptr;
  bool apart = false;
};

struct Instance {
  Engine* engine = nullptr;
  Team* team = nullptr;
  PlanEntry* entry = nullptr;
  const Plan* plan = nullptr;
  Call call;
  CallSignature entered;                // of a collective, as its team is told
  std::uint64_t* flow_count = nullptr;  // of a message: how many of its flow were started
  std::uint64_t sequence = 0;
  std::uint32_t signature = 0;
  std::uint32_t unfinished = 0;  // vertices with indices left
  std::uint16_t channel = 0;  // base of the flows' channels: 0 collectives, 256 + c point-to-point
  bool ready = false;         // in the engine's ready list
  bool stalled = false;       // in the engine's stalled list
  bool ended = false;
  bool among_heads = false;  // the plan's numbers are those of nodes
  bool persistent = false;   // stays bound after its end
  Status status;
  Finish finish;
  std::uint64_t serial = 0;  // of the start: tells uses of the same memory apart

  std::span<VertexState> states;
  std::uint16_t* queue = nullptr;  // stack of vertices to look at
  std::uint32_t queued = 0;
  const void** operands = nullptr;
  const Layout* layouts = nullptr;       // of this call, by buffer_of()
  std::byte* buffers[kMaxBuffers] = {};  // and where they begin
  std::unique_ptr<IrregularCall> irregular;

  // The team's member that the plan calls by this number.
  inline std::size_t member(std::int32_t peer) const noexcept;
  // Of the call that is set. ESP_ERR_ARGUMENT: its blocks have too many pieces; ESP_ERR_NO_MEMORY.
  Outcome bind_buffers() noexcept;
  void keep_arrays();
  std::uint64_t own_elements() const noexcept;
  UserElements user_elements(Place user, std::uint32_t block) const noexcept;
  void place_scratch(std::byte* at) noexcept;
  bool take_device_scratch() noexcept;
  std::uint64_t landing_bytes() const noexcept;
  void place_landing(std::byte* at) noexcept;
  // Where blocks of the output lie (Plan::places): none has come; this one comes, or has.
  void place_on_arrival();
  void place_nothing() noexcept;
  void place(std::uint32_t block) noexcept;

  Instance* next = nullptr;  // ready or free list
  Instance* stalled_next = nullptr;
  Instance* active_next = nullptr;  // of the team
  Instance* active_prev = nullptr;
};

// A plan with the memory of its instances.
struct PlanEntry : ListNode {
  PlanEntry(const PlanKey& of, Plan made);
  ~PlanEntry();

  PlanKey key;
  Plan plan;
  // Of the readers of a kPublish vertex: opened by their first publication, closed with the plan.
  TeamGroup& group_of(std::uint16_t vertex, const Instance& instance);
  struct OpenGroup {
    std::span<const std::int32_t> peers;  // the vertex's
    std::unique_ptr<TeamGroup> group;
  };
  std::vector<OpenGroup> groups;
  Instance* free = nullptr;
  std::uint32_t in_use = 0;
  std::uint64_t plan_bytes = 0, instance_bytes = 0, instances = 0;

  // What it holds, about.
  std::uint64_t bytes() const noexcept { return plan_bytes + instances * instance_bytes; }
  Instance* take();                                         // nullptr: no memory
  void give_back(Instance* instance, bool keeps) noexcept;  // `keeps`: all of its memory
};

std::size_t Instance::member(std::int32_t peer) const noexcept {
  if (among_heads) [[unlikely]]
    return static_cast<std::size_t>(team->head_of(peer, call.root));
  return static_cast<std::size_t>(peer);
}

}  // namespace espalier
