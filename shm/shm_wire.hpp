// ShmWire: the wire between the ranks of one node, over the shared segment.
//
// How a segment travels (chosen by the sender, per segment):
//   inline   <= 88 bytes, in the cell itself
//   arena    copied into the sender's arena, copied out (or read in place) by the receiver
//   direct   the buffer lies in the sender's heap (esp_alloc): receivers read it in place
//   pull     large flows, where measured to pay: the receiver reads the private buffer by CMA
//   push     where the plan asks for it: the sender writes into a posted receive by CMA
//   away     memory of a device stays there; the receiver has its address, or asks for a copy
// A pull that the system refuses, though it allowed others, is answered: the sender copies that
// segment, and all later ones.
// Everything but inline is acknowledged through a ticket: a byte that the receiver writes when it
// no longer needs the bytes. The sender looks at tickets when it waits for one or needs room.
//
// Only rings of peers from which something is expected are polled; idle(), which progress() calls
// itself when it has found nothing for long, looks at those of all that have ever sent something.
//
// Ownership: borrows segment, counters, doorbell; all outlive it. Threads: owner. path: data
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "core/away_memory.hpp"
#include "core/counters.hpp"
#include "core/doorbell.hpp"
#include "core/flow_grants.hpp"
#include "core/forgotten_teams.hpp"
#include "core/liveness.hpp"
#include "core/log.hpp"
#include "core/matcher.hpp"
#include "core/rank_list.hpp"
#include "core/wire.hpp"
#include "shm/arena.hpp"
#include "shm/cma.hpp"
#include "shm/path_cost.hpp"
#include "shm/segment.hpp"

namespace espalier::shm {

struct ShmPeer {
  Rank rank = kNoRank;  // in the job
  VisiblePid pid;       // none, if it is told later
};

struct ShmOptions {
  PullRule pull;                            // what is pulled
  bool measure_pull = false;                // find that out with the first large flow
  bool crowded = false;                     // fewer cores than ranks
  std::uint64_t direct_threshold = 1024;    // segments in the heap from here on go direct
  std::uint64_t quantum_bytes = 512 << 10;  // most bytes pulled by one progress()
  // Of the arena, what is used until traffic finds it full: less costs fewer page faults.
  std::uint64_t first_ring_bytes = 128 << 10;
  Liveness* liveness = nullptr;  // outlives the wire; nullptr: nobody is ever gone
  CmaKernel* cma = nullptr;      // outlives the wire; tests have one that refuses
  Log log{LogLevel::kError};
};

class ShmWire final : public Wire {
 public:
  // `peers`: all local ranks in the order of local indices, this one included. `job_size` bounds
  // their ranks.
  ShmWire(Segment& segment, std::span<const ShmPeer> peers, const ShmOptions& options,
          Doorbell& doorbell, Counters& counters);
  ~ShmWire() override;

  WireCaps caps(Rank peer) const noexcept override;
  Posted send(const Send& send, SendOp& op) noexcept override;
  std::unique_ptr<Group> open_group(std::span<const Rank> readers) override;
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override;
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override;
  Posted take(const SegmentId& segment, RecvOp& op) noexcept override;
  void release(RecvOp& op) noexcept override;
  void cancel(RecvOp& op) noexcept override;
  void cancel(SendOp& op) noexcept override;
  int progress() noexcept override;
  bool flush() noexcept override;
  void idle() noexcept override { (void)keep_house(); }

  // Which process it is; before this rank says that it may read there (Segment::may_pull).
  void set_process(Rank rank, VisiblePid pid) noexcept { peer(rank).pid = pid; }
  // By which memory of devices is named and opened, from now on; nullptr: not any more. Outlives
  // the wire, or the next call of this.
  void set_away(AwayMemory* away) noexcept;
  // Nobody receives anything of this team any more: lets go of what came before its receive, and
  // drops what comes yet. The number is not used again.
  void forget_team(std::uint32_t team);
  // Looks what has been acknowledged; then: is nothing under way, and nothing kept for anybody, as
  // far as this end knows?
  bool quiet() noexcept;
  // Why a pull that was allowed at first was refused: the first errno; 0: none was.
  int pull_refusal() const noexcept { return refusal_; }
  std::uint32_t local(Rank rank) const noexcept { return ranks_.index_of(rank); }

 private:
  using Readers = std::span<const std::uint32_t>;  // local indices
  struct LocalGroup;
  struct Ticket {
    std::uint32_t chunk = Arena::kNone;
    SendOp* op = nullptr;
    bool open = false;
    bool away = false;
  };
  // A synchronous segment whose receive has not found it.
  struct Untaken {
    Rank to = kNoRank;
    std::uint64_t flow = 0;
    std::uint32_t ordinal = 0;
    SendOp* op = nullptr;
  };
  // What a receiver has to say and has no cell for.
  struct Answer {
    CellKind kind = CellKind::kGrant;
    std::uint64_t flow = 0;
    std::uint64_t where = 0;
    // Of kRefused.
    std::uint64_t bytes = 0;
    std::uint32_t ordinal = 0, signature = 0;
    std::uint16_t ticket = 0;
    std::uint8_t lap = 0;
  };
  // A segment that its reader was refused, and that waits for room to be copied.
  struct Unread {
    Rank to = kNoRank;
    Answer segment;
  };
  // A segment of a device's that its reader wants as bytes: they are fetched, then copied.
  struct Declined : Completion {
    enum class State : std::uint8_t { kWaits, kFetching, kFetched };
    ShmWire* wire = nullptr;
    SendOp* op = nullptr;  // nullptr: it was taken back
    Rank to = kNoRank;
    Answer segment;
    std::byte* bytes = nullptr;
    State state = State::kWaits;
    Status status;
  };
  // A segment that came before its receive was posted: a copy of its cell. Inline payload is safe
  // with it, everything else stays with the sender until matched (or evacuated).
  struct Unexpected : MatchNode {
    Cell cell;
    void* evacuated = nullptr;
    Status failure;  // its bytes could not be had; the sender has been told that nobody reads them
  };
  // A segment larger than the quantum, on its way from a peer's private memory.
  struct Pulling {
    RecvOp* op = nullptr;
    Rank from = kNoRank;
    Answer segment;
    CmaCopy copy;
    std::uint64_t quantum_bytes = 0;
  };
  struct Peer {
    PairBlock* out = nullptr;  // we send
    PairBlock* in = nullptr;   // we receive
    Rank rank = kNoRank;
    VisiblePid pid;
    std::uint32_t sent = 0, drained_seen = 0;          // cells
    std::uint64_t ticket_next = 0, ticket_oldest = 0;  // tickets; never wrap, so laps alternate
    std::uint32_t ops_open = 0;                        // tickets with an op
    std::uint32_t received = 0;                        // cells
    // Posted receives, open ops, untaken segments, awaited grant, owed answers.
    std::uint32_t interest = 0;
    std::uint32_t active_at = 0;  // position in active_ while interest > 0
    bool awaits_grant = false;
    std::unique_ptr<Ticket[]> tickets;
    std::vector<Answer> owed;
  };
  // The part of a cell that depends on how the segment travels.
  struct Carriage {
    CellKind kind = CellKind::kInline;
    std::uint64_t where = 0;
    std::uint32_t chunk = Arena::kNone;
    SendOp* op = nullptr;
  };

  // A publication in the sender's own memory of which some readers have not been told yet: at most
  // `transfer.readers_at_once` read at a time.
  struct Rationed {
    Send send;
    Carriage carriage;
    Readers untold;  // of its group
    std::uint32_t reading = 0;
  };

  Peer& peer(Rank rank) noexcept { return peers_[local(rank)]; }
  void add_interest(Peer& peer) noexcept;
  void drop_interest(Peer& peer) noexcept;

  // Sending (shm_wire_send.cpp).
  Posted send_inline(Peer& peer, const Send& send) noexcept;
  Posted post(const Send& send, Readers readers, SendOp& op) noexcept;
  void await_taking(const Send& send, Readers readers, SendOp& op) noexcept;
  bool has_room(Peer& peer, bool ticket) noexcept;
  bool granted(Peer& peer, const Send& send) noexcept;
  bool choose(const Send& send, Readers readers, Carriage& carriage) noexcept;
  bool pullable(Readers readers) const noexcept;
  bool pays_to_pull(const Send& send, Readers readers) noexcept;
  bool choose_asked(const Send& send, Readers readers, Carriage& carriage) noexcept;
  bool copy_in(const Send& send, std::size_t readers, Carriage& carriage) noexcept;
  bool may_reach(std::uint32_t who, std::uint32_t whose) const noexcept;
  Readers first_readers(const Send& send, Readers readers, const Carriage& carriage) noexcept;
  void prefetch_next(std::uint64_t bytes) const noexcept;
  Arena::Chunk take_chunk(std::uint64_t bytes, std::uint32_t readers) noexcept;
  void put_cell(Peer& peer, const Send& send, const Carriage& carriage) noexcept;
  Cell& next_cell(Peer& peer) noexcept;
  [[gnu::cold]] void announce(Peer& peer) noexcept;
  void publish_cell(Peer& peer, Cell& cell) noexcept;
  int reap(Peer& peer) noexcept;
  void wake(Peer& peer) noexcept;

  // Pulling (shm_wire_pull.cpp).
  Posted start_pull(Peer& peer, const Cell& cell, RecvOp& op) noexcept;
  bool step_pull(Pulling& pulling) noexcept;
  int step_pulls() noexcept;
  bool cancel_pull(RecvOp& op) noexcept;
  Status pull(CmaCopy& copy, std::uint64_t quantum) noexcept;
  static Answer refusal_of(const Cell& cell) noexcept;
  void refuse(Peer& peer, const Answer& segment, int error_number) noexcept;
  void note_refusal(Peer& peer, int error_number) noexcept;
  void post_again(RecvOp& op, Rank from, const Answer& segment) noexcept;
  void note_refused(Peer& peer, const Cell& cell) noexcept;
  void put_again(Peer& peer, const Answer& segment, CellKind kind, std::uint64_t where) noexcept;
  bool send_copy(const Unread& unread) noexcept;
  bool send_bytes(Peer& peer, const Answer& segment, const void* bytes) noexcept;
  int send_copies() noexcept;
  void note_read(const SendOp& op) noexcept;
  int tell_next() noexcept;
  void give_up_untold(const SendOp& op) noexcept;

  // Memory of devices (shm_wire_away.cpp).
  Posted take_away(Peer& peer, const Cell& cell, RecvOp& op) noexcept;
  void note_declined(Peer& peer, const Cell& cell) noexcept;
  bool serve(Declined& declined) noexcept;
  int serve_declined() noexcept;
  bool fetch(Declined& declined) noexcept;
  void end_fetch(Declined& declined) noexcept;
  void fail_fetched(Declined& declined) noexcept;
  void give_up_declined(const SendOp& op) noexcept;
  void give_up(Declined& declined) noexcept;
  void revoke(Peer& peer, std::uint64_t number) noexcept;
  static void on_fetched(Completion& completion, Status status) noexcept;

  // Pushing (shm_wire_push.cpp).
  bool pushes(const Send& send) const noexcept;
  Posted post_pushed(const Send& send, Readers readers, SendOp& op) noexcept;
  bool take_landing(Peer& peer, const Send& send) noexcept;
  static Landing* taken_landing(Peer& peer, const SegmentId& segment) noexcept;
  void push_into(Peer& peer, Landing& landing, const Send& send, SendOp& op) noexcept;
  void copy_later(Peer& peer, const Send& send, SendOp& op) noexcept;
  static Answer answer_of(const Send& send, CellKind kind) noexcept;
  void open_landing(Peer& peer, RecvOp& op) noexcept;
  void close_landing(Peer& peer, RecvOp& op) noexcept;
  void end_push(Peer& peer, const Cell& cell) noexcept;

  // Receiving (shm_wire_receive.cpp).
  static constexpr std::uint64_t kHasTicket = std::uint64_t{1} << 63;
  static std::uint64_t make_token(std::uint32_t local, std::uint16_t ticket,
                                  std::uint8_t lap) noexcept {
    return kHasTicket | std::uint64_t{local} << 32 | std::uint64_t{ticket} << 8 | lap;
  }
  void meet_senders(std::size_t word) noexcept;
  int drain(Peer& peer) noexcept;
  bool handle(Peer& peer, Cell& cell) noexcept;
  Posted deliver(Peer& peer, const Cell& cell, RecvOp& op) noexcept;
  Posted deliver_unexpected(Peer& peer, Unexpected& message, RecvOp& op) noexcept;
  void fetch(Peer& peer, const Cell& cell, RecvOp& op) noexcept;
  void count_received(std::uint64_t bytes) noexcept;
  void acknowledge(Peer& peer, std::uint32_t ticket, std::uint8_t lap) noexcept;
  void hold(RecvOp& op) noexcept;
  void unhold(RecvOp& op) noexcept;
  bool note_answer(Peer& peer, const Cell& cell) noexcept;
  bool note_grant(Peer& peer, const Cell& cell) noexcept;
  void note_taken(Peer& peer, const Cell& cell) noexcept;
  void tell_taken(Peer& peer, const Cell& cell) noexcept;
  void answer(Peer& peer, const Answer& what) noexcept;
  void flush_answers(Peer& peer) noexcept;
  bool put_answer(Peer& peer, const Answer& what) noexcept;
  void press() noexcept;
  void relax() noexcept;

  // Housekeeping (shm_wire_house.cpp).
  int keep_house() noexcept;
  void evacuate(RecvOp& op) noexcept;
  void evacuate(Unexpected& message) noexcept;
  void discard(Unexpected& message) noexcept;
  void take_back() noexcept;

  Segment& segment_;
  Doorbell& doorbell_;
  Counters& counters_;
  ShmOptions options_;
  Arena arena_;
  std::vector<Peer> peers_;
  RankList ranks_;                                  // of the node
  std::vector<std::uint32_t> active_;               // local indices with interest
  std::array<std::uint64_t, kRankWords> met_ = {};  // own copy of RankBlock::senders
  std::vector<std::uint32_t> senders_;              // local indices, in the order of meeting
  Matcher matcher_;
  Pool<FlowGrant> grant_entries_;
  FlowGrants grants_{grant_entries_};
  ForgottenTeams forgotten_;
  RecvOp* held_ = nullptr;  // views into the segment, for idle()
  std::vector<Unexpected*> free_unexpected_;
  std::vector<SendOp*>
      finished_;                  // completions still to be called; they must not run inside a post
  std::vector<Untaken> untaken_;  // few: of the controls of a comparison, one at a time each
  std::vector<Pulling> pulls_;    // served in turn, a quantum per progress()
  std::vector<Unread> unread_;    // in the order of the refusals
  std::vector<Rationed> rationed_;
  AwayMemory* away_ = nullptr;
  std::chrono::nanoseconds patience_ = std::chrono::seconds(2);  // with readers of what is revoked
  std::vector<std::unique_ptr<Declined>> declined_, free_declined_;
  std::size_t pull_turn_ = 0;
  std::uint32_t owing_ = 0;        // peers that answers are owed to
  std::uint32_t empty_looks_ = 0;  // calls of progress() that found nothing, since the last event
  int refusal_ = 0;                // errno of the first pull that was refused
  bool pressed_ = false;
};

}  // namespace espalier::shm
