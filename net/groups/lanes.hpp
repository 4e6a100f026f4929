// Lanes: large frames of a group's members without a copy, on a lane of each source
// (docs/multicast.md, "Large segments"; net/multicast/placed_source.hpp, placed_sink.hpp).
//
// What a source says about its segments goes as frames of kind kPlaced through its packets, whole
// and between others; an announcement has the segment's header. The first large frame goes through
// packets, and so do the next ones until the source's port has joined: it makes the source open its
// lane, and tell the others to open theirs. Who has not joined by then, or has no port or no memory
// that can be registered, gets all by repairs.
//
//   post > waits until fewer than 3 are under way > announced > ... > all have it: complete
//
// Ownership: borrows what the context names; owns ports. Payload is the lanes' from post() to its
// completion or withdraw(), memory of a receive from begin_segment() to end_segment() of the host.
// Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "core/descriptor_set.hpp"
#include "core/intrusive_list.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "net/groups/device_place.hpp"
#include "net/groups/lane_memory.hpp"
#include "net/multicast/placed_sink.hpp"

namespace espalier::net {

class Lanes final : private multicast::MemberMail,
                    private multicast::PlacedStream,
                    private multicast::PlacedSourceUser {
 public:
  class Stream {
   public:
    // A frame of which `head` and `payload` are the payload: whole, or (false) not now.
    virtual bool publish(const FrameHeader& header, std::span<const std::byte> head,
                         std::span<const std::byte> payload) noexcept = 0;

   protected:
    ~Stream() = default;
  };
  struct Context {
    GroupHost& host;
    Clock& clock;
    Counters& counters;
    const FrameGroupsOptions& options;  // with ports
    Stream& stream;
    DescriptorSet* wakes;  // may be nullptr
    std::uint32_t team, group;
    std::span<const Rank> members;
    std::uint32_t degree;
  };

  explicit Lanes(const Context& context);
  ~Lanes();

  // ---- this member's (lanes_send.cpp) ----
  // True: it is pending, as by FrameGroup::post(). False: it goes through packets.
  bool post(OutgoingFrame& frame) noexcept;
  enum class Taken : std::uint8_t { kNotHere, kBack, kNoMemory };
  // As FrameGroup::withdraw().
  Taken withdraw(OutgoingFrame& frame) noexcept;
  // The stream had no room for what this source has to say.
  bool owes() const noexcept { return hello_owed_ || (source_ && source_->deadline_ns() == 0); }
  // Says it. Returns the number of events.
  int speak();
  // The group's port has failed: all that is pending ends with this.
  void fail(const Status& why) noexcept;

  // ---- others' ----
  // A frame of kind kPlaced begins in the packets of a source: where its payload goes. False: no
  // source sends that.
  bool begin(Rank source, const FrameHeader& header, std::byte*& place);
  // Its payload is there. False: likewise, or the source has been given up.
  bool end(Rank source, const FrameHeader& header);
  template <typename Visit>
  void visit_arrivals(Rank source, Visit&& visit) {
    Lane* lane = lanes_.find(source);
    if (lane == nullptr) return;
    for (Place& place : lane->places) visit(place.arrival);
  }
  // Nothing is written to memory of this source's segments any more.
  void stop_arrivals(Rank source) noexcept;

  void mail_arrived(Rank from, std::span<const std::byte> message);
  void member_lost(Rank rank);
  int progress();
  std::uint64_t deadline_ns() const noexcept;
  bool arm() noexcept;
  // No segment is under way.
  bool idle() const noexcept;
  // progress() is needed.
  bool busy() const noexcept { return heard_ || !busy_.empty() || !sends_idle(); }

 private:
  // A frame of this member's.
  struct Sending : ListNode {
    OutgoingFrame* frame = nullptr;  // nullptr: it was taken back
    FrameHeader header;
    LaneMemory memory;
    std::unique_ptr<std::byte[]> copy;
  };
  struct Lane;
  // A segment of another's.
  struct Place final : Redirect, DevicePlace {
    explicit Place(Lane& lane_) noexcept;
    void redirect(std::byte* payload) noexcept override;
    static void on_patched(Completion& completion, Status status) noexcept;
    Lane& lane;
    FrameArrival arrival;
    multicast::Sequence segment;
    LaneMemory memory;
  };
  static constexpr std::uint32_t kSlots = 4;
  static_assert(multicast::kSegmentsAhead + 1 <= kSlots);
  // As a list node: of those that progress() looks at.
  struct Lane final : multicast::PlacedSinkUser, ListNode {
    Lane(Lanes& owner_, Rank source_) : owner(owner_), source(source_) {}
    multicast::PlacedMemory announced(multicast::Sequence segment,
                                      std::uint64_t bytes) noexcept override;
    Posted patch(multicast::Sequence segment,
                 const multicast::PlacedPatch& patch) noexcept override;
    void whole(multicast::Sequence segment) noexcept override;
    void lost(multicast::Sequence segment) noexcept override;
    Place& place(multicast::Sequence segment) noexcept { return places[segment.value % kSlots]; }
    void stop() noexcept;

    Lanes& owner;
    const Rank source;
    std::unique_ptr<multicast::PlacingPort> port;
    std::unique_ptr<multicast::PlacedSink> sink;
    std::array<Place, kSlots> places{Place(*this), Place(*this), Place(*this), Place(*this)};
    std::vector<std::byte> message;  // that is under way in the stream
    FrameHeader header;              // its
    std::uint64_t misplaced = 0;     // packets, counted
    bool stopped = false;            // its segments are broken off by the host
    bool given_up = false;
  };

  // MemberMail
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    return context_.host.tell(to, context_.team, GroupWord::kLanes, message);
  }
  // PlacedStream
  bool publish(std::span<const std::byte> head,
               std::span<const std::byte> payload) noexcept override;
  // PlacedSourceUser
  void finished(std::uint64_t cookie) noexcept override;

  multicast::PlacedOptions options_of(Rank source) const noexcept;
  std::unique_ptr<multicast::PlacingPort> open(Rank source);
  bool can_send();
  void say_hello() noexcept;
  void start_waiting();
  Sending* find(IntrusiveList<Sending>& list, const OutgoingFrame& frame) noexcept;
  void drop(Sending& sending) noexcept;
  bool sends_idle() const noexcept {
    return waiting_.empty() && !owes() && (source_ == nullptr || source_->idle());
  }
  Lane* lane_of(Rank source);
  void attend(Lane& lane) noexcept {
    if (!lane.linked()) busy_.push_back(lane);
  }
  int progress(Lane& lane);

  const Context context_;
  const std::uint32_t packet_bytes_;
  std::uint32_t ports_ = 0;  // that were opened
  std::vector<Rank> lost_;

  std::unique_ptr<multicast::PlacingPort> port_;  // of this member's own lane
  std::unique_ptr<multicast::PlacedSource> source_;
  bool refused_ = false;     // there is no lane for this member
  bool hello_owed_ = false;  // the others are to be told to open it
  bool heard_ = false;       // mail has come for it
  Pool<Sending> pool_;
  IntrusiveList<Sending> waiting_, started_;
  std::array<Sending*, kSlots> by_segment_ = {};
  multicast::Sequence next_;  // to be started

  NoPlacingPort no_port_;
  PeerTable<Lane> lanes_;  // of others
  IntrusiveList<Lane> busy_;
};

}  // namespace espalier::net
