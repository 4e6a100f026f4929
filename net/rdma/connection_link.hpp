// ConnectionLink: a Link (net/link.hpp) over reliable connections, without any verbs call.
//
//   made on first use        handshake.hpp, over letters (postman.hpp)
//   never flooded            credit_account.hpp: receivers always have a packet for what comes
//   few completions          send_queue.hpp; few doorbells: posts go out in batches
//   small frames             share packets (frame_stream.hpp), inline where they fit
//   frames that go alone     leave out a header that their receiver can tell (known_headers.hpp)
//   large frames             copied through packets; or, if their receiver has announced where they
//                            go (announce(), landings.hpp), written there by the adapter, out of
//                            registered memory or through packets; or read by their receiver out
//                            of registered memory, when it has a place for them (pulls.hpp)
//   puts and gets            are writes and reads of the adapter (connection_link_access.cpp)
//   broken connections       are made again; what had not arrived is sent again, once
//   lost peers               a refused access, nonsense, a first connection for which somebody has
//                            no room, a broken one for which there is none for long, one that
//                            breaks again and again without carrying anything, or that the adapter
//                            cannot connect however often it is tried. Not those that do
//                            not answer: who carries the letters knows whether a peer lives
//                            (datagram_link.hpp), and calls lose()
//
// Why nothing is lost or doubled: messages are counted by both sides. An adapter's completion means
// that the message is in the peer's memory, so it is kept until then. Before a side says how many
// it has got, its end of the old connection has been stopped and emptied: nothing that it has not
// counted can be complete at the other side. The other side sends again from that number.
//
// A peer that is silent is asked for a sign of life (an empty write) every keepalive_ns.
//
// Ownership: borrows port, postman and clock. Memory of announce() and of pending posts: see
// net/link.hpp. Threads: the owner of the worker. path: data
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "core/timer_queue.hpp"
#include "net/early_frames.hpp"
#include "net/frame.hpp"
#include "net/link.hpp"
#include "net/rdma/away_regions.hpp"
#include "net/rdma/connection_handshake.hpp"
#include "net/rdma/connection_message.hpp"
#include "net/rdma/connection_port.hpp"
#include "net/rdma/direct_memory.hpp"
#include "net/rdma/postman.hpp"
#include "net/rdma/send_packets.hpp"

namespace espalier::rdma {

struct Landing;
struct Pull;

struct ConnectionOptions {
  std::uint32_t window = 32;         // messages under way per peer and direction, up to 127
  std::uint32_t send_packets = 512;  // of packet_bytes() each
  std::uint32_t posts_max = 1024;    // frames that wait, per peer
  std::uint64_t payload_max = net::kSegmentBytesMax;
  std::uint64_t place_from_bytes = 16 << 10;  // smaller frames are not worth an announcement
  DirectMemoryOptions memory;
  // Registered ones from here on that nobody has announced a place for are read by their receiver.
  std::uint64_t pull_from_bytes = 256 << 10;
  std::uint64_t letter_ns = 2'000'000;  // first repetition; doubles up to 256 times that
  // A handshake takes so long at most. No constant would do: where datagrams carry the letters it
  // is they that find out who is dead, and a rank that only computes answers nothing; a link on its
  // own (tests, the swarm) has nobody else to find out.
  std::uint64_t answer_ns = kNever;
  // So long a broken connection is asked for again where one side has no queue pair left for it.
  std::uint64_t no_room_ns = 120'000'000'000;
  std::uint64_t tail_ns = 500'000;  // until unsignaled operations are asked for
  std::uint64_t keepalive_ns = 1'000'000'000;
  std::uint32_t poll_budget = 64;   // arrivals and completions per progress()
  std::uint32_t rebuilds_max = 16;  // in a row, without a message between them
  Counters* counters = nullptr;     // of the job, for people: what has a counter there is in both
};

struct ConnectionStatistics {
  std::uint64_t connections = 0;  // made, rebuilt ones included
  std::uint64_t rebuilds = 0;
  std::uint64_t open = 0, open_max = 0;  // ends, queue pairs: now, and most at a time
  std::uint64_t no_room = 0;             // connections that one side had none for
  std::uint64_t not_ready = 0;           // that broke because a receiver had no packet posted
  std::uint64_t letters = 0, bad_letters = 0;
  std::uint64_t messages = 0, frames = 0, credit_messages = 0, probes = 0;
  std::uint64_t headless = 0;  // messages that were a frame without its header
  std::uint64_t signals = 0;   // operations that asked for a completion
  std::uint64_t announced = 0, retired = 0;
  std::uint64_t placed = 0;                              // frames written by the adapter
  std::uint64_t offered = 0, pulled = 0;                 // told of frames to read; frames read
  std::uint64_t copied_bytes = 0, copied_out_bytes = 0;  // of payloads, into packets, out of them
  std::uint64_t repeated = 0;                            // messages and placements sent again
  std::uint64_t puts = 0, gets = 0;                      // by the adapter, complete
  std::uint64_t puts_taken = 0;                          // of the peers, here
  std::uint64_t turned_away = 0;   // puts and gets that the peer's adapter did not allow
  std::uint64_t out_of_order = 0;  // arrivals twice, or behind a gap
};

class ConnectionLink final : public net::Link, private ConnectionSink, private LetterBox {
 public:
  // Numbers in immediates have 8 bits, and say who is early and who is late.
  static constexpr std::uint32_t kWindowMax = 127;
  // The least that a port's packets may have.
  static constexpr std::uint32_t kPacketMin = 256;

  // All that may fail: whether the port is large enough, and the memory that messages leave from.
  static Result<std::unique_ptr<SendPackets>> prepare(ConnectionPort& port,
                                                      const ConnectionOptions& options = {});
  // `packets`: of prepare() with these options; nullptr: they are made here.
  static Result<std::unique_ptr<ConnectionLink>> create(
      ConnectionPort& port, Postman& postman, Clock& clock, Rank rank, std::uint32_t ranks,
      const ConnectionOptions& options = {}, std::unique_ptr<SendPackets> packets = nullptr);
  ~ConnectionLink() override;
  ConnectionLink(const ConnectionLink&) = delete;
  ConnectionLink& operator=(const ConnectionLink&) = delete;

  net::LinkCaps caps(Rank peer) const noexcept override;
  Posted post(Rank rank, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override;
  bool announce(Rank rank, const net::FrameHeader& expected, std::byte* memory) noexcept override;
  void retract(Rank rank, const net::FrameHeader& expected) noexcept override;
  net::RemoteMemory expose(const std::byte* memory, std::uint64_t bytes) noexcept override;
  void conceal(const std::byte* memory) noexcept override;
  bool put(Rank rank, const std::byte* from, std::uint64_t bytes, net::RemoteMemory to,
           Completion& completion) noexcept override;
  bool get(Rank rank, std::byte* to, std::uint64_t bytes, net::RemoteMemory from,
           Completion& completion) noexcept override;
  void set_away(AwayMemory* away) noexcept override;
  bool takes_away() const noexcept override { return away_sources_.usable(); }
  std::string why_not_away() const override { return away_sources_.why(); }
  net::RemoteMemory hold_away(const std::byte* memory, std::uint64_t bytes,
                              net::AwayUse use) noexcept override;
  void drop_away(const std::byte* memory, net::AwayUse use) noexcept override;
  // As hold_away() to be written, for other queues of its adapter.
  const Region* hold_place(const std::byte* memory, std::uint64_t bytes) noexcept {
    return away_places_.hold(memory, bytes);
  }
  void revoke_away(const std::byte* memory) noexcept override;
  void withdraw(Rank rank, Completion& completion) noexcept override;
  void redirect(Rank from, std::byte* payload) noexcept override;
  void reach(Rank rank) noexcept override;
  void lose(Rank rank, Error why) noexcept override;
  int progress(net::FrameSink& sink) noexcept override;
  bool flush() noexcept override;
  int descriptor() const noexcept override { return port_.descriptor(); }
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;
  void say_goodbye(Rank rank) noexcept override;
  void say_goodbye_to_all() noexcept override;
  bool drained() const noexcept override;
  bool has_left(Rank rank) const noexcept override;
  std::string describe(Rank rank) const override;

  // The connection carries what is posted.
  bool up(Rank rank) const noexcept;
  // There is none and never was: one of the two had no queue pair left when it was asked for.
  bool turned_down(Rank rank) const noexcept;
  // Frames to a peer that is up wait from here to release(), because others went before them
  // elsewhere.
  void hold(Rank rank) noexcept;
  void release(Rank rank) noexcept;

  // A frame of this peer begins that did not come through this link: its announcement ends.
  void came_otherwise(Rank from, const net::FrameHeader& header) noexcept;

  // Memory that stays registered until remove(); see registered_memory.hpp.
  DirectMemory& memory() noexcept { return memory_; }
  const RegistrationCache* cache() const noexcept { return memory_.cache(); }
  std::uint64_t looked_ns() const noexcept { return looked_ns_; }  // the last progress()
  const ConnectionStatistics& statistics() const noexcept { return statistics_; }
  // Of user memory, for one operation or for the cache.
  std::uint64_t registrations() const noexcept { return memory_.made(); }

 private:
  struct Post;
  struct Access;
  struct Record;
  struct PostQueue;
  struct Peer;
  struct Tail;
  class Batch;
  class Intake;
  friend class Intake;

  ConnectionLink(ConnectionPort& port, Postman& postman, Clock& clock, Rank rank,
                 std::uint32_t ranks, const ConnectionOptions& options,
                 std::unique_ptr<SendPackets> packets);
  Peer& peer(Rank rank);
  Peer* known(Rank rank) const noexcept { return peers_.find(rank); }
  Peer* on(ConnectionId connection) const noexcept;
  bool barred(Rank rank) const noexcept { return !barred_.empty() && barred_.contains(rank); }
  void bar(Rank rank, const Status& why) noexcept;
  Error adapter_failed(Rank rank) const;

  // Sending (connection_link_send.cpp).
  Post* make_post(const net::FrameHeader& header, const void* payload) noexcept;
  void finish(Post& post, Status status) noexcept;
  void pump_soon(Peer& peer) noexcept;
  void mark(Peer& peer) noexcept;
  bool may_pump() const noexcept { return !ready_.empty() || !thirsty_.empty() || starved_; }
  void pump_ready() noexcept;
  void pump(Peer& peer) noexcept;
  void ring(Peer& peer, Batch& batch, const Tail& before) noexcept;
  bool send_now(Peer& peer, const net::FrameHeader& header, const void* payload) noexcept;
  void tell(Peer& peer, Batch& batch) noexcept;
  void announce_wanted(Peer& peer, Batch& batch) noexcept;
  bool advance(Peer& peer, Batch& batch) noexcept;
  bool pack(Peer& peer, PostQueue& queue, bool alone, Batch& batch) noexcept;
  bool repeat(Peer& peer, Batch& batch) noexcept;
  bool place(Peer& peer, Batch& batch) noexcept;
  void begin_placing(Peer& peer, Post& post) noexcept;
  void send_message(Peer& peer, Packet& packet, MessageKind kind, Batch& batch) noexcept;
  void send_frame(Peer& peer, Packet& packet, const net::FrameHeader& header,
                  Batch& batch) noexcept;
  void send_counted(Peer& peer, Packet& packet, MessageHead head, Batch& batch) noexcept;
  void tell(Counter Counters::*which, std::uint64_t more = 1) noexcept {
    if (options_.counters != nullptr) options_.counters->*which += more;
  }
  void copied_in(std::uint64_t bytes) noexcept {
    statistics_.copied_bytes += bytes;
    tell(&Counters::packet_bytes, bytes);
  }
  void copied_out(std::uint64_t bytes) noexcept {
    statistics_.copied_out_bytes += bytes;
    tell(&Counters::packet_bytes, bytes);
  }
  std::uint64_t count(Peer& peer, Packet& packet, MessageKind kind, Transfer& what) noexcept;
  void set_bytes(Transfer& what, const Packet& packet, std::size_t begin) const noexcept;
  void send_small(Peer& peer, std::span<std::byte> message, MessageKind kind,
                  Batch& batch) noexcept;
  void track(Peer& peer, const Record& record, bool force, Transfer& what) noexcept;
  void probe(Peer& peer) noexcept;
  Packet* take_packet(Peer& peer) noexcept;
  void complete(Peer& peer, Record& record) noexcept;

  // Frames that are read (connection_link_pull.cpp).
  bool may_be_pulled(const Peer& peer, const Post& post) const noexcept;
  bool offer_reading(Peer& peer, Batch& batch) noexcept;
  void tell_readables(Peer& peer, Batch& batch) noexcept;
  void recall_readables(Peer& peer) noexcept;
  void take_answer(Peer& peer, std::span<const std::byte> body) noexcept;
  void take_readable(Peer& peer, std::span<const std::byte> body) noexcept;
  void meet(Peer& peer, const net::FrameHeader& expected, Landing* landing) noexcept;
  void consider(Peer& peer, Pull& pull) noexcept;
  void land(Peer& peer, Pull& pull, Landing& landing) noexcept;
  void answer_pull(Peer& peer, Pull& pull, std::uint32_t how) noexcept;
  void send_answers(Peer& peer, Batch& batch) noexcept;
  void read_wanted(Peer& peer, Batch& batch) noexcept;
  void has_been_read(Peer& peer, Pull& pull) noexcept;
  void deliver_read(Peer& peer) noexcept;
  bool retract_pull(Peer& peer, Landing& landing) noexcept;
  void forget_reads(Peer& peer) noexcept;

  // Puts and gets (connection_link_access.cpp).
  bool begin(Rank rank, bool gets, net::RemoteMemory remote, std::byte* local, std::uint64_t bytes,
             Completion& completion) noexcept;
  bool load(Peer& peer, const Access& access, Record& record, Transfer& what) noexcept;
  bool reach_over(Peer& peer, Batch& batch) noexcept;
  void complete_access(Record& record) noexcept;
  void drop_access(Record& record) noexcept;
  AwayRegions& away(net::AwayUse use) noexcept {
    return use == net::AwayUse::kRead ? away_sources_ : away_places_;
  }
  void finish(Access& access, Status status) noexcept;
  void release(Access& access) noexcept;
  bool withdraw_access(Peer& peer, Completion& completion) noexcept;
  bool allows_renewal(Peer& peer) noexcept;
  void rewind_accesses(Peer& peer) noexcept;
  void abandon_accesses(Peer& peer, Status status) noexcept;

  // Receiving (connection_link_receive.cpp).
  void received(ConnectionId from, Packet& packet) noexcept override;
  void received_immediate(ConnectionId from, Packet& packet,
                          std::uint32_t immediate) noexcept override;
  void placed(ConnectionId from, std::uint32_t immediate, std::uint32_t bytes) noexcept override;
  void completed(ConnectionId on, std::uint64_t cookie) noexcept override;
  void broken(ConnectionId which, Fault why) noexcept override;
  void failed(ConnectionId on, std::uint64_t cookie, Fault why) noexcept override;
  void take(Peer& peer, std::span<const std::byte> message) noexcept;
  void take_headless(Peer& peer, const Headless& what, std::span<const std::byte> payload) noexcept;
  void take_frames(Peer& peer, std::span<const std::byte> frames, std::uint32_t keep) noexcept;
  void take_goodbye(Peer& peer, std::span<const std::byte> body) noexcept;
  void take_offers(Peer& peer, std::span<const std::byte> body) noexcept;
  void take_retirement(Peer& peer, std::span<const std::byte> body) noexcept;
  void deliver(Peer& peer, const net::FrameHeader& header, const std::byte* stands) noexcept;
  bool in_order(Peer& peer, int ahead) noexcept;
  std::uint64_t most_bytes(net::FrameKind kind) const noexcept;  // of a payload
  bool heard(Peer& peer, std::uint32_t credits) noexcept;
  void frame_begun(Peer& peer, const net::FrameHeader& header) noexcept;
  void close_landing(Peer& peer, Landing& landing) noexcept;
  Landing* open_landing(Peer& peer, const net::FrameHeader& expected, std::byte* memory) noexcept;
  void violation(Peer& peer, std::string what) noexcept;

  // Connections (connection_link_connect.cpp).
  void letter(Rank from, std::span<const std::byte> bytes) noexcept override;
  int handle_letters() noexcept;
  void handle(Peer& peer, const Letter& letter) noexcept;
  void answer(Peer& peer, const Letter& request) noexcept;
  void connect(Peer& peer, const Letter& reply) noexcept;
  bool join(Peer& peer, const Letter& letter) noexcept;
  void not_joined(Peer& peer, const Error& why) noexcept;
  void ask_later(Peer& peer, std::uint64_t pause_ns) noexcept;
  void go(Peer& peer) noexcept;
  void ask(Peer& peer) noexcept;
  void speak_again(Peer& peer) noexcept;
  void repeat_letter(Peer& peer) noexcept;
  void no_room(Peer& peer, const char* whose) noexcept;
  bool make_end(Peer& peer) noexcept;
  void write(Peer& peer, LetterKind kind) noexcept;
  void stop(Peer& peer) noexcept;
  void close(Peer& peer) noexcept;
  bool settle(Peer& peer, std::uint64_t expected) noexcept;
  void drain() noexcept;
  int handle_troubles() noexcept;
  void trouble(Peer& peer) noexcept;
  void complete_got(Peer& peer) noexcept;
  void renew(Peer& peer) noexcept;
  void give_up(Peer& peer) noexcept;
  void abandon(Peer& peer, Status status) noexcept;
  void wake_at(Peer& peer, std::uint64_t time_ns) noexcept;
  void watch_tail(Peer& peer, std::uint64_t now_ns) noexcept;
  static void on_timer(Timer& timer, std::uint64_t now_ns) noexcept;
  int tell_barred() noexcept;
  int fire() noexcept;

  struct PendingLetter {
    Rank from;
    Letter letter;
  };

  ConnectionPort& port_;
  Postman& postman_;
  Clock& clock_;
  const Rank rank_;
  const ConnectionOptions options_;
  std::unique_ptr<SendPackets> packets_;
  const std::uint32_t inline_bytes_;  // the port's
  DirectMemory memory_;
  // Of devices: what peers read can be revoked, which what this rank reads into must survive.
  AwayRegions away_sources_, away_places_;
  Pool<Post> posts_;
  Pool<Access> accesses_;
  TimerQueue timers_;
  const std::uint32_t ranks_;
  PeerTable<Peer> peers_;
  std::vector<Peer*> ready_, pumping_;  // with something to do, as far as known
  std::vector<Peer*> thirsty_;          // ... for which there was no packet
  std::vector<Peer*> tailed_;           // with operations that nobody will report
  net::EarlyFrames<Peer> early_;
  std::vector<Peer*> by_connection_;  // by id
  std::unordered_set<Rank> barred_;   // lost before anything was said or heard
  std::vector<Status> barred_news_;   // the sink is to be told
  std::vector<PendingLetter> letters_;
  std::vector<Peer*> troubled_;
  std::vector<std::pair<Completion*, Status>> finished_;
  net::FrameSink* sink_ = nullptr;  // inside progress()
  Post* posting_ = nullptr;         // inside post(): not finished yet
  std::uint64_t looked_ns_ = 0;
  std::uint32_t receive_depth_;  // the port's, as far as known
  std::int64_t unpromised_;      // packets of it that no window covers
  bool starved_ = false;         // a packet was wanted and there was none
  bool failed_ = false;          // the adapter has, for good
  bool concealed_ = false;       // memory that peers knew
  ConnectionStatistics statistics_;
};

}  // namespace espalier::rdma
