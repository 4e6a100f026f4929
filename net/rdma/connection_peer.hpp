// What a ConnectionLink keeps of each peer; private to its parts.
// Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "core/intrusive_list.hpp"
#include "net/peer_life.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/connection_message.hpp"
#include "net/rdma/credit_account.hpp"
#include "net/rdma/frame_stream.hpp"
#include "net/rdma/landings.hpp"
#include "net/rdma/part_size.hpp"
#include "net/rdma/pulls.hpp"
#include "net/rdma/send_queue.hpp"

namespace espalier::rdma {

// A frame that has been posted.
struct ConnectionLink::Post : FramePost {
  Post(const net::FrameHeader& header_, const void* data) noexcept
      : FramePost(header_, data), header(header_) {}
  net::FrameHeader header;
  Lease lease;              // of the payload, when it is to be placed or read
  bool unreadable = false;  // is sent, not offered
};

struct ConnectionLink::PostQueue {
  bool empty() const noexcept { return first == nullptr; }
  Post* front() const noexcept { return static_cast<Post*>(first); }
  void push_back(Post& post) noexcept {
    post.next = nullptr;
    (first == nullptr ? first : last->next) = &post;
    last = &post;
    ++count;
  }
  Post& pop_front() noexcept {
    Post& post = *front();
    first = post.next;
    --count;
    return post;
  }

  FramePost* first = nullptr;
  FramePost* last = nullptr;
  std::uint32_t count = 0;
};

// A put or a get. It waits in Peer::accesses until the adapter has been asked for all of it, then
// is in Peer::asked; what was taken back is in neither, and lives until its operations have ended.
struct ConnectionLink::Access : ListNode {
  Access(Peer& peer_, bool gets_, RemoteMemory remote_, std::byte* local_, std::uint64_t bytes_,
         Completion& completion_) noexcept
      : peer(peer_),
        gets(gets_),
        remote(remote_),
        local(local_),
        bytes(bytes_),
        completion(&completion_) {}

  Peer& peer;
  const bool gets;
  const RemoteMemory remote;
  std::byte* const local;
  const std::uint64_t bytes;
  Completion* completion;   // nullptr: taken back
  Lease lease;              // of `local`, if it is large
  std::uint64_t asked = 0;  // bytes for which there are operations, or were
  std::uint64_t come = 0;   // bytes of a get
  std::uint32_t open = 0;   // operations
};

// One operation on the connection, or what it carried, to be carried again.
struct ConnectionLink::Record {
  enum class What : std::uint8_t {
    kMessage,    // counted, in `packet`
    kPlacement,  // counted, of `post`; its last part may have been in `packet`
    kPart,       // of a placement, in `packet`
    kRead,       // `pull`: of its last part
    kControl,    // ends with the connection
    kPut,        // of `access`; the last part of one is counted
    kGet,        // of `access`, perhaps into `packet`
  };
  What what = What::kControl;
  MessageKind kind = MessageKind::kFrames;
  std::uint32_t bytes = 0;  // that the adapter moves alone: of a placement, a read, a put or get
  Packet* packet = nullptr;
  Post* post = nullptr;
  Pull* pull = nullptr;
  Access* access = nullptr;
  std::uint64_t number = 0;
};

struct ConnectionLink::Peer : Timer {
  Peer(ConnectionLink& link_, Rank rank_, bool precedes)
      : Timer(on_timer),
        link(link_),
        rank(rank_),
        handshake(precedes),
        sent(link_.port_.send_depth()) {}

  // Somebody waits for operations that nobody will report: they hold packets, or the end waits for
  // them.
  bool tail_matters() const noexcept { return sent.has_tail() && (tail_holds || life.parts()); }
  bool may_post() const noexcept { return handshake.up() && !broken && !life.lost(); }
  bool has_work() const noexcept {
    return !posts.empty() || !resend.empty() || !sent.empty() || !accesses.empty() ||
           life.goodbye_due() || !readables.empty() || !answers.empty();
  }
  // Places are to be announced.
  bool wants() const noexcept { return landings != nullptr && landings->due(); }
  // Something would go out if there were credits, or must.
  bool wants_to_send() const noexcept {
    return !posts.empty() || !resend.empty() || !accesses.empty() || life.goodbye_due() ||
           wants() || !retired.empty() || readables.any_untold() || !answers.empty() ||
           credits.must_return();
  }
  // A frame may go before anything else does.
  bool clear() const noexcept {
    return may_post() && !life.parts() && !held && posts.empty() && resend.empty() &&
           retired.empty() && credits.may_send() && !sent.full();
  }
  // It has left, and there is nothing to ask it for.
  bool done_with() noexcept {
    return life.has_left() && !life.goodbye_due() && answers.empty() && owes_nothing();
  }
  // Nothing is under way to it but perhaps this side's goodbye.
  bool owes_nothing() noexcept {
    bool owes = !posts.empty() || !accesses.empty() || !readables.empty();
    const auto look = [&](const Record& record) {
      const bool frames =
          record.what == Record::What::kMessage && record.kind == MessageKind::kFrames;
      owes = owes || frames || record.post != nullptr || record.access != nullptr;
    };
    for (const Record& record : resend) look(record);
    sent.for_each(look);
    return !owes;
  }

  ConnectionLink& link;
  const Rank rank;
  ConnectionHandshake handshake;
  std::optional<ConnectionId> connection;
  CreditAccount credits;
  std::uint32_t granted = 0;  // of the receive queue

  // What every frame asks for stands together.
  net::PeerLife life;
  bool joined = false;    // the connection has the peer's end
  bool broken = false;    // ... and is good for close() only
  bool held = false;      // until release()
  bool arriving = false;  // between begin() and end()
  std::uint64_t got = 0;  // it has left, and had got the counted messages before this one
  // In the link's lists of the same name.
  bool ready = false, thirsty = false, tailed = false;
  bool troubled = false;       // in that of the broken and the lost ones
  std::uint64_t early_ns = 0;  // in EarlyFrames
  bool tail_holds = false;     // packets
  std::uint32_t rebuilds = 0;  // since a message arrived anywhere

  // Sending. Messages are numbered from 1; those below `acknowledged` are complete.
  std::uint64_t next = 1, acknowledged = 1;
  SendQueue<Record> sent;
  PostQueue posts;
  std::deque<Record> resend;     // before all posts
  std::uint64_t tail_count = 0;  // operations when the timer was set for the tail
  std::uint32_t remarks = 0;     // messages that are not counted, on this connection
  KnownHeaders told;             // on this connection
  PartSize part;
  Readables<Post> readables;  // posts that the peer may read

  // Puts and gets: see Access.
  IntrusiveList<Access> accesses, asked;
  std::uint32_t accessing = 0;  // operations of theirs, on this connection
  bool access_next = false;     // and not a frame, where both wait
  bool turned_away = false;     // by the peer's adapter: what was under way ends so

  // Receiving.
  std::uint64_t expected = 1;
  std::uint32_t remark_expected = 0;
  std::unique_ptr<Landings> landings;
  std::vector<std::uint32_t> retired;  // slots that the peer is to forget
  std::unique_ptr<Pulls> pulls;
  struct PullAnswer {
    std::uint32_t slot, how;
  };
  std::vector<PullAnswer> answers;
  Pull* reading = nullptr;  // has parts that are not posted
  std::uint64_t read_offset = 0;
  std::uint32_t reads_open = 0;
  bool read_waits = false;  // pulls that have been read wait for the end of a frame
  KnownHeaders heard;
  FrameReader reader;

  // Placing.
  struct {
    Post* post = nullptr;  // the front of its queue
    Announcement at;
    std::uint64_t offset = 0;
  } placing;
  Offers offers;

  // The making of connections.
  Fault why = Fault::kFlushed;
  std::uint64_t asked_ns = 0;    // begin of the handshake; 0: none
  std::uint64_t letter_ns = 0;   // until it is repeated
  std::uint64_t no_room_ns = 0;  // since when there is none; 0: there is
  std::uint64_t pause_ns = 0;    // until it is asked for again
  std::uint64_t probed_ns = 0;   // the last sign of life was asked for
  bool met = false;              // a connection has been up
};

// Whether operations were under way that nobody will report, before more were posted.
struct ConnectionLink::Tail {
  explicit Tail(const Peer& peer) noexcept
      : there(peer.sent.has_tail()), mattered(peer.tail_matters()) {}
  const bool there, mattered;
};

// Posts with one doorbell: each is held back until it is known whether another follows at once.
class ConnectionLink::Batch {
 public:
  Batch(ConnectionPort& port, ConnectionId on) noexcept : port_(port), on_(on) {}

  void send(const Transfer& what) noexcept {
    release(true);
    what_ = what;
    kind_ = Kind::kSend;
  }
  void send_immediate(const Transfer& what, std::uint32_t immediate) noexcept {
    send(what);
    kind_ = Kind::kSendImmediate;
    immediate_ = immediate;
  }
  // The bytes need not stay.
  void send_copy(std::span<const std::byte> bytes, Transfer what) noexcept {
    ESP_ASSERT(bytes.size() <= small_.size());
    release(true);
    std::memcpy(small_.data(), bytes.data(), bytes.size());
    what.local = small_.data();
    what.bytes = bytes.size();
    what_ = what;
    kind_ = Kind::kSend;
  }
  void write(const Transfer& what, RemoteMemory to) noexcept {
    release(true);
    what_ = what;
    to_ = to;
    kind_ = Kind::kWrite;
  }
  void read(const Transfer& what, RemoteMemory from) noexcept {
    write(what, from);
    kind_ = Kind::kRead;
  }
  void write_immediate(const Transfer& what, RemoteMemory to, std::uint32_t immediate) noexcept {
    write(what, to);
    kind_ = Kind::kWriteImmediate;
    immediate_ = immediate;
  }
  // False: the port has refused something, although its queue cannot be full.
  bool ring() noexcept {
    release(false);
    return !refused_;
  }

 private:
  enum class Kind : std::uint8_t { kNone, kSend, kSendImmediate, kWrite, kWriteImmediate, kRead };

  void release(bool more) noexcept {
    const Kind kind = std::exchange(kind_, Kind::kNone);
    if (kind == Kind::kNone || refused_) return;
    what_.more = more;
    refused_ = !post(kind);
  }
  bool post(Kind kind) noexcept {
    if (kind == Kind::kSend) return port_.send(on_, what_);
    if (kind == Kind::kSendImmediate) return port_.send_immediate(on_, what_, immediate_);
    if (kind == Kind::kRead) return port_.read(on_, what_, to_);
    return port_.write(on_, what_, to_, kind == Kind::kWriteImmediate, immediate_);
  }

  ConnectionPort& port_;
  const ConnectionId on_;
  Kind kind_ = Kind::kNone;
  bool refused_ = false;
  Transfer what_;
  RemoteMemory to_;
  std::uint32_t immediate_ = 0;
  std::array<std::byte, MessageHead::kBytes + Announcement::kMax * Announcement::kBytes> small_;
};

}  // namespace espalier::rdma
