// FrameGroup: frames of a team's members through a group of the network: one post for all readers.
//
// Frames of one source are a stream of packets (net/multicast/group.hpp), and arrive in the order
// of their posts. Before all have joined, after the group was closed, and where the network has
// none, a frame is *relayed*: it goes down the source's tree by messages, each member passing it on
// to those below it from a copy. Segments are matched by flow and ordinal, so any of them may go
// either way, and readers need not know.
//
//   post --open--> packets --> all members          post --else--> copy --> children --> theirs ...
//
// Large frames of a group that is open go by lanes, without a copy (lanes.hpp).
//
// A frame that is relayed to a member that has not joined yet is kept until it has: it does not
// know whom to pass it on to.
//
// Ownership: borrows context and host; owns port and packets. The payload of a pending frame is the
// group's until its completion or withdraw(). Threads: the owner of the worker. path: data
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/peer_table.hpp"
#include "net/groups/group_meeting.hpp"
#include "net/groups/lanes.hpp"
#include "net/groups/relays.hpp"
#include "net/multicast/group.hpp"
#include "net/rdma/frame_stream.hpp"

namespace espalier::net {

class FrameGroup final : public ListNode,  // of those with a port
                         private multicast::MemberMail,
                         private multicast::GroupSink,
                         private GroupMeeting::Voice,
                         private Lanes::Stream,
                         private FrameSink {
 public:
  struct Context {
    GroupHost& host;
    Relays& relays;
    Clock& clock;
    Counters& counters;
    const FrameGroupsOptions& options;
    DescriptorSet* wakes;  // of ports; may be nullptr
  };
  using Members = std::shared_ptr<const std::vector<Rank>>;

  FrameGroup(const Context& context, std::uint32_t team, Members members);
  ~FrameGroup();

  // Takes the port that the network has for it, or says why it has none: then it is never open.
  void use(std::unique_ptr<multicast::GroupPort> port);
  void refuse(const GroupEnd& why) noexcept { meeting_.wish(why); }
  // It is wished that all close it.
  void give_way() noexcept;

  // A frame of kind kSegment to all other members. kRetry: no memory, or progress() is due.
  Posted post(OutgoingFrame& frame) noexcept;
  // Takes a pending one back: its completion will not fire. It arrives whole, or not at all.
  void withdraw(OutgoingFrame& frame) noexcept;
  void flush() noexcept;

  // Of frames that have come by the link, from a member. `buffer` is the pool's, and now this
  // one's.
  void heard(Rank from, GroupWord word, std::span<const std::byte> payload) noexcept;
  void relayed(Rank from, const FrameHeader& header, std::byte* buffer) noexcept;
  // visit(FrameArrival&), of that source's stream and placed segments, if any have come.
  template <typename Visit>
  void visit_arrivals(Rank source, Visit&& visit) {
    if (Source* met = sources_.find(source)) visit(met->arrival);
    if (lanes_ != nullptr) lanes_->visit_arrivals(source, visit);
  }
  // Nothing of that source is written to any memory any more.
  void stop_arrivals(Rank source) noexcept;
  // Who is above this member in the tree of a source; the source, if it is none of the group.
  Rank above(Rank source) const noexcept;
  // It is dead: its stream has been broken off.
  void member_lost(Rank rank) noexcept;
  bool has_lost_members() const noexcept { return !lost_.empty(); }

  int progress() noexcept;
  std::uint64_t deadline_ns() const noexcept;  // as multicast::Group::deadline_ns
  bool arm() noexcept { return port_ == nullptr || (port_->arm() && lanes_->arm()); }
  int descriptor() const noexcept { return port_ != nullptr ? port_->descriptor() : -1; }

  // The team is freed here: nothing more is posted.
  void forget() noexcept { meeting_.forget(); }
  bool forgotten() const noexcept { return meeting_.forgotten(); }
  // The team has failed: members do not wait for each other when they leave. Some may never join.
  void abandon() noexcept { abandoned_ = true; }
  // Nobody needs this member any more.
  bool is_over() const noexcept;
  // It has no port, and everything about that is said: nothing is left for progress().
  bool is_settled() const noexcept;
  bool has_port() const noexcept { return port_ != nullptr; }
  bool is_leaving() const noexcept { return meeting_.is_leaving(); }
  bool is_open() const noexcept;
  std::uint64_t used_at() const noexcept { return used_at_; }
  std::uint32_t team() const noexcept { return team_; }
  const std::vector<Rank>& members() const noexcept { return *members_; }
  // Who has long held up what is published here; kNoRank: nobody.
  Rank late() const noexcept;
  // For people: what carries the team's publications, and why not the network.
  std::string describe() const;

 private:
  struct Source final : Redirect {
    explicit Source(Rank rank) noexcept : arrival(rank, this) {}
    void redirect(std::byte* payload) noexcept override { reader.redirect(payload); }
    rdma::FrameReader reader;
    FrameArrival arrival;
  };
  // What is being packed.
  struct Cursor {
    std::uint64_t packed = 0;  // bytes of the payload
    bool begun = false, head_packed = false;
    std::unique_ptr<std::byte[]> copy;  // the rest of one that its owner has taken back
    FrameBytes head = {};
    const std::byte* payload = nullptr;
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint32_t kDegree = 4;
  // A window that is shut for less says nothing of who is late.
  static constexpr std::uint64_t kLateNs = 100'000'000;
  // A look at a port may be a system call: where so many in a row have found nothing, only every
  // so many-th is made.
  static constexpr std::uint32_t kQuietLooks = 16, kQuietStep = 4;

  // MemberMail
  bool post(Rank to, std::span<const std::byte> message) noexcept override;
  // GroupSink
  void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) override;
  void source_ended(Rank, std::uint32_t) override {}
  // Lanes::Stream
  bool publish(const FrameHeader& header, std::span<const std::byte> head,
               std::span<const std::byte> payload) noexcept override;
  // GroupMeeting::Voice
  bool say(std::uint32_t to, GroupWord word, std::span<const std::byte> payload) override;
  // FrameSink
  std::byte* begin(Rank from, const FrameHeader& header) noexcept override;
  void end(Rank from, const FrameHeader& header, std::byte* payload) noexcept override;
  void lost(Rank, const Status&) noexcept override {}

  std::uint32_t index_of(Rank rank) const noexcept;
  Posted relay(const OutgoingFrame& frame) noexcept;
  void pass_on(std::uint32_t source, const FrameHeader& header, std::byte* buffer) noexcept;
  int pack_waiting() noexcept;
  bool pack_one() noexcept;
  bool looks_now() noexcept;
  void load(const OutgoingFrame& frame) noexcept;
  void give_up(Rank source, const char* why) noexcept;
  void send_filled(bool more) noexcept;
  bool nothing_under_way() const noexcept;
  void fail() noexcept;
  void look_whether_joined() noexcept;
  void attend() noexcept;
  void count_losses() noexcept;

  const Context context_;
  const std::uint32_t team_;
  const Members members_;
  const std::uint32_t me_;
  const multicast::GroupTree tree_;
  const multicast::DeadMembers nobody_;
  GroupMeeting meeting_;
  std::unique_ptr<multicast::GroupPort> port_;
  std::unique_ptr<multicast::Group> packets_;
  std::unique_ptr<Lanes> lanes_;  // there with them

  IntrusiveList<OutgoingFrame> queue_;  // oldest first; the first one may be partly packed
  Cursor cursor_;
  std::size_t filled_ = 0;  // of the packet that is being filled
  PeerTable<Source> sources_;
  std::vector<std::uint32_t> children_;  // of pass_on()
  std::vector<Rank> lost_;
  Status fault_;
  bool failed_ = false;  // what follows from it has been done
  bool abandoned_ = false;
  std::uint64_t used_at_ = 0;
  std::uint32_t join_looks_ = 0, quiet_looks_ = 0;
  std::uint64_t losses_ = 0, repairs_ = 0;  // that are counted
  std::uint32_t posts_unheard_ = 0;         // since progress(), while it is joining
};

}  // namespace espalier::net
