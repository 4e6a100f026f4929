// Audit: what every wire operation of a run must obey, checked between engine and wires.
//
// AuditedWire stands in front of a wire and knows each operation from its post to its end:
// - an operation is posted only while it is idle; its completion fires once, and never inside a
//   post; what was taken back never fires;
// - of one flow between two ranks no more segments are in flight (views: or held) than the window
//   of the call;
// - what a pending send reads does not change before its completion;
// - a view, or what is read on a device, is read before it is released, which happens once: the
//   engine is handed a copy that is spoiled at the release;
// - a segment beyond the eager ones leaves only after its receive was posted, which bounds what can
//   come unexpected.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/wire.hpp"

namespace espalier::swarm {

class Audit {
 public:
  Audit();
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // The first violation stays.
  void fail(std::string text) {
    if (failure_.empty()) failure_ = std::move(text);
  }
  bool failed() const noexcept { return !failure_.empty(); }
  const std::string& failure() const noexcept { return failure_; }

  // Of a call: its windows (the largest, if members differ), and whether results may overwrite
  // what was sent before the send is known to be complete: an allreduce in place gets no result
  // that its contribution is not part of.
  struct Rules {
    std::uint32_t send = 0, recv = 0;
    bool overwrites = false;
  };
  void allow(FlowId flow, const Rules& rules);

  // What is sent to the dead goes nowhere.
  void tell_dead(std::function<bool(Rank)> is_dead) { is_dead_ = std::move(is_dead); }

  // Operations that have neither ended nor been taken back, and views held.
  std::size_t open_operations() const noexcept { return open_; }
  std::uint64_t posts() const noexcept { return posts_; }

 private:
  friend class AuditedWire;
  enum class State : std::uint8_t { kIdle, kPending, kHeld, kCanceled };
  // What the wire gets instead of a send of the engine. One that was taken back is never used
  // again: a completion that comes for it meets nothing but on_canceled.
  struct StandIn : SendOp {
    StandIn() : SendOp(on_send) {}
    SendOp* of = nullptr;
  };
  struct Record {
    State state = State::kIdle;
    bool send = false;
    StandIn* stand_in = nullptr;  // of a send
    Completion::Callback callback = nullptr;
    Rank rank = kNoRank;
    const void* data = nullptr;  // of a send
    std::uint64_t bytes = 0;
    std::uint64_t sum = 0;
    bool overwrites = false;
    std::uint64_t window = 0;    // key of the window it counts in
    const void* view = nullptr;  // the wire's
    std::vector<std::byte> copy;
  };
  struct WindowKey {
    std::uint64_t flow;
    std::uint64_t ends;  // rank, direction, peer
    friend bool operator==(const WindowKey&, const WindowKey&) = default;
  };
  struct HashKey {
    std::size_t operator()(const WindowKey& key) const noexcept {
      return (key.flow ^ key.ends * 0xff51afd7ed558ccdULL) * 0x9e3779b97f4a7c15ULL >> 20;
    }
  };

  static std::uint64_t sum_of(const void* data, std::uint64_t bytes) noexcept;
  static void on_send(Completion& op, Status status) noexcept;
  static void on_recv(Completion& op, Status status) noexcept;
  static void on_canceled(Completion& op, Status status) noexcept;
  static WindowKey key(Rank rank, bool send, const SegmentId& segment, Rank peer) noexcept;

  Record& open(Completion& op, Rank rank, bool send);
  StandIn& stand_in(SendOp& op);
  void give_back(Record& record) noexcept;
  void count(Record& record, const WindowKey& key, std::uint64_t flow);
  void uncount(Record& record) noexcept;
  void hold(Record& record, RecvOp& op);
  void close(Record& record, Completion& op) noexcept;
  void check_granted(Rank from, Rank to, const SegmentId& segment);
  void note_posted(Rank by, const SegmentId& segment);

  static Audit* current_;  // whose operations complete: runs do not overlap

  std::string failure_;
  std::function<bool(Rank)> is_dead_;
  std::unordered_map<const Completion*, Record> records_;  // looked up, never walked
  std::unordered_map<std::uint64_t, Rules> rules_;         // by team and sequence
  std::unordered_map<WindowKey, std::uint32_t, HashKey> in_flight_numbers_;  // -> in_flight_
  std::vector<std::uint32_t> in_flight_;
  std::vector<std::unique_ptr<StandIn>> stand_ins_;
  std::vector<StandIn*> free_stand_ins_;
  std::unordered_map<WindowKey, std::uint32_t, HashKey> posted_;  // receives: last ordinal + 1
  std::size_t open_ = 0;
  std::uint64_t posts_ = 0;
  bool inside_post_ = false;
};

class AuditedWire final : public Wire {
 public:
  AuditedWire(Audit& audit, Wire& wire, Rank rank) noexcept
      : audit_(audit), wire_(wire), rank_(rank) {}

  WireCaps caps(Rank peer) const noexcept override { return wire_.caps(peer); }
  Posted send(const Send& send, SendOp& op) noexcept override;
  std::unique_ptr<Group> open_group(std::span<const Rank> readers) override {
    return wire_.open_group(readers);
  }
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override;
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override;
  void release(RecvOp& op) noexcept override;
  void cancel(RecvOp& op) noexcept override;
  void cancel(SendOp& op) noexcept override;
  int progress() noexcept override { return wire_.progress(); }
  void idle() noexcept override { wire_.idle(); }

 private:
  Posted post(const Send& send, const Group* group, SendOp& op) noexcept;

  Audit& audit_;
  Wire& wire_;
  const Rank rank_;
};

}  // namespace espalier::swarm
