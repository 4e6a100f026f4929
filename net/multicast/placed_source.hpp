// PlacedSource: one member's large segments, sent straight from the memory they lie in
// (docs/multicast.md, "Large segments").
//
//   announced, to all in the stream > all have places > its packets, on the lane, one by one >
//   "sent", in the stream > what somebody misses, in the stream > all have it: finished
//
// One segment at a time is on the lane; up to kAhead more are announced meanwhile. A lane whose
// port fails sends nothing more: its packets are missed by all and go by the stream.
//
// Ownership: borrows the list of members, port, stream and user; and each segment's memory, which
// stays as it is until finished(). Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <span>

#include "core/clock.hpp"
#include "net/multicast/placed_tree.hpp"

namespace espalier::multicast {

// Equal on all members, but for `rank`.
struct PlacedOptions {
  LaneName lane;
  Rank rank = kNoRank;
  std::uint32_t packet_bytes = 0;  // of payload: what every port of the lane takes, and every
                                   // message of the stream behind kPlacedMessageBytes
  std::uint32_t packets_max = 0;   // of a segment: the least depth() of the members' ports
  std::uint32_t degree = 4;        // of the tree
  // A receiver's own:
  std::uint32_t spare_packets = 256;  // that wait for their places
  std::uint64_t reorder_ns = 50'000;  // the lane may be later than the stream by so much
  Sequence first;
};

// Segments that are announced beside the one on the lane.
inline constexpr std::uint32_t kSegmentsAhead = 2;

// Memory of a segment; `key`: under which the lane's port knows it.
struct PlacedMemory {
  std::byte* begin = nullptr;
  std::uint32_t key = 0;
  bool registered = true;  // a receiver's that is not takes what others take by copying
  // Of a receiver: the processor does not reach `begin`, what it would copy there is put here, at
  // the same distance, and PlacedSinkUser::patch() follows. nullptr: it reaches it.
  std::byte* beside = nullptr;
};

// How a segment is cut: full packets, and what is left, which goes along with kSent.
struct PlacedCut {
  std::uint32_t packets = 0, tail = 0;
};
constexpr PlacedCut cut_of(std::uint64_t bytes, std::uint32_t packet_bytes) noexcept {
  return {static_cast<std::uint32_t>(bytes / packet_bytes),
          static_cast<std::uint32_t>(bytes % packet_bytes)};
}

struct PlacedSourceCounts {
  std::uint64_t segments = 0, packets = 0, repairs = 0;
  std::uint64_t no_room = 0;  // refusals of the stream
};

class PlacedSourceUser {
 public:
  // All receivers that live have all of the segment; its memory is the user's again.
  virtual void finished(std::uint64_t cookie) noexcept = 0;

 protected:
  ~PlacedSourceUser() = default;
};

class PlacedSource final : private PlacingSink {
 public:
  PlacedSource(std::span<const Rank> members, PlacingPort& port, PlacedStream& stream,
               PlacedSourceUser& user, const PlacedOptions& options);

  // Another segment may be started.
  bool open() const noexcept { return next_ - front_ <= static_cast<std::int32_t>(kSegmentsAhead); }
  // Of 1 byte to bytes_max().
  void start(const std::byte* memory, std::uint32_t key, std::uint64_t bytes, std::uint64_t cookie);
  // The memory of a segment that is not finished is its user's again: its bytes stand at `memory`,
  // too, and what has not left goes by the stream, from there.
  void move(std::uint64_t cookie, const std::byte* memory);
  // Nothing of any segment is read any more, and nothing more is sent on the lane.
  void stop();
  // ... because the port has failed, or by stop().
  bool failed() const noexcept { return failed_; }
  std::uint64_t bytes_max() const noexcept {
    return std::uint64_t{options_.packets_max} * options_.packet_bytes;
  }

  // Returns the number of events.
  int progress();
  // What follows from it the next progress() does.
  void mail_arrived(Rank from, std::span<const std::byte> message) {
    tree_.mail_arrived(from, message);
  }
  void member_lost(Rank rank) { tree_.member_lost(rank); }
  // 0: progress() has something to do that found no room, kNever: nothing before something comes.
  std::uint64_t deadline_ns() const noexcept { return refused_ ? 0 : kNever; }
  bool idle() const noexcept { return next_ == front_; }

  const PlacedSourceCounts& counts() const noexcept { return counts_; }

 private:
  struct Segment {
    const std::byte* memory = nullptr;
    std::uint32_t key = 0;
    std::uint64_t bytes = 0, cookie = 0;
    PlacedCut cut;
    std::uint32_t next_packet = 0;
    bool told = false;       // that it has been sent
    bool by_stream = false;  // not by the lane
  };
  static constexpr std::uint32_t kSlots = 4;
  static_assert(kSegmentsAhead + 1 <= kSlots);

  // Nothing comes to a source.
  void placed(std::uint64_t, LaneHeader, std::uint32_t) noexcept override {}
  void returned(std::uint64_t) noexcept override {}

  Segment& segment(Sequence number) noexcept { return segments_[number.value % kSlots]; }
  std::span<const std::byte> packet_of(const Segment& segment, std::uint32_t packet) const noexcept;
  bool publish(PlacedKind kind, Sequence number, std::uint64_t value,
               std::span<const std::byte> payload) noexcept;
  void announce() noexcept;
  int send_packets() noexcept;
  void tell_sent() noexcept;
  void repair() noexcept;
  bool finish() noexcept;

  const PlacedOptions options_;
  PlacingPort& port_;
  PlacedStream& stream_;
  PlacedSourceUser& user_;
  PlacedTree tree_;
  std::array<Segment, kSlots> segments_;
  Sequence front_, announced_, next_;  // the one on the lane; the next to announce; to start
  bool failed_ = false;                // the port
  bool refused_ = false;
  PlacedSourceCounts counts_;
};

}  // namespace espalier::multicast
