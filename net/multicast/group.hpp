// Group: reliable packets from each member of a group to all others, over multicast that loses,
// repeats, reorders and (in simulation) damages what it carries. docs/multicast.md has the rules
// and the memory they take.
//
// A member's packets are delivered at every other member, once and in the order of their sending.
// What gets lost is asked for from the parent in the source's tree and comes by mail, or to all
// once more where many have lost it. The deaths of members are told from outside, by member_lost(),
// at every survivor; packets of a dead source are delivered as far as any survivor holds them, the
// same everywhere.
//
// Several sources may send at once, up to `sources`: the packets for arrivals are shared among so
// many, and no packet that a window permits finds them used up (window_for()).
//
// Work is in proportion to the packets and to the degree of the tree; at a death, to the number of
// members. Memory is for the sources that were met, not for the members; it is allocated at the
// first packet or mail about a source, and at deaths.
//
// Ownership: borrows the list of members, which the groups of one process may share, port, mail,
// clock and sink; all outlive it. Threads: the owner of the worker.
// path: data
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/histogram.hpp"
#include "core/peer_table.hpp"
#include "net/multicast/group_port.hpp"
#include "net/multicast/group_sender.hpp"
#include "net/multicast/group_stream.hpp"
#include "net/multicast/loss_meter.hpp"
#include "net/multicast/tree.hpp"

namespace espalier::multicast {

class GroupSink {
 public:
  // Once for each packet, in order for each source. `payload` is the group's, during the call.
  virtual void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) = 0;
  // The source died. It has delivered `packets` (modulo 2^32); what it sent after them is lost.
  virtual void source_ended(Rank source, std::uint32_t packets) = 0;

 protected:
  ~GroupSink() = default;
};

// Equal on all members, but for `rank`.
struct GroupOptions {
  std::uint64_t epoch = 0;
  std::uint32_t group = 0;  // its number in the job
  std::uint32_t ranks = 0;  // of the job
  Rank rank = kNoRank;
  std::uint32_t packet_bytes = 0;   // of the member whose port has the smallest packets
  std::uint32_t receive_depth = 0;  // of the member whose port has the fewest
  std::uint32_t sources = 1;        // that send at the same time
  std::uint32_t degree = 4;         // of the trees
  std::uint32_t ack_every = 0;      // packets; 0: a quarter of the window
  std::uint32_t repeat_for = 2;     // children that miss a packet: it is sent to all once more
  std::uint64_t ack_delay_ns = 20'000;
  std::uint64_t gather_ns = 5'000;  // the source waits for other questions
  AskTimes ask;
  ProbeTimes probe;
  LossLimits loss;
  Sequence first;
};

struct GroupCounts {
  std::uint64_t packets_sent = 0, packets_again = 0;  // to all: first, repeated
  std::uint64_t probes_sent = 0, mail_probes_sent = 0;
  std::uint64_t packets_received = 0, own = 0;  // by the port; of which this member's come back
  std::uint64_t delivered = 0;
  std::uint64_t repairs_sent = 0, repairs_received = 0;  // by mail
  std::uint64_t nacks_sent = 0, nacks_received = 0;      // messages
  std::uint64_t nacks_merged = 0, nacks_suppressed = 0;  // packets that needed no own question
  std::uint64_t acks_sent = 0, reports_sent = 0;
  std::uint64_t duplicates = 0, forbidden = 0, orphaned = 0;  // orphaned: of a dead source
  std::uint64_t no_memory = 0, no_room = 0;  // no packet to keep a repair in; mail refused
  std::array<std::uint64_t, rdma::kRefusedCount> refused = {};  // by Refused
};

class Group final : private rdma::DatagramSink {
 public:
  // `members`: ranks of the job, sorted, this one among them.
  Group(std::span<const Rank> members, GroupPort& port, MemberMail& mail, Clock& clock,
        GroupSink& sink, const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Packets of one source under way, at most: a member may hold a window of packets, have the next
  // one waiting for poll(), and as many repetitions and probes.
  static std::uint32_t window_for(std::uint32_t receive_depth, std::uint32_t sources) noexcept;

  // Where the payload of the next packet goes; empty: the window is shut, the port has no packet,
  // or it has not joined. The same until publish().
  std::span<std::byte> room() noexcept;
  // Sends so many bytes of room(). `more`: another publish() or flush() follows at once.
  void publish(std::size_t bytes, std::uint64_t tag, bool more = false) noexcept;
  void flush() noexcept { port_.flush(); }

  // Returns the number of events; negative: the port has failed.
  int progress() noexcept;
  void mail_arrived(Rank from, std::span<const std::byte> message) noexcept;
  void member_lost(Rank rank) noexcept;
  // When progress() has something to do without an arrival; 0: at once, kNever: nothing.
  std::uint64_t deadline_ns() const noexcept;

  // All that was published has arrived everywhere, nothing is owed to anybody, and what the dead
  // left is settled.
  bool drained() const noexcept;
  // Who holds this member's window shut, and since when; kNoRank: nobody.
  struct Late {
    Rank rank = kNoRank;
    std::uint64_t since_ns = 0;
  };
  Late late() const noexcept;
  // So much was lost of this member's packets that a tree of messages is better, for good.
  bool falls_back() const noexcept { return meter_.falls_back(); }
  const Loss& loss() const noexcept { return meter_.figures(); }

  std::uint32_t window() const noexcept { return window_; }
  const GroupCounts& counts() const noexcept { return counts_; }
  // From when a packet was told of to when it came, of those that were asked for.
  const Histogram& repair_ns() const noexcept { return repair_ns_; }

 private:
  using Stream = GroupStream;
  friend struct GroupStream::Alarm;
  static constexpr int kPollBudget = 64;
  static constexpr std::uint32_t kNobody = GroupTree::kNobody;

  bool mine(const Stream& stream) const noexcept { return stream.member == me_; }
  std::uint32_t index_of(Rank rank) const noexcept;
  std::uint32_t number_of_members() const noexcept {
    return static_cast<std::uint32_t>(members_.size());
  }
  // nullptr: no member. Makes it at the first contact.
  Stream* stream_of(Rank source) noexcept;
  Stream& meet(std::uint32_t index) noexcept;
  Stream& own() noexcept { return *stream_of(options_.rank); }
  Header header(const Stream& stream, Kind kind, Sequence sequence) const noexcept;
  void make_ready(Stream& stream) noexcept {
    if (!stream.linked()) ready_.push_back(stream);
  }
  void set_alarm(Stream& stream) noexcept;
  void give(rdma::Packet& packet) noexcept;
  void settle(Stream& stream, Sequence stable) noexcept;

  // Sending (group.cpp). False: there is no room, try again.
  bool send_unsent() noexcept;
  bool send_probe(Stream& stream) noexcept;
  bool work(Stream& stream) noexcept;
  bool post(std::uint32_t to, const Header& header, std::size_t bytes) noexcept;
  bool send_ack(Stream& stream) noexcept;
  bool send_mail_probes(Stream& stream) noexcept;

  // Receiving (group_receive.cpp).
  void arrived(rdma::Packet& packet) noexcept override;
  bool take_stable(Stream& stream, const Header& header) noexcept;
  bool take_data(Stream& stream, const Header& header, rdma::Packet& packet) noexcept;
  void take_repair(Stream& stream, const Header& header,
                   std::span<const std::byte> message) noexcept;
  void take_mail(Stream& stream, std::uint32_t from, const Header& header,
                 std::span<const std::byte> message) noexcept;
  void take_ack(Stream& stream, std::uint32_t from, const Header& header,
                const SubtreeState& state) noexcept;
  void hear_probe(Stream& stream, const Header& header, bool by_mail) noexcept;
  void hand_on(Stream& stream) noexcept;
  Merged merged(const Stream& stream) const noexcept;
  void note_progress(Stream& stream) noexcept;

  // Questions and repairs (group_repair.cpp).
  bool send_questions(Stream& stream) noexcept;
  bool ask_holders(Stream& stream, const Range& range) noexcept;
  bool post_question(Stream& stream, std::uint32_t to, std::span<const Range> ranges) noexcept;
  void take_question(Stream& stream, std::uint32_t from,
                     std::span<const std::byte> payload) noexcept;
  void want(Stream& stream, Child& child, const Range& range) noexcept;
  bool send_repairs(Stream& stream) noexcept;
  bool repair(Stream& stream, Child& child) noexcept;
  bool repeat_to_all(Stream& stream) noexcept;
  void note_wanted(Stream& stream, Sequence sequence, bool came_to_all) noexcept;

  // Deaths (group_end.cpp).
  void reroot(Stream& stream, bool source_known_dead) noexcept;
  bool send_report(Stream& stream) noexcept;
  void inherit(Stream& stream) noexcept;
  void end_stream(Stream& stream, Sequence end) noexcept;
  void cut(Stream& stream, Sequence end) noexcept;
  void note_end(Stream& stream) noexcept;
  bool send_news(Stream& stream) noexcept;
  void finish_stream(Stream& stream) noexcept;

  GroupPort& port_;
  MemberMail& mail_;
  Clock& clock_;
  GroupSink& sink_;
  const GroupOptions options_;
  const std::uint32_t window_, packet_bytes_;
  const Membership membership_;
  const std::span<const Rank> members_;
  const std::uint32_t me_;
  const GroupTree tree_;
  DeadMembers dead_;
  std::uint64_t view_ = 0;  // which members are dead, as one number
  std::uint64_t now_ns_ = 0;
  bool behind_ = false;  // more may wait in the port

  TimerQueue timers_;
  IntrusiveList<Stream> ready_;
  PeerTable<Stream> streams_;  // of the sources that were met
  GroupSender sender_;
  Sequence unsent_;       // own packets from here on wait for the port
  SequenceSet repeated_;  // own packets that were sent to all once more
  LossMeter meter_;
  rdma::Packet* room_ = nullptr;

  std::unique_ptr<std::byte[]> memory_;  // of packets for repairs; touched when used
  std::vector<rdma::Packet> packets_;    // ... and these
  rdma::Packet* free_ = nullptr;
  std::vector<std::byte> message_;       // that is being made
  std::vector<std::uint32_t> children_;  // of reroot()
  GroupCounts counts_;
  Histogram repair_ns_;
};

}  // namespace espalier::multicast
