// Network: the wire to ranks of other nodes, with the link below it.
//
// Opened before the cards are exchanged, because the cards carry its address; connected when it is
// known who is where. Peers are connected when something is first sent to them.
//
// Ownership: borrows counters, clock and handlers. Threads: owner. path: setup (the wire: data)
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/card.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/log.hpp"
#include "core/messenger.hpp"
#include "core/wake_source.hpp"
#include "net/frame_wire.hpp"
#include "net/tcp/tcp_link.hpp"

namespace espalier {

class Network final : public Messenger, public WakeSource, private net::ControlHandler {
 public:
  struct Identity {
    Rank rank = 0;
    int job_size = 1;
  };
  static Result<std::unique_ptr<Network>> open(const Config& config, const Identity& identity,
                                               Clock& clock, Counters& counters, const Log& log);
  ~Network();

  // For the own card.
  CardAddress address() const;
  Outcome connect(const std::vector<Card>& cards, Counters& counters);

  // From here on: connected.
  Wire& wire() noexcept { return *wire_; }
  void attach(MessageKind kind, MessageHandler& handler) noexcept {
    handlers_[static_cast<std::size_t>(kind)] = &handler;
  }
  using Lost = std::function<void(Rank, const Status&)>;
  void on_lost(Lost lost) { lost_ = std::move(lost); }

  bool tell(Rank to, std::span<const std::byte> message) noexcept override;
  void reach(Rank rank) noexcept override;
  int descriptor() const noexcept override;
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;

  void say_goodbye() noexcept;
  bool drained() const noexcept;
  std::string describe(Rank rank) const;

 private:
  Network(std::unique_ptr<net::TcpLink> link, Rank me, int job_size) noexcept;
  void control(Rank from, std::span<const std::byte> message) noexcept override;
  void lost(Rank peer, const Status& why) noexcept override;

  std::unique_ptr<net::TcpLink> link_;
  std::unique_ptr<net::FrameWire> wire_;
  std::array<MessageHandler*, 3> handlers_ = {};  // by MessageKind
  Lost lost_;
  Rank me_;
  int job_size_;
};

}  // namespace espalier
