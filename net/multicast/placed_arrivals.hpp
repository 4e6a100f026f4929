// PlacedArrivals: what a receiver has of the segments that were announced to it, and which places
// for their packets the port has.
//
//   place of packet p:   not posted > in the port's queue > used up (by whatever came, or taken
//   back)
//
// A packet is known by its header, not by the place it came into. What came elsewhere is copied: to
// its own place if that is used up, else to spare memory until it is; if there is none left it is
// dropped, and missing. So nothing is ever written into a place that is in the port's queue. What
// comes into a place that the processor does not reach stays there, if it is of that segment, else
// it is dropped (net/multicast/placed_patches.hpp).
//
// Knows neither port nor clock. Ownership: borrows the segments' memory. Threads: owner. path: data
#pragma once

#include <array>

#include "net/multicast/packet_bits.hpp"
#include "net/multicast/placed_patches.hpp"
#include "net/multicast/placed_source.hpp"
#include "net/multicast/placed_spare.hpp"

namespace espalier::multicast {

struct PlacedCounts {
  std::uint64_t segments = 0;
  std::uint64_t placed = 0;     // packets that came where they belong
  std::uint64_t misplaced = 0;  // ... elsewhere: copied, or
  std::uint64_t dropped = 0;    // ... no spare memory was left, or it is out of reach
  std::uint64_t strayed = 0;    // ... into another place of its segment, out of reach
  std::uint64_t duplicates = 0, foreign = 0;
  std::uint64_t repairs = 0;  // packets by the stream, that were missing
  std::uint64_t missing = 0;  // packets that were asked for
  std::uint64_t flushes = 0;  // of the port's queue
  std::uint64_t refused = 0;  // messages that no source sends
};

// What is due to the port.
struct Place {
  std::byte* memory = nullptr;
  std::uint32_t key = 0;
  std::uint64_t token = 0;
};

class PlacedArrivals {
 public:
  PlacedArrivals(const PlacedOptions& options, PlacedCounts& counts);

  // Segments that are announced and not finished: [front, end).
  Sequence front() const noexcept { return front_; }
  Sequence end() const noexcept { return end_; }
  bool empty() const noexcept { return front_ == end_; }
  bool has(Sequence segment) const noexcept {
    return !segment.before(front_) && segment.before(end_);
  }
  // False: not the next one, too many, or too long.
  bool announce(Sequence segment, std::uint64_t bytes);
  bool given(Sequence segment) const noexcept { return at(segment).memory.begin != nullptr; }
  void give(Sequence segment, const PlacedMemory& memory);

  // Places are posted in the order of segments and packets. False: none is due.
  bool next_place(Place& place) const noexcept;
  void posted(const Place& place) noexcept;
  // All segments before have all their places, or need none.
  Sequence posted_to() const noexcept;
  // Places in the port's queue; of the front segment.
  std::uint32_t in_queue() const noexcept;
  std::uint32_t front_in_queue() const noexcept { return at(front_).in_queue; }
  // A segment behind the front has places that another packet has used up.
  bool disturbed() const noexcept;

  // From the port (PlacingSink).
  void placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes);
  void returned(std::uint64_t token);
  // After a flush: what may still come needs places again.
  void post_again() noexcept;
  // Nothing comes by the lane any more. Nothing is in the port's queue.
  void no_places() noexcept;

  // From the stream. False: nothing that a source sends.
  // A repair whose place is in the port's queue, and nothing is left to keep it in until then.
  bool needs_flush(Sequence segment, std::uint32_t packet) const noexcept;
  bool repaired(Sequence segment, std::uint32_t packet, std::span<const std::byte> payload);
  bool sent(Sequence segment, std::span<const std::byte> tail);
  bool front_sent() const noexcept { return at(front_).sent; }

  // All of the front segment is here, and no place of it is in the port's queue.
  bool front_whole() const noexcept;
  // ... and the next copy that puts it where it belongs. False: it is there.
  bool front_patch(PlacedPatch& patch) const noexcept {
    return at(front_).patches.next(at(front_).bytes, options_.packet_bytes, patch);
  }
  void front_patched() noexcept { at(front_).patches.done(); }
  // Calls `ask` with each range of packets of the front segment that has not come.
  template <typename Ask>
  void front_missing(Ask&& ask) {
    Segment& now = at(front_);
    if (now.asked) return;
    now.asked = true;
    for (std::uint32_t i = now.here.next(0, false); i < now.cut.packets;) {
      const std::uint32_t end = now.here.next(i);
      counts_.missing += end - i;
      ask(PacketRange{i, end - i});
      i = now.here.next(end, false);
    }
  }
  void drop_front() noexcept;

  // What is here goes to other memory, and so does what follows; what the processor does not reach
  // stays behind. Nothing is in the port's queue.
  void move(Sequence segment, const PlacedMemory& to);

 private:
  struct Segment {
    std::uint64_t bytes = 0;
    PlacedCut cut;
    PlacedMemory memory;
    std::uint32_t next_place = 0;  // those from here on have not been posted
    std::uint32_t in_queue = 0;
    std::uint32_t reach = 0;  // behind the last packet that the lane has brought
    bool sent = false;        // all of it; the tail is here
    bool asked = false;       // for what is missing
    PacketBits here;          // in its place, in spare memory, or to be patched
    PacketBits used;          // places that are used up
    PlacedPatches patches;
  };
  static constexpr std::uint32_t kSlots = 4;
  static_assert(kSegmentsAhead + 1 <= kSlots);

  Segment& at(Sequence segment) noexcept { return segments_[segment.value % kSlots]; }
  const Segment& at(Sequence segment) const noexcept { return segments_[segment.value % kSlots]; }
  std::byte* memory_of(const Segment& segment, std::uint32_t packet) const noexcept {
    return segment.memory.begin + std::size_t{packet} * options_.packet_bytes;
  }
  std::byte* beside(const Segment& segment, std::uint32_t packet) const noexcept {
    return segment.memory.beside + std::size_t{packet} * options_.packet_bytes;
  }
  void take(Sequence number, std::uint32_t place, LaneHeader header, std::uint32_t bytes);
  void take_elsewhere(const LanePacket& packet, const std::byte* payload);
  void take_stray(Sequence number, std::uint32_t place, const LanePacket& packet);
  bool put(Segment& segment, Sequence number, std::uint32_t packet, const std::byte* payload);
  void use_up(Sequence number, std::uint32_t place);

  const PlacedOptions options_;
  PlacedCounts& counts_;
  std::array<Segment, kSlots> segments_;
  Sequence front_, end_;
  PlacedSpare spare_;
};

}  // namespace espalier::multicast
