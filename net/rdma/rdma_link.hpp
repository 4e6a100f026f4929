// RdmaLink: the link over an RDMA adapter: datagrams at first, and connections for the neighbours
// in the trees in use; the datagrams carry the letters that make them, and know who lives.
//
// The first segment to a peer goes by datagrams and asks for the connection. When that is up,
// frames go there, for good, and are held until the peer has got every frame that went before: so
// none overtakes another. Where one of the two ranks has no queue pair left, it stays with
// datagrams. Messages between two members, puts and the like ask, too, while half of the
// connections are left: the other half waits for trees. Notices and messages of the layers above
// (news, leaving) go to many that nothing else is sent to, and ask for nothing.
// Each side decides for its own direction; who only receives asks for nothing. A peer that one of
// them loses is lost for both.
//
// Ownership: borrows both links, which are driven by this one. Threads: the owner of the worker.
// path: data
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/peer_table.hpp"
#include "net/link.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/datagram_link.hpp"

namespace espalier::rdma {

class RdmaLink final : public net::Link {
 public:
  // `connections` nullptr: datagrams alone. `connections_max`: peers that get one from this side;
  // none is kept for trees if that is enough for all.
  // `descriptor`: of both links together; -1: there is none (of datagrams alone: theirs).
  // `log` is told of each peer that is lost, once, with the reason; loudly where this side alone
  // has given it up.
  RdmaLink(DatagramLink& datagrams, ConnectionLink* connections, std::uint32_t ranks,
           std::uint32_t connections_max, int descriptor = -1, const Log& log = Log());
  // A peer that cannot have a connection, if the address book does not know. Before anything is
  // sent to it.
  void use_datagrams(Rank peer) noexcept { route(peer).way = Way::kDatagrams; }

  net::LinkCaps caps(Rank peer) const noexcept override { return likely(peer).caps(peer); }
  Posted post(Rank peer, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override;
  bool flush() noexcept override {
    const bool gone = connections_ == nullptr || connections_->flush();
    return datagrams_.flush() && gone;
  }
  bool announce(Rank from, const net::FrameHeader& expected, std::byte* memory) noexcept override;
  void retract(Rank from, const net::FrameHeader& expected) noexcept override;
  net::RemoteMemory expose(const std::byte* memory, std::uint64_t bytes) noexcept override {
    return connections_ != nullptr ? connections_->expose(memory, bytes) : net::RemoteMemory();
  }
  void conceal(const std::byte* memory) noexcept override {
    if (connections_ != nullptr) connections_->conceal(memory);
  }
  void set_away(AwayMemory* away) noexcept override {
    if (connections_ != nullptr) connections_->set_away(away);
  }
  bool takes_away() const noexcept override {
    return connections_ != nullptr && connections_->takes_away();
  }
  std::string why_not_away() const override {
    return connections_ != nullptr ? connections_->why_not_away() : "there are no connections";
  }
  net::RemoteMemory hold_away(const std::byte* memory, std::uint64_t bytes,
                              net::AwayUse use) noexcept override {
    return connections_ != nullptr ? connections_->hold_away(memory, bytes, use)
                                   : net::RemoteMemory();
  }
  void drop_away(const std::byte* memory, net::AwayUse use) noexcept override {
    if (connections_ != nullptr) connections_->drop_away(memory, use);
  }
  void revoke_away(const std::byte* memory) noexcept override {
    if (connections_ != nullptr) connections_->revoke_away(memory);
  }
  // Once the connection is this peer's way.
  bool put(Rank peer, const std::byte* from, std::uint64_t bytes, net::RemoteMemory to,
           Completion& completion) noexcept override;
  bool get(Rank peer, std::byte* to, std::uint64_t bytes, net::RemoteMemory from,
           Completion& completion) noexcept override;
  void withdraw(Rank peer, Completion& completion) noexcept override;
  void redirect(Rank from, std::byte* payload) noexcept override;
  void reach(Rank peer) noexcept override;
  void lose(Rank peer, Error why) noexcept override;
  int progress(net::FrameSink& sink) noexcept override;
  int descriptor() const noexcept override { return descriptor_; }
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;
  void say_goodbye(Rank peer) noexcept override;
  void say_goodbye_to_all() noexcept override;
  bool drained() const noexcept override;
  bool has_left(Rank peer) const noexcept override {
    return datagrams_.has_left(peer) || (connections_ != nullptr && connections_->has_left(peer));
  }
  std::string describe(Rank peer) const override { return likely(peer).describe(peer); }

  // Do frames wait for datagrams before them?
  bool holds() const noexcept { return !held_.empty(); }
  bool connected(Rank peer) const noexcept { return seen(peer).way == Way::kConnection; }
  // Or would be if a segment of a tree were sent to it now.
  bool connects(Rank peer) const noexcept { return why_datagrams(peer) == nullptr; }
  // nullptr: connects(peer).
  const char* why_datagrams(Rank peer) const noexcept;

 private:
  static constexpr std::uint64_t kDatagramsNs = 20'000;  // between looks while connections are busy
  // kOpen: of what is sent, by datagrams until a connection is up.
  enum class Way : std::uint8_t { kOpen, kDatagrams, kConnection };
  struct Route {
    Way way = Way::kOpen;       // of what this rank sends
    Way arriving = Way::kOpen;  // of the frame that is arriving
    bool inside = false;        // ... and has not ended
    bool wanted = false;        // a connection was asked for
    bool lost = false;
    bool noted = false;  // ... in the log
  };
  // Between one of the links and the protocol above.
  class Tap final : public net::FrameSink {
   public:
    Tap(RdmaLink& link, Way way, net::FrameSink& sink) noexcept
        : link_(link), way_(way), sink_(sink) {}
    bool expects(Rank from, const net::FrameHeader& header) const noexcept override {
      return sink_.expects(from, header);
    }
    std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override;
    void end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept override;
    void lost(Rank peer, const Status& why) noexcept override;

   private:
    RdmaLink& link_;
    const Way way_;
    net::FrameSink& sink_;
  };

  Route& route(Rank peer) noexcept {
    Route* known = routes_.find(peer);
    return known != nullptr ? *known : meet(peer);
  }
  Route& meet(Rank peer) noexcept;
  // What route() would make of a peer that was not met.
  Route seen(Rank peer) const noexcept;
  net::Link& choose(Rank peer, const net::FrameHeader& header) noexcept;
  bool goes_directly(Rank peer, net::FrameKind kind) noexcept;
  bool is_worth_a_connection(const net::FrameHeader& header) const noexcept;
  void release_held() noexcept;
  void note_loss(Rank peer, const std::string& why, bool given_up) noexcept;
  const net::Link& likely(Rank peer) const noexcept;

  DatagramLink& datagrams_;
  ConnectionLink* connections_;
  PeerTable<Route> routes_;
  std::vector<Rank> held_;  // whose datagrams have not all arrived
  std::uint32_t connections_left_;
  const std::uint32_t kept_for_trees_;
  const int descriptor_;
  const Log log_;
};

}  // namespace espalier::rdma
