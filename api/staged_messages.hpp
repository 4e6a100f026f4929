// StagedMessages: active messages whose payload is memory of a device. A copy in memory of the
// mover's is sent; what is sent to the same rank meanwhile waits behind it, from wherever, so that
// messages come in the order of their sending.
//
// Ownership: a job's Devices; borrows the copies, and payloads of the host until the end of their
// messages. Threads: owner. path: data
#pragma once

#include "api/one_sided.hpp"
#include "coll/device/staged_copies.hpp"
#include "core/intrusive_list.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"

struct esp_job;

namespace espalier {

class StagedMessages {
 public:
  StagedMessages(esp_job& job, StagedCopies& copies) noexcept : job_(job), copies_(copies) {}

  // As OneSided::send(). `on_device`: the payload is there.
  Result<Engine::Started> send(const char* caller, Rank to, const ActiveMessage& message,
                               bool on_device, const Finish& finish);

 private:
  struct Letter : ListNode {
    Letter(StagedMessages& messages, const char* from, Rank target, const ActiveMessage& text,
           const Finish& end) noexcept
        : owner(messages), caller(from), to(target), message(text), finish(end) {}
    StagedMessages& owner;
    const char* const caller;
    const Rank to;
    ActiveMessage message;
    const Finish finish;
    std::byte* memory = nullptr;  // of the mover's
    bool copied = true;           // or the copy has failed
    Status status;
  };
  // Of one rank: letters that are being copied, and those behind them.
  using Line = IntrusiveList<Letter>;

  Line& line(Rank to);
  Engine::Started copy(Letter& letter) noexcept;
  Engine::Started pass_on(Letter& letter);
  static void on_copied(void* context, Status status) noexcept;
  static void on_sent(void* context, Status status) noexcept;
  void release(Letter& letter) noexcept;
  void explain(const Letter& letter, Status status) noexcept;

  esp_job& job_;
  StagedCopies& copies_;
  PeerTable<Line> lines_;
  Pool<Letter> letters_;
};

}  // namespace espalier
