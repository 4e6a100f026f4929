// Network: the wires to ranks of other nodes, with the links below them.
//
// There may be several *ways* (TCP, RDMA), each a link with its FrameWire; a rank is reached by one
// of them, the same in both directions. Opened before the cards are exchanged, because the cards
// carry the addresses; connected when it is known who is where, and then ways that nobody takes are
// closed. Peers are connected when something is first sent to them.
//
// Ownership: borrows counters, clock and handlers. Threads: owner. path: setup (the wires: data)
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/directory.hpp"
#include "bootstrap/job_groups.hpp"
#include "bootstrap/rdma_stack.hpp"
#include "bootstrap/wire_choice.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/log.hpp"
#include "core/messenger.hpp"
#include "core/wake_source.hpp"
#include "core/worker.hpp"
#include "net/frame_wire.hpp"
#include "net/remote_access.hpp"
#include "net/tcp/tcp_link.hpp"

namespace espalier {

class Network final : public Messenger,
                      public WireRoutes,
                      private net::ControlHandler,
                      public net::FrameRoutes,
                      private net::TcpContacts {
 public:
  struct Identity {
    Rank rank = 0;
    int job_size = 1;
    int node_rank = 0;
  };
  // What of `allowed` is a network and can be opened here; closed() has the rest. An error: a
  // setting asks for what is not there.
  static Result<std::unique_ptr<Network>> open(const Config& config,
                                               const std::vector<WireKind>& allowed,
                                               const Identity& identity, Clock& clock,
                                               Counters& counters, const Log& log);
  ~Network();

  // For the own card.
  std::vector<CardAddress> addresses() const;
  const std::vector<ClosedWire>& closed() const noexcept { return closed_; }
  // What this rank uses, as it stands in /sys: "class/net/eth0". Empty: none.
  std::string device() const;
  std::uint32_t port_mbits() const;  // of its port, per second; 0: not known
  GroupTerms group_terms() const;    // of its port; kNone: it has no multicast
  // Tells what carries groups here from what does at other ranks of the node; 0: nothing.
  std::uint64_t group_adapter() const;
  // `wires`: what was chosen for each rank; it and the directory outlive this.
  Outcome connect(const Config& config, const Directory& directory,
                  const std::vector<WireKind>& wires, Clock& clock, Counters& counters);

  // From here on: connected. A rank is one of another node.
  Wire& wire_to(Rank rank) noexcept override { return way(rank).wire; }
  Wire* wire_of_groups() noexcept override { return groups_way_ ? &groups_way_->wire : nullptr; }
  // Payload of a packet to a group; 0: the job has no groups.
  std::uint32_t group_payload_bytes() const noexcept;
  // Nothing more is sent to any group: all_posted() waits until all ranks have left.
  void leave_groups() noexcept;
  // But for that of a team that has failed.
  void abandon_group(std::uint32_t team) noexcept;
  // For people: what carries publications between nodes, and those of each team that had some.
  std::string describe_groups() const;
  std::vector<std::string> describe_teams() const;
  // What every way can do.
  WireCaps common_caps() const noexcept;
  net::FrameWire* frames_to(Rank rank) noexcept override {
    Way* to = way_of(rank);
    return to != nullptr ? &to->wire : nullptr;
  }
  std::span<net::FrameWire* const> all_frames() const noexcept override { return frames_; }
  void attach_to(Worker& worker);
  void idle() noexcept;
  // See FrameWire::set_away.
  void set_away(AwayMemory* away) noexcept;
  // Does an adapter bring memory of devices to this rank? Any thread asks.
  bool takes_away(Rank rank) noexcept {
    return (*wires_)[static_cast<std::size_t>(rank)] == WireKind::kRc &&
           way(rank).link.takes_away();
  }
  // For people: who brings memory of devices to other nodes.
  std::string describe_away() noexcept;
  void attach(MessageKind kind, MessageHandler& handler) noexcept {
    handlers_[static_cast<std::size_t>(kind)] = &handler;
  }
  using Lost = std::function<void(Rank, bool left, const Status&)>;
  void on_lost(Lost lost) { lost_ = std::move(lost); }

  void tell(Rank to, std::span<const std::byte> message) noexcept override;
  bool has_room(Rank to) noexcept override { return way(to).wire.takes_control(to); }
  void reach(Rank rank) noexcept override { way(rank).link.reach(rank); }
  // Nothing waits for the room of a link: what is said after a goodbye goes nowhere.
  bool all_posted() const noexcept;

  // Somebody else knows that it is dead.
  void lose(Rank rank) noexcept;
  // Of a team that is freed here.
  void forget_team(std::uint32_t team);
  void say_goodbye() noexcept;
  bool drained() const noexcept;
  std::string describe(Rank rank) const;
  // Of a rank that RDMA reaches, without a connection; nullptr: any other.
  const char* why_datagrams(Rank rank) const noexcept;
  std::string rdma_text() const;  // the device, or why none is used
  std::string tcp_text() const;   // where it listens, or why nowhere

  // Memory that large segments may be sent from and placed into without a copy, until let_go().
  void hold(const void* memory, std::uint64_t bytes) noexcept;
  void let_go(const void* memory) noexcept;  // no effect on what is not held

 private:
  // A link and the protocol over it, with the worker's view of both.
  struct Way final : WakeSource {
    Way(net::Link& of, Counters& counters, net::ControlHandler& handler)
        : link(of), wire(of, {}, counters, &handler) {}
    int descriptor() const noexcept override { return link.descriptor(); }
    bool arm() noexcept override { return link.arm(); }
    std::uint64_t deadline_ns() const noexcept override { return link.deadline_ns(); }

    net::Link& link;
    net::FrameWire wire;
  };

  Network(const Identity& identity, const Log& log) noexcept : identity_(identity), log_(log) {}
  Outcome open_tcp(const Config& config, Clock& clock, Counters& counters);
  Outcome open_rdma(const Config& config, const std::vector<WireKind>& allowed);
  Outcome connect_tcp();
  void connect_groups(const Config& config, const std::vector<WireKind>& wires, Clock& clock);
  // nullptr: a rank of this node.
  Way* way_of(Rank rank) const noexcept {
    return way_by_[static_cast<std::size_t>((*wires_)[static_cast<std::size_t>(rank)])];
  }
  // By which it is linked to this one: ranks of this node by what groups are joined with.
  Way* link_way(Rank rank) const noexcept {
    Way* found = way_of(rank);
    return found != nullptr ? found : groups_way_;
  }
  Way& way(Rank rank) const noexcept {
    Way* found = way_of(rank);
    ESP_ASSERT(found != nullptr);
    return *found;
  }
  net::TcpContact contact_of(Rank rank) const override;
  void control(Rank from, std::span<const std::byte> message) noexcept override;
  void lost(Rank peer, const Status& why) noexcept override;

  const Identity identity_;
  const Log log_;
  std::vector<ClosedWire> closed_;
  std::uint32_t connections_max_ = 0;
  std::unique_ptr<net::TcpLink> tcp_;  // nullptr: not open
  std::unique_ptr<RdmaStack> rdma_;    // likewise
  MulticastMode multicast_ = MulticastMode::kAuto;
  std::unique_ptr<JobGroups> groups_;  // borrowed by a way
  std::vector<std::unique_ptr<Way>> ways_;
  Way* groups_way_ = nullptr;            // by which groups are joined; nullptr: there are none
  std::vector<net::FrameWire*> frames_;  // theirs
  const Directory* directory_ = nullptr;
  const std::vector<WireKind>* wires_ = nullptr;  // by rank
  std::array<Way*, 5> way_by_ = {};               // by WireKind
  std::array<MessageHandler*, 3> handlers_ = {};  // by MessageKind
  Lost lost_;
};

}  // namespace espalier
