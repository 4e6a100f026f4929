// TagMessages: messages that are matched by source and tag.
//
//   at once                      announced (large, synchronous, or the window is full)
//   sender        receiver       sender            receiver
//   eager ------> match          announced ------> match
//   ...                                  <-------- ready (posts the flow's receive)
//         <------ taken          flow  ==========> memory of the receive
//
// All of it is messages of one rank to another that come in order (MessageSender), so messages are
// matched in the order of their sending, and the k-th *ready* of a receiver is the k-th flow of the
// pair on its team: nothing else names it. What is announced never waits in the receiver's memory.
// An eager message counts towards its sender's window for that receiver until the receiver has said
// that it is taken, which it does for half a window at once; so what waits at a receiver is bounded
// by the windows of those who send to it, and no window opens again beyond a bound on them all.
//
// Memory of a device is sent and received by flows with a mover, so it is always announced; what
// comes at once for such memory, and what this rank sends itself, passes through memory of the
// mover's (tag_devices.cpp).
//
// Nothing that comes is trusted: what answers no announcement of this rank is dropped, and logged.
//
// Ownership: borrows teams, buffers and patterns until the end of their operations.
// Threads: owner. path: data, slow (look)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "coll/device/staged_copies.hpp"
#include "coll/engine/engine.hpp"
#include "coll/team/watch.hpp"
#include "core/active_message.hpp"
#include "core/liveness.hpp"
#include "core/log.hpp"
#include "core/pattern.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "tags/matching.hpp"

namespace espalier {

struct TagLimits {
  std::uint64_t eager_bytes = 0;
  std::uint64_t window_bytes = 0;      // at one receiver
  std::uint64_t unexpected_bytes = 0;  // at this rank
};

// A message in memory.
struct TagBlock {
  void* memory = nullptr;
  std::uint64_t bytes = 0;           // packed
  const Pattern* pattern = nullptr;  // nullptr: in one piece
  StagedCopies* device = nullptr;    // who copies it: it is a device's; then there is a pattern
};

struct TagSending {
  Team& team;
  int to = 0;  // member
  std::uint64_t tag = 0;
  TagBlock block;
  bool synchronous = false;
  bool aside = false;  // of the library's own: only such receives meet it
};

struct TagReceiving {
  Team& team;
  int source = ESP_ANY_SOURCE;  // member
  std::uint64_t tag = 0, mask = 0;
  TagBlock block;
  esp_tag_info* info = nullptr;
  bool aside = false;
};

// A message, or its announcement, that no receive has met yet; its bytes follow it.
struct TagArrival : UnexpectedMessage {
  TagArrival(const TagKey& its_key, std::uint64_t length) noexcept
      : UnexpectedMessage(its_key), bytes(length) {}
  std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  const std::uint64_t bytes;
  bool announced = false;
  std::uint64_t name = 0;  // of the send, if announced
  void* holder = nullptr;  // of one that was claimed
};

class TagMessages final : public Agent, public MessageTaker {
 public:
  struct Parts {
    Engine& engine;
    MessageSender& sender;
    Liveness& liveness;
    Counters& counters;
    const Log& log;
    Rank me;
    TagLimits limits;
    WatchLimits watch;
    TeamWatch& teams;
    TeamWatch::Awaited awaited;
  };
  using Started = Engine::Started;
  struct Receive;

  explicit TagMessages(const Parts& parts);
  ~TagMessages() override;

  const TagLimits& limits() const noexcept { return parts_.limits; }

  // tag_send.cpp
  Result<Started> send(const TagSending& sending, const Finish& finish);

  // The same where it is eager, in one piece, and there is room for it now; else nothing happens.
  bool send_now(const TagSending& sending) noexcept;

  // tag_receive.cpp. `posted`: the receive, until it is matched (Receive::is_posted) or ended.
  Result<Started> receive(const TagReceiving& receiving, const Finish& finish, Receive*& posted);
  // The next message of a rank of this node, if it is for this receive and no other wait comes
  // before: then it has been received.
  bool accept(const TagReceiving& receiving, Rank from, const ActiveMessage& message,
              Status& status) noexcept;
  bool nothing_waits() const noexcept {
    return matching_.nothing_posted() && matching_.nothing_unexpected();
  }
  // Ends it with ESP_ERR_CANCELED, from progress(), if it is posted.
  void cancel(Receive& receive) noexcept;
  // Ends when there is a message that fits, which stays.
  Result<Started> probe(const TagReceiving& asked, const Finish& finish);
  // The earliest message that fits; nullptr: there is none.
  TagArrival* find(const TagReceiving& asked, esp_tag_info& info) noexcept;
  // No other receive meets it any more.
  void claim(TagArrival& message) noexcept;
  Result<Started> receive(TagArrival& claimed, const TagReceiving& receiving, const Finish& finish);

  // Takes what the library's own messages bring.
  bool take(Rank from, const ActiveMessage& message) noexcept override;
  int progress() noexcept override;

  // tag_watch.cpp. As Watchdog::look().
  void look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept;
  std::vector<TeamWait> waits(std::uint64_t now_ns) const;
  bool uses(const Pattern* pattern) const noexcept;
  // Nobody receives any more on the team, which has nothing under way.
  void forget(Team& team) noexcept;
  // The job ends: what is under way is cancelled, and what comes is dropped.
  void close() noexcept;
  // Explains how an operation ended that did not end well; for the job's error texts.
  void on_failure(void (*note)(void* context, std::string text), void* context) noexcept {
    note_ = note;
    note_context_ = context;
  }

 private:
  struct Operation;
  struct Send;
  struct Peer;
  struct Carried;
  struct Slot {
    Send* send = nullptr;
    std::uint32_t uses = 0;
  };
  struct Ending;

  Peer& peer(Rank rank) noexcept;
  int member(Team& team, Rank rank) noexcept;
  TagPattern pattern_of(const TagReceiving& receiving) const noexcept;

  Result<Started> send_eager(const TagSending& sending, Rank to, const Finish& finish);
  Result<Started> announce(const TagSending& sending, Rank to, const Finish& finish);
  bool take_slot(Send& send) noexcept;
  Send* named(std::uint64_t name) noexcept;
  void go(Rank from, std::uint64_t bytes, std::uint64_t name) noexcept;
  void end(Send& send, Status status) noexcept;
  void release(Send& send) noexcept;
  static void on_sent(void* send, Status status) noexcept;

  void arrive(Rank from, const ActiveMessage& message) noexcept;
  void keep(const TagKey& key, const ActiveMessage& message, std::uint64_t bytes,
            std::uint64_t name) noexcept;
  void drop(TagArrival& message) noexcept;
  void discard(UnexpectedMessage& message, bool tells) noexcept;
  void count_taken(Rank from, std::uint64_t bytes) noexcept;
  void tell_taken(Rank from, Peer& peer) noexcept;
  Receive* make_receive(const TagReceiving& receiving, const Finish& finish) noexcept;
  void answer_probes(const TagArrival& message) noexcept;
  Status ending(const TagBlock& block, const TagKey& key, std::uint64_t bytes) noexcept;
  Started begin_move(Receive& receive, const TagKey& key, std::uint64_t bytes,
                     std::uint64_t name) noexcept;
  Started move_to_self(Receive& receive, std::uint64_t bytes, std::uint64_t name) noexcept;
  void tell_ready(Rank to, std::uint64_t bytes, std::uint64_t name) noexcept;
  Status finish_receive(Receive& receive, Status status) noexcept;
  void end(Receive& receive, Status status) noexcept;
  static void on_received(void* receive, Status status) noexcept;

  // tag_devices.cpp
  Started land(Receive& receive, const TagKey& key, std::span<const std::byte> payload) noexcept;
  Started carry_to_self(Receive& receive, Send& send, std::uint64_t bytes) noexcept;
  Started put(Carried& carried) noexcept;
  Started settle(Carried& carried, Status status) noexcept;
  static void on_got(void* carried, Status status) noexcept;
  static void on_put(void* carried, Status status) noexcept;

  void add(Operation& operation) noexcept;
  void set_ended(Operation& operation, Status status) noexcept;
  void end(Operation& operation, Status status) noexcept;
  Status verdict(Operation& operation, std::uint64_t since_ns, std::uint64_t now_ns) noexcept;
  Status loss_of(Operation& operation) noexcept;
  Status lateness(Operation& operation, std::uint64_t since_ns, std::uint64_t now_ns) noexcept;
  const Operation* first_in_vain(const IntrusiveList<Operation>& operations) const noexcept;
  void look_at(IntrusiveList<Operation>& operations, std::uint64_t since_ns,
               std::uint64_t now_ns) noexcept;
  std::string limit_text() const;
  void explain(const Operation& operation, Status status) noexcept;
  std::string describe(const Operation& operation) const;

  Parts parts_;
  Matching matching_;
  PeerTable<Peer> peers_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  Pool<Send> sends_;
  Pool<Receive> receives_;
  Pool<Carried> carried_;
  IntrusiveList<Operation> open_, probes_;
  IntrusiveList<Operation> ended_;  // their ends are to be told from progress()
  IntrusiveList<ByTeam> claimed_;
  std::uint64_t unexpected_bytes_ = 0;
  std::uint64_t late_ = 0;
  bool any_awaited_ = false;  // during a look
  bool warned_ = false;
  Status lost_;  // a message was, for want of memory
  bool closed_ = false;
  void (*note_)(void* context, std::string text) = nullptr;
  void* note_context_ = nullptr;
};

}  // namespace espalier
