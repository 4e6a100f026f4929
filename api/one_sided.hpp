// OneSided: what a rank does to others without their calling anything: active messages to all ranks
// of the job, and puts, gets and atomics on regions of other nodes. (Those of the own node are
// plain accesses, api/region.cpp.) It carries the library's own messages, too.
//
// Carriers move things (shm/mailbox.hpp, net/remote_access.hpp); here is what they have in common:
// everything under way ends when its target dies or nothing has happened to it for the configured
// limit. Messages that found no room in a mailbox wait here, in a queue per target, in order; those
// to other nodes wait at their wire.
//
// Ownership: borrows all, and buffers until the end of their operations. Threads: owner.
// path: data, slow (look)
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/job_nodes.hpp"
#include "coll/engine/engine.hpp"
#include "core/active_message.hpp"
#include "core/liveness.hpp"
#include "core/log.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "core/timer_queue.hpp"
#include "core/worker.hpp"
#include "net/remote_access.hpp"
#include "shm/mailbox.hpp"

namespace espalier {

struct RemoteCall {
  net::RemoteKind kind = net::RemoteKind::kPut;
  Rank target = kNoRank;  // on another node
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  void* memory = nullptr;
  std::uint64_t bytes = 0;
  AtomicOperands operands = {};
  net::RemoteMemory direct;  // of the target's part; see net::RemoteOp
};

class OneSided final : public Agent, public MessageSender, private MessageTaker {
 public:
  struct Parts {
    const JobNodes& nodes;
    Rank me;
    shm::Segment& segment;
    Doorbell& doorbell;
    net::FrameRoutes* routes;  // nullptr: no other nodes
    Liveness& liveness;
    Worker& worker;
    Counters& counters;
    const Log& log;
    std::uint64_t timeout_ns;  // 0: none
  };
  using Started = Engine::Started;

  explicit OneSided(const Parts& parts);
  ~OneSided() override;

  // nullptr takes the function away.
  void set_handler(unsigned id, esp_am_handler handler, void* context) noexcept {
    handlers_[id] = {handler, context};
  }
  Result<Started> send(Rank to, const ActiveMessage& message, const Finish& finish);
  // The library's own go to `taker`, which answers true.
  void set_own(MessageTaker* taker) noexcept { own_ = taker; }
  Result<bool> send_own(Rank to, const ActiveMessage& message, const Finish& finish) override;
  bool send_own_now(Rank to, const ActiveMessage& message) noexcept override;
  // Of a rank on this node: see Mailbox::front().
  std::optional<ActiveMessage> front(Rank from) noexcept;
  void pop(Rank from) noexcept { mailbox_.pop(parts_.nodes.locals.index_of(from)); }
  Result<Started> start(const RemoteCall& call, const Finish& finish);
  bool is_near(Rank rank) const noexcept { return rank != parts_.me && is_local(rank); }
  // Operations and messages of this rank that are under way.
  std::size_t open() const noexcept { return letters_.in_use() + transfers_.in_use(); }
  // Of which ranks.
  std::vector<Rank> targets() const;

  // Memory for other nodes. 0 without any.
  std::uint32_t offer(std::byte* memory, std::uint64_t bytes);
  // How their adapters may name it, if they may.
  net::RemoteMemory exposed(std::uint32_t region) const noexcept;
  void retract(std::uint32_t region) noexcept;

  int progress() noexcept override;
  // The job ends: what is under way is cancelled, nothing is started any more, and messages that
  // still come are dropped. Regions are served until the network is closed.
  void close() noexcept;
  bool is_closed() const noexcept { return closed_; }

  // Explains how an operation of its ended that did not end well; for the job's error texts.
  void on_failure(void (*note)(void* context, std::string text), void* context) noexcept {
    note_ = note;
    note_context_ = context;
  }

 private:
  struct Letter;
  struct Transfer;
  struct Queue;
  struct OpenNode : ListNode {
    Letter* letter = nullptr;  // one of both
    Transfer* transfer = nullptr;
    std::uint64_t since_ns = 0;  // of the first look at it
  };
  using Ended = std::vector<std::pair<OpenNode*, Status>>;
  struct Handler {
    esp_am_handler function = nullptr;
    void* context = nullptr;
  };

  bool is_local(Rank rank) const noexcept;
  Queue& queue(Rank to) noexcept;
  Status state_of(Rank to, unsigned id) noexcept;
  bool drop_in(Rank to, const ActiveMessage& message) noexcept;
  void enqueue(Letter& letter) noexcept;
  int flush(Queue& queue) noexcept;
  int deliver_to_self() noexcept;
  void end(Letter& letter, Status status) noexcept;
  void end(Transfer& transfer, Status status) noexcept;
  void withdraw(Letter& letter) noexcept;
  static void on_letter_sent(Completion& completion, Status status) noexcept;
  static void on_transfer_done(Completion& completion, Status status) noexcept;
  bool take(Rank from, const ActiveMessage& message) noexcept override;

  void watch(OpenNode& node, Rank target) noexcept;
  static void on_timer(Timer& timer, std::uint64_t now_ns) noexcept;
  void look(std::uint64_t now_ns) noexcept;
  void look_at(Queue& queue, std::uint64_t now_ns, Ended& ended) noexcept;
  void withdraw(const OpenNode& node) noexcept;
  void end(const OpenNode& node, Status status) noexcept;
  Status loss(Rank target) noexcept;
  void explain(const char* what, Rank target, Status status) noexcept;

  struct WatchTimer : Timer {
    explicit WatchTimer(OneSided& one_sided) noexcept
        : Timer(&OneSided::on_timer), owner(one_sided) {}
    OneSided& owner;
  };

  Parts parts_;
  shm::Mailbox mailbox_;
  std::unique_ptr<net::RemoteAccess> remote_;
  MessageTaker* own_ = nullptr;
  std::array<Handler, kMessageIds> handlers_ = {};
  std::array<bool, kMessageIds> complained_ = {};
  PeerTable<Queue> queues_;
  std::vector<Queue*> busy_;     // with letters that wait
  std::vector<Queue*> watched_;  // with anything under way
  Pool<Letter> letters_;
  Pool<Transfer> transfers_;
  WatchTimer timer_;
  std::uint64_t looks_ = 0;
  bool closed_ = false;
  std::uint64_t late_messages_ = 0;
  void (*note_)(void* context, std::string text) = nullptr;
  void* note_context_ = nullptr;
};

}  // namespace espalier
