// RdmaLink: the link over an RDMA adapter: connections for the first peers that this rank sends to,
// datagrams for the others, and the datagrams carry the letters that make connections.
//
// Which of the two carries frames to a peer is decided at the first and stays so, or they could
// overtake each other. Each side decides for its own direction. A peer that one of them loses is
// lost for both.
//
// Ownership: borrows both links, which are driven by this one. Threads: the owner of the worker.
// path: data
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "net/link.hpp"
#include "net/rdma/connection_link.hpp"

namespace espalier::rdma {

class RdmaLink final : public net::Link {
 public:
  // `connections` nullptr: datagrams alone. `connections_max`: peers that get one from this side.
  RdmaLink(net::Link& datagrams, ConnectionLink* connections, std::uint32_t ranks,
           std::uint32_t connections_max);

  net::LinkCaps caps(Rank peer) const noexcept override { return likely(peer).caps(peer); }
  Posted post(Rank peer, const net::FrameHeader& header, const void* payload,
              Completion& completion) noexcept override;
  bool announce(Rank from, const net::FrameHeader& expected, std::byte* memory) noexcept override;
  void retract(Rank from, const net::FrameHeader& expected) noexcept override;
  void withdraw(Rank peer, Completion& completion) noexcept override;
  void redirect(Rank from, std::byte* payload) noexcept override;
  void reach(Rank peer) noexcept override { choose(peer).reach(peer); }
  void lose(Rank peer, Error why) noexcept override;
  int progress(net::FrameSink& sink) noexcept override;
  // Of two ports there is not one descriptor: -1, unless there are only datagrams.
  int descriptor() const noexcept override;
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;
  void say_goodbye(Rank peer) noexcept override;
  bool drained() const noexcept override;
  std::string describe(Rank peer) const override { return likely(peer).describe(peer); }

  bool connected(Rank peer) const noexcept { return route(peer).way == Way::kConnection; }

 private:
  enum class Way : std::uint8_t { kOpen, kConnection, kDatagrams };
  struct Route {
    Way way = Way::kOpen;       // of what this rank sends
    Way arriving = Way::kOpen;  // of the frame that is arriving
    bool lost = false;
  };
  // Between one of the links and the protocol above.
  class Tap final : public net::FrameSink {
   public:
    Tap(RdmaLink& link, Way way, net::FrameSink& sink) noexcept
        : link_(link), way_(way), sink_(sink) {}
    std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override;
    void end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept override;
    void lost(Rank peer, const Status& why) noexcept override;

   private:
    RdmaLink& link_;
    const Way way_;
    net::FrameSink& sink_;
  };

  Route& route(Rank peer) noexcept { return routes_[static_cast<std::size_t>(peer)]; }
  const Route& route(Rank peer) const noexcept { return routes_[static_cast<std::size_t>(peer)]; }
  net::Link& choose(Rank peer) noexcept;
  const net::Link& likely(Rank peer) const noexcept;

  net::Link& datagrams_;
  ConnectionLink* connections_;
  std::vector<Route> routes_;  // by rank
  std::uint32_t connections_left_;
};

}  // namespace espalier::rdma
