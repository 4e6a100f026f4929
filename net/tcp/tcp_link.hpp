// TcpLink: frames over TCP, for any two Linux machines.
//
// One non-blocking socket per peer in use, one epoll descriptor for all. A connection is made at
// the first post or reach(), or when the peer makes it; of two made at once one survives
// (net/tcp/handshake.hpp) and frames are written to no other. A connection is never made again:
// when it breaks its peer is lost. Until a peer has proven that it belongs to the job its bytes are
// read only as far as the handshake goes.
//
// System calls: the first post of a round to a peer with an empty queue writes at once; those after
// it are gathered until flush() or progress(), which begin a new round, and those of callbacks
// until the end of progress(); see net/tcp/frame_stream.hpp. A look asks epoll and reads; a peer
// that alone has been heard of late is read without asking, three looks of four. While nobody is
// heard but peers that send small frames and are sent none, looks keep a distance of stream_look_ns
// (net/tcp/look_pace.hpp), and progress() may find nothing where something is.
//
// Silence. While nothing is under way the kernel probes the peer's machine (keepalive). While
// something is, this link looks a few times per silence_ns whether the kernel has sent it again
// without any answer; a machine that does not answer for silence_ns is given up within 1.5 times
// that. A rank that computes and does not read is not silent: its machine answers. Nothing here
// needs a rank to call progress() in time, the peer's or this one's.
//
// Ownership: borrows clock and counters. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/log.hpp"
#include "core/peer_table.hpp"
#include "core/pool.hpp"
#include "net/early_frames.hpp"
#include "net/link.hpp"
#include "net/tcp/address.hpp"
#include "net/tcp/frame_stream.hpp"
#include "net/tcp/handshake.hpp"
#include "net/tcp/interfaces.hpp"
#include "net/tcp/look_pace.hpp"
#include "net/tcp/socket.hpp"

namespace espalier::net {

struct TcpOptions {
  Rank rank = 0;
  int job_size = 1;
  std::string interface;                                  // as choose_interfaces()
  std::string interface_setting = "TCP_INTERFACE";        // its name, for people
  std::uint64_t connect_ns = 10 * kNanosecondsPerSecond;  // for one address to answer at all
  std::uint64_t silence_ns = 20 * kNanosecondsPerSecond;  // of a machine, until it is given up
  std::uint64_t stranger_ns = 3 * kNanosecondsPerSecond;  // for the next message of a handshake
  std::uint64_t stream_look_ns = 4'000;  // between looks at a stream; 0: no distance
};

// Where the ranks of the job listen.
class TcpContacts {
 public:
  // Without addresses: it is not known.
  virtual TcpContact contact_of(Rank rank) const = 0;

 protected:
  ~TcpContacts() = default;
};

class TcpLink final : public Link {
 public:
  // Most connections that have not proven anything yet; more wait in the kernel's queue.
  static constexpr std::size_t kStrangersMax = 64;

  // Listens. The contact goes to the other ranks; theirs come by set_contact().
  static Result<std::unique_ptr<TcpLink>> create(const TcpOptions& options, Clock& clock,
                                                 Counters& counters, const Log& log);
  ~TcpLink() override;

  const TcpContact& contact() const noexcept { return contact_; }
  // Before the first post to this peer.
  void set_contact(Rank rank, TcpContact contact);
  // Who is asked for the contact of a peer that is met and has none set; outlives the link.
  void ask_for_contacts(const TcpContacts& contacts) noexcept { contacts_ = &contacts; }

  LinkCaps caps(Rank rank) const noexcept override;
  Posted post(Rank rank, const FrameHeader& header, const void* payload,
              Completion& completion) noexcept override;
  void withdraw(Rank rank, Completion& completion) noexcept override;
  void redirect(Rank from, std::byte* payload) noexcept override;
  void reach(Rank rank) noexcept override;
  void lose(Rank rank, Error why) noexcept override;
  int progress(FrameSink& sink) noexcept override;
  bool flush() noexcept override;
  int descriptor() const noexcept override { return epoll_.fd(); }
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override {
    const std::uint64_t look_ns = pace_.next_ns() == 0 ? kNever : pace_.next_ns();
    const std::uint64_t next_ns = std::min(next_deadline_ns_, look_ns);
    return next_ns == kNever ? 0 : next_ns;
  }
  void say_goodbye(Rank rank) noexcept override;
  void say_goodbye_to_all() noexcept override;
  bool drained() const noexcept override;
  bool has_left(Rank rank) const noexcept override;
  std::string describe(Rank rank) const override;
  // "10.1.2.3:4711 (eth0), ...": for people.
  std::string listeners_text() const;
  std::string interface() const;  // of the best listener; empty: there is none
  const std::vector<Interface>& interfaces() const noexcept { return interfaces_; }  // of all

  // For tests: the socket of a live connection, -1: there is none.
  int socket_of(Rank rank) const noexcept;
  std::size_t strangers() const noexcept { return strangers_; }

 private:
  struct Peer;
  struct Meeting;  // a connection whose other end has not proven anything yet
  enum class Watch : std::uint32_t { kListener, kMeeting, kPeer };

  TcpLink(const TcpOptions& options, Clock& clock, Counters& counters, const Log& log);
  Outcome open();
  Outcome listen(const std::vector<Interface>& chosen);
  Peer& peer(Rank rank) noexcept;
  void prefer_own_networks(TcpContact& contact) const;
  const Peer* find(Rank rank) const noexcept { return peers_.find(rank); }
  void watch(int operation, int fd, std::uint32_t events, Watch kind, std::size_t index) noexcept;

  // tcp_link.cpp
  void close(Descriptor& socket) noexcept;
  void note_dirty(Peer& peer) noexcept;
  void write(Peer& peer) noexcept;
  void read(Peer& peer, FrameSink& sink, int& events) noexcept;
  void ended(Peer& peer) noexcept;
  void broke(Peer& peer, const Error& failure) noexcept;
  void wish_goodbye(Peer& peer) noexcept;
  void update_watch(Peer& peer) noexcept;
  void fail(Peer& peer, Error why, bool owes_nothing = false) noexcept;
  bool guess(FrameSink& sink, int& events) noexcept;
  bool keeps_distance() noexcept;
  void hear(Peer& peer, FrameSink& sink, int& events) noexcept;
  int handle_events(FrameSink& sink) noexcept;
  int tell(FrameSink& sink) noexcept;

  // tcp_link_connect.cpp: making connections, deadlines
  void connect(Peer& peer) noexcept;
  void connect_next(Peer& peer) noexcept;
  void retry_later(Peer& peer, std::uint64_t now_ns) noexcept;
  void attempt_failed(Peer& peer, const std::string& why) noexcept;
  void attempt_silent(Peer& peer) noexcept;
  void drop_attempt(Peer& peer) noexcept;
  void stay_apart(Peer& peer) noexcept;
  void adopt(Meeting& meeting) noexcept;
  void accept(std::size_t listener) noexcept;
  void pause_accepting(std::uint64_t for_ns) noexcept;
  void resume_accepting() noexcept;
  void meet(Descriptor socket, Handshake handshake, Rank rank, const TcpAddress& address,
            std::uint64_t deadline_ns) noexcept;
  void step(Meeting& meeting) noexcept;
  bool step_connect(Meeting& meeting) noexcept;
  void step_message(Meeting& meeting) noexcept;
  void proven(Meeting& meeting) noexcept;
  bool send_reply(Meeting& meeting) noexcept;
  void meeting_broke(Meeting& meeting, const std::string& why) noexcept;
  void refuse(Meeting& meeting, const std::string& why) noexcept;
  void end_meeting(Meeting& meeting) noexcept;
  void set_deadline(std::uint64_t deadline_ns) noexcept;
  void run_deadlines(std::uint64_t now_ns) noexcept;
  void check_silence(Peer& peer, std::uint64_t now_ns) noexcept;
  Nonce draw_nonce() noexcept;
  std::size_t meetings_under_way() const noexcept {
    return meetings_.size() - free_meetings_.size() - freed_meetings_.size();
  }

  const TcpOptions options_;
  Clock& clock_;
  Counters& counters_;
  const Log log_;
  TcpContact contact_;
  Descriptor epoll_;
  std::vector<Descriptor> listeners_;
  std::vector<Interface> interfaces_;  // of the listeners
  Pool<OutFrame> frames_;
  PeerTable<Peer> peers_;
  const TcpContacts* contacts_ = nullptr;
  bool parts_ = false;            // goodbye to whoever is met
  std::vector<Peer*> dirty_;      // with frames to write and room, as far as known
  std::vector<Peer*> writing_;    // dirty ones, during progress()
  std::vector<Peer*> unsettled_;  // live or being connected
  EarlyFrames<Peer> early_;       // wait for a connection
  std::vector<std::unique_ptr<Meeting>> meetings_;
  std::vector<std::size_t> free_meetings_, freed_meetings_;  // slots; freed since progress() began
  std::size_t strangers_ = 0;                                // meetings that others began
  std::vector<Peer*> news_;                                  // lost, the sink may not know yet
  std::vector<Finished> finished_;
  std::unique_ptr<std::byte[]> staging_;
  std::uint64_t round_ = 1;  // between calls of flush() and progress()
  bool in_progress_ = false;
  std::uint32_t unlooked_ = 0;  // rounds without a look at the sockets
  Peer* heard_ = nullptr;       // by the last look at all that heard somebody
  std::uint32_t heard_times_ = 0, guesses_ = 0;
  LookPace pace_{options_.stream_look_ns};
  std::uint64_t next_deadline_ns_ = kNever;
  std::uint64_t next_check_ns_ = kNever;    // of silence
  std::uint64_t accept_again_ns_ = kNever;  // paused until then
  std::uint64_t refused_logged_ns_ = 0;
  std::uint64_t refused_unlogged_ = 0;
};

}  // namespace espalier::net
