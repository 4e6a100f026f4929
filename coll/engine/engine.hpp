// Engine: executes plans. On completion: mark the segment, post what became possible.
//
// Never recursive, never blocking; no allocation once a shape of call has been seen. A post that
// finds a resource missing parks its vertex; it is tried again after the wires made progress.
// Completions of the wires only mark and queue; run() does the rest, from progress() or from
// start().
//
// Ownership: borrows worker state and teams; teams own their plans and instances.
// Threads: owner. path: data
#pragma once

#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/engine/instance.hpp"
#include "coll/engine/mover.hpp"
#include "coll/team/team.hpp"
#include "core/counters.hpp"
#include "core/log.hpp"
#include "core/trace.hpp"
#include "core/worker.hpp"

namespace espalier {

// What the trace says about an instance.
TraceKind trace_kind(Collective collective) noexcept;
TraceSubject subject(const Instance& instance) noexcept;
struct ShortOperation;
TraceSubject subject(const ShortOperation& op) noexcept;
// The span of a segment, from post to completion or withdrawal.
[[gnu::cold]] void trace_post(Trace& trace, const Instance& instance, std::uint16_t vertex,
                              std::uint32_t index, Posted posted, std::uint64_t begin_ns) noexcept;
[[gnu::cold]] void trace_end(Trace& trace, const Instance& instance, std::uint16_t vertex,
                             std::uint32_t index, TracePhase phase) noexcept;

// The first operation, as far back as the board goes, that a member has called differently from
// this rank. An operation that was complete here (a root's broadcast) may have been a mismatch
// elsewhere.
bool find_difference(const Team& team, std::uint64_t& sequence, int& member, CallSignature& mine,
                     CallSignature& theirs) noexcept;
// "rank 3 called <its call> where this rank called <that>". `other`: whom to blame when the board
// does not tell any more.
// `other`: its history differs from this rank's; kNoRank: others have found a difference.
std::string explain_mismatch(const Team& team, const CallSignature& mine, Rank other);
// Of an irregular collective that both sides have called alike: what has come is not as long as the
// receive that failed expects. "": nothing of the kind is known.
std::string explain_lengths(const Instance& instance);
// "another member gave up first: <why> (rank 3)", of what it has reported.
std::string explain_report(Status reported);
// What another member's report says about this rank's operations. Of a mismatch: not who called
// something else than this rank, because whoever reports it may itself be the one.
Status as_told(Status reported) noexcept;
// Of point-to-point: what `other` sent is not of the size that this rank expects.
std::string explain_other_size(Rank other, unsigned channel, std::uint64_t expected_bytes);
// Members with which the instance has yet to exchange segments. path: slow
std::vector<int> partners(const Instance& instance);
// Those of them for whom it may wait: of the readers of a publication only the one that is late,
// if the wire knows. path: slow
std::vector<int> awaited(const Instance& instance);

// For teams on several nodes.
class FailureListener {
 public:
  // The team has failed here; what was under way on it still is. `first`: nobody else on this node
  // has reported it before.
  virtual void failed(Team& team, bool first) noexcept = 0;
  // That rank called something else than this one; kNoRank: one of those that the report on the
  // board is about has. True: they have been asked what, wait a moment.
  virtual bool inquire(Team& team, Rank rank) noexcept = 0;

 protected:
  ~FailureListener() = default;
};

class Engine final : public Agent {
 public:
  Engine(Counters& counters, Trace& trace, const Tuning& tuning) noexcept
      : counters_(counters), trace_(trace), tuning_(tuning) {}

  const Tuning& tuning() const noexcept { return tuning_; }
  // What a call of a team asks of choice, before anything is chosen.
  static PlanRequest request_of(const Team& team, const Call& call);

  // Whether an operation was already complete when the starting call returned: then `status` is
  // its result and `finish` does not fire. Otherwise it fires once, from progress().
  struct Started {
    bool done = false;
    Status status;
  };

  // Enters and starts a collective. An error means that nothing was started or entered.
  Result<Started> start(Team& team, const Call& call, const Finish& finish);

  // The part between nodes of a short operation that has been entered: a plan among the heads, one
  // of each node, which have their node's number in it.
  Result<Started> start_among_heads(Team& team, const Call& call, Entered entered,
                                    const Finish& finish);

  // One direction of a point-to-point flow.
  enum class Direction : std::uint8_t { kSend, kReceive };
  struct Flow {
    Direction direction = Direction::kSend;
    void* buffer = nullptr;  // only read when sending
    std::uint64_t bytes = 0;
    int peer = 0;  // team rank
    unsigned channel = 0;
    bool persistent = false;
    Mover* mover = nullptr;  // as Call::mover
    Gate gate = {};          // of what is sent bit by bit
    Consumer consumer = {};
    const Pattern* pattern = nullptr;  // with a mover: how the bytes lie; nullptr: in one piece
  };
  Result<Started> start_flow(Team& team, const Flow& flow, const Finish& finish);

  // The same in steps: what is bound is started, again and again if it is persistent
  // (Purpose::kPersistent; else it is gone with its end). A start looks nothing up and asks for no
  // memory. Between the end of one round and the start of the next a persistent instance may be
  // given back.
  Result<Instance*> bind(Team& team, const Call& call, bool among_heads = false);
  Result<Instance*> bind_flow(Team& team, const Flow& flow);
  Started start(Instance& instance, const Finish& finish) noexcept;
  void give_back(Instance& instance) noexcept;

  int progress() noexcept override;
  // More is known about what failed but has not ended: see FailureListener::inquire.
  void look_again(Team& team) noexcept;

  // Ends everything under way on the team with this status, for good.
  void fail(Team& team, Status status, std::string text) noexcept;
  // The same when the job is finalized: the others are told only if a collective was under way, or
  // a message to one of them.
  void cancel(Team& team) noexcept;

  void set_listener(FailureListener* listener) noexcept { listener_ = listener; }
  // Of calls that have none; nullptr: the calling processor does all at once. Before the first
  // operation. Who drives its progress is its owner.
  void set_mover(Mover* mover) noexcept { mover_ = mover; }
  // More of the input of some operation on the team is there than before.
  void look_at_gates(Team& team) noexcept;
  // Where a team's first member says, at level debug, which algorithm a call takes: once per plan.
  void set_log(const Log* log) noexcept { log_ = log; }

  Trace& trace() noexcept { return trace_; }
  // The segments of a point-to-point message, however it is sent or received.
  Partition partition(const Team& team, int peer, std::uint64_t bytes) const noexcept {
    const bool between_nodes = bytes > tuning_.flow_segment_bytes_min && team.is_remote(peer);
    return flow_partition(bytes, team.segment_limit, tuning_, between_nodes);
  }

 private:
  Result<Plan> make(const Team& team, const Call& call, const PlanRequest& base,
                    const Tuning& tuning) const;
  static void join_group(Team& team, const Plan& plan);
  Result<PlanEntry*> plan_for(Team& team, const Call& call, bool among_heads = false);
  Sharing sharing_of(const Team& team, const Flow& flow) const noexcept;
  Result<PlanEntry*> plan_for_flow(Team& team, const Flow& flow);
  static Error no_memory();
  Started launch(Instance& instance, const Finish& finish) noexcept;
  void queue_vertex(Instance& instance, std::uint16_t vertex) noexcept;
  static void queue_last(Instance& instance, std::uint16_t vertex) noexcept;
  void make_ready(Instance& instance) noexcept;
  int run(Instance& instance) noexcept;
  int look_at(Instance& instance, std::uint16_t number) noexcept;
  std::uint64_t startable(const Instance& instance, const Vertex& vertex,
                          const VertexState& state) const noexcept;
  Posted post(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  Posted post_send(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  Posted post_recv(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  Store store_of(const Instance& instance, const Vertex& vertex) const noexcept;
  Posted combine(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  Posted repack(Instance& instance, std::uint16_t number, std::uint32_t index,
                std::uint64_t bytes) noexcept;
  void mark(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  bool settle(Instance& instance) noexcept;
  [[gnu::cold]] bool inquires(const Instance& instance) noexcept;
  void end(Instance& instance) noexcept;
  void withdraw(Instance& instance) noexcept;
  void withdraw_receives(Instance& instance) noexcept;
  void withdraw(Instance& instance, RecvSlot& slot) noexcept;
  void withdraw(Instance& instance, std::uint16_t number, SendSlot& slot) noexcept;
  void withdraw_all(Team& team) noexcept;
  int tell_failed() noexcept;
  // `at`: where it was found, if in a receive.
  void note_failure(Instance& instance, Status status, const RecvSlot* at = nullptr) noexcept;
  void drop_from_lists(Instance& instance) noexcept;
  std::string explain(const Instance& instance) const;
  static void on_send(Completion& op, Status status) noexcept;
  static void on_recv(Completion& op, Status status) noexcept;
  static void note_landed(RecvSlot& slot) noexcept;
  static std::byte* locate(const Instance& instance, Place place, const Vertex& vertex,
                           Indices indices, std::uint32_t index, const Steps& block) noexcept;
  static std::byte* written(const Instance& instance, const Vertex& vertex, Indices indices,
                            std::uint32_t index) noexcept;
  static std::byte* read(const Instance& instance, Place place, const Vertex& vertex,
                         Indices indices, std::uint32_t index) noexcept;
  static bool is_skipped(const Instance& instance, const Vertex& vertex, Indices indices,
                         std::uint32_t index) noexcept;
  static std::size_t peer_of(const Instance& instance, std::uint16_t number,
                             std::uint32_t index) noexcept;
  void release(Instance& instance, std::uint16_t view, std::uint32_t index) noexcept;
  static bool expect_portions(const Instance& instance) noexcept;
  static Portion portion(const Instance& instance, const Vertex& vertex, Indices indices,
                         std::uint32_t index) noexcept;
  [[gnu::cold]] static std::uint64_t opened(const Instance& instance, const Vertex& vertex,
                                            const VertexState& state,
                                            std::uint64_t possible) noexcept;
  Posted deliver(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  template <typename What>
  Posted move(Instance& instance, std::uint16_t number, std::uint32_t index,
              const What& what) noexcept;
  Posted bring(Instance& instance, std::uint16_t number, std::uint32_t index,
               std::uint64_t bytes) noexcept;
  static std::byte* where_it_stays(const Instance& instance, const Operand& operand,
                                   std::uint32_t index, std::byte* otherwise) noexcept;
  void release_operands(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept;
  static void on_move(Completion& op, Status status) noexcept;

  Counters& counters_;
  Trace& trace_;
  Mover* mover_ = nullptr;
  const Pattern bytes_ = Pattern::plain(ESP_BYTE);  // of messages
  bool starting_ = false;                           // inside a start: no consumer is called
  Tuning tuning_;
  FailureListener* listener_ = nullptr;
  const Log* log_ = nullptr;
  Instance* ready_ = nullptr;
  std::uint64_t started_ = 0;
  Instance* stalled_ = nullptr;
  std::vector<std::pair<Finish, Status>> failed_;  // still to be told, from progress()
};

}  // namespace espalier
