// DatagramLink: frames to many peers over datagrams (net/rdma/datagram_port.hpp), reliably: packets
// are numbered, acknowledged, sent again, put in order, and held back when the peer or the network
// has no room. docs/reliable-datagrams.md has the rules and the memory they take.
//
// A peer that says nothing for give_up_ns although it was asked several times is lost
// (ESP_ERR_PEER_DIED): by the sender of what is not acknowledged, and by everybody who has
// exchanged a packet with it, through probes when it is silent. Acknowledgements are software's: a
// peer that computes and calls nothing of the library says nothing, so give_up_ns bounds for how
// long it may. One that has said goodbye may go: it is lost only to whoever posts to it or waits
// for it (reach()) after that. One that the port finds no path to, because a call fails, is looked
// for again for as long.
//
// Letters (net/rdma/postman.hpp) travel beside the frames, once and unnumbered.
//
// Work per progress() is in proportion to what has arrived, is due, or is to be sent, not to the
// number of peers; nothing is allocated but at the first contact with a peer, when pools grow, and
// in withdraw(). Memory: 8 bytes per rank, a DatagramPeer per peer ever spoken to.
//
// Ownership: borrows port, clock and book; all outlive it. Threads: the owner of the worker.
// path: data
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "core/timer_queue.hpp"
#include "net/frame.hpp"
#include "net/link.hpp"
#include "net/rdma/datagram_peer.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/rdma/packet_budget.hpp"
#include "net/rdma/postman.hpp"

namespace espalier::rdma {

// Where the ranks of the job are reached.
class AddressBook {
 public:
  virtual Result<PortAddress> address_of(Rank rank) const = 0;
  // As far as its card says.
  virtual bool has_connections(Rank rank) const {
    (void)rank;
    return true;
  }

 protected:
  ~AddressBook() = default;
};

struct DatagramLinkOptions {
  Identity me;
  RoundTripLimits round_trip;
  std::uint64_t answer_delay_ns = 50'000;             // an acknowledgement waits for company
  std::uint64_t keepalive_ns = 10'000'000'000;        // of silence, before a peer is asked
  std::uint64_t give_up_ns = 120'000'000'000;         // of silence, after it was asked
  std::uint64_t payload_max = net::kSegmentBytesMax;  // of a frame
  std::uint32_t posts_max = 4096;                     // frames that wait for room
  Sequence first;                                     // of every stream; equal on all ranks
  Counters* counters = nullptr;                       // of the job, for people: packet_bytes
};

struct DatagramLinkCounts {
  std::uint64_t packets_sent = 0, packets_received = 0;
  std::uint64_t data_sent = 0, data_again = 0;           // first transmissions, repetitions
  std::uint64_t answers_sent = 0;                        // acknowledgements that travelled alone
  std::uint64_t copied_bytes = 0, copied_out_bytes = 0;  // of frames, into packets, out of them
  std::uint64_t probes_sent = 0, time_outs = 0;
  std::uint64_t no_path = 0;            // times that there was none to a peer
  std::uint64_t forbidden = 0;          // arrivals without permission: nobody sends them
  std::uint64_t held = 0, useless = 0;  // arrivals before their turn; again or too far ahead
  std::array<std::uint64_t, kRefusedCount> refused = {};  // by Refused
};

class DatagramLink final : public net::Link, public Postman, private DatagramSink {
 public:
  DatagramLink(DatagramPort& port, Clock& clock, const AddressBook& book,
               const DatagramLinkOptions& options);
  ~DatagramLink();
  DatagramLink(const DatagramLink&) = delete;
  DatagramLink& operator=(const DatagramLink&) = delete;

  net::LinkCaps caps(Rank peer) const noexcept override;
  Posted post(Rank rank, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override;
  void withdraw(Rank rank, Completion& completion) noexcept override;
  void redirect(Rank from, std::byte* payload) noexcept override;
  void reach(Rank rank) noexcept override;
  void lose(Rank rank, Error why) noexcept override;
  int progress(net::FrameSink& sink) noexcept override {
    return progress_at(clock_.now_ns(), sink);
  }
  // The same for who has just looked at the clock.
  int progress_at(std::uint64_t now_ns, net::FrameSink& sink) noexcept;
  bool flush() noexcept override {
    if (untried_ && sink_ == nullptr) send_ready();
    return true;  // The first packet to a peer carries frames already.
  }
  int descriptor() const noexcept override { return port_.descriptor(); }
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;
  const AddressBook& book() const noexcept { return book_; }
  void say_goodbye(Rank rank) noexcept override;
  void say_goodbye_to_all() noexcept override;
  bool drained() const noexcept override;
  bool has_left(Rank rank) const noexcept override {
    const DatagramPeer* to = known(rank);
    return to != nullptr && to->life.has_left();
  }
  std::string describe(Rank rank) const override;

  void post(Rank to, std::span<const std::byte> letter) noexcept override;
  void deliver_to(LetterBox* box) noexcept override { box_ = box; }

  const DatagramLinkCounts& counts() const noexcept { return counts_; }
  std::uint64_t looked_ns() const noexcept { return now_ns_; }  // the last progress()
  // nullptr: nothing was said or heard yet.
  const DatagramPeer* find(Rank peer) const noexcept { return known(peer); }
  // Every frame that was posted to this peer has come there.
  bool delivered(Rank peer) const noexcept {
    const DatagramPeer* to = known(peer);
    return to == nullptr || (!to->has_posts() && to->send.idle());
  }
  // Of the receive packets, how many the peers may fill.
  std::uint32_t promised() const noexcept { return budget_.promised(); }

 private:
  using Peer = DatagramPeer;
  friend struct DatagramPeer::Alarm;
  static constexpr int kPollBudget = 64;
  static constexpr std::size_t kSpares = 4;

  void copied(std::uint64_t& of, std::uint64_t bytes) noexcept {
    of += bytes;
    if (options_.counters != nullptr) options_.counters->packet_bytes += bytes;
  }
  std::uint64_t now() noexcept { return sink_ != nullptr ? now_ns_ : clock_.now_ns(); }
  Peer* known(Rank rank) const noexcept { return peers_.find(rank); }
  Peer& peer_of(Rank rank) noexcept;
  Peer& add(Rank rank) noexcept;
  void open(Peer& peer) noexcept;
  void find_path(Peer& peer) noexcept;
  Result<PathId> path_to(Peer& peer) noexcept;
  void make_ready(Peer& peer) noexcept;
  void set_alarm(Peer& peer) noexcept;
  void on_alarm(Peer& peer, std::uint64_t now_ns) noexcept;
  void run_answers() noexcept;
  std::uint64_t patience_ns(const Peer& peer) const noexcept;
  void ask_whether_alive(Peer& peer, std::uint64_t now_ns) noexcept;

  // Sending (datagram_link_send.cpp). False: the port has no room; the peer stays ready.
  void send_ready() noexcept;
  bool send_all(Peer& peer) noexcept;
  bool send_lost(Peer& peer) noexcept;
  bool send_frames(Peer& peer) noexcept;
  bool begin_packet(Peer& peer) noexcept;
  bool fill(Peer& peer) noexcept;
  bool pack_now(Peer& peer, const net::FrameHeader& header, const void* payload) noexcept;
  void send_unless_in_company(Peer& peer) noexcept;
  bool send_goodbye(Peer& peer) noexcept;
  bool send_answer(Peer& peer) noexcept;
  bool send_bare(Peer& peer, std::uint8_t flags, std::span<const std::byte> payload) noexcept;
  bool launch(Peer& peer, Packet& packet, std::uint8_t flags, Sequence sequence,
              std::uint64_t now_ns) noexcept;
  bool send_filling(Peer& peer) noexcept;
  bool send_new(Peer& peer, Packet& packet, std::uint8_t flags) noexcept;
  Packet* idle_spare() noexcept;
  void finish(FramePost& post) noexcept;

  // Receiving (datagram_link_receive.cpp).
  void arrived(Packet& packet) noexcept override;
  void take_data(Peer& peer, const PacketHeader& header, Packet& packet) noexcept;
  void hand_on(Peer& peer, Packet& packet) noexcept;
  void take_acknowledgement(Peer& peer, const Acknowledgement& ack) noexcept;
  void release(Flight* done) noexcept;

  // Ends (datagram_link_end.cpp).
  void refuse(Peer& peer) noexcept;
  void give_up_silent(Peer& peer) noexcept;
  void give_up(Peer& peer, Error why) noexcept;
  void give_up_all() noexcept;
  Error adapter_failed() const;
  void miss(Peer& peer) noexcept;
  void bury(net::FrameSink& sink) noexcept;
  void drop_contents(Peer& peer) noexcept;
  void run_completions() noexcept;

  DatagramPort& port_;
  Clock& clock_;
  const AddressBook& book_;
  const DatagramLinkOptions options_;
  const Identity me_;
  const std::uint32_t packet_bytes_;  // the port's
  LetterBox* box_ = nullptr;
  net::FrameSink* sink_ = nullptr;  // inside progress()
  std::uint64_t now_ns_ = 0;        // when it began
  TimerQueue timers_;
  PacketBudget budget_;
  Pool<Flight> flights_;
  Pool<FramePost> posts_;
  PeerTable<Peer> peers_;
  IntrusiveList<Peer> ready_;                 // have something to send
  IntrusiveList<Peer> dying_;                 // the sink is to be told
  IntrusiveList<Peer::Answer> answers_;       // wait for company, the first due first
  std::array<Packet*, kSpares> spares_ = {};  // for acknowledgements, when there are no others
  Completion* complete_ = nullptr;            // posts whose bytes are in packets
  Completion* last_complete_ = nullptr;
  std::vector<Rank> parted_;  // goodbye to these, if we should ever meet
  bool parts_ = false;        // ... to everybody
  bool untried_ = false;      // of the ready ones, since the last send_ready()
  int events_ = 0;            // of this progress()
  Status port_fault_;
  DatagramLinkCounts counts_;
};

}  // namespace espalier::rdma
