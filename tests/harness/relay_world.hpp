// RelayWorld: a TcpWorld in which every rank reaches every other through a relay of its own. Looks
// at wires let the relays move on.
#pragma once

#include <memory>
#include <vector>

#include "tests/harness/relay.hpp"
#include "tests/harness/tcp_world.hpp"

namespace espalier::test {

class RelayWorld : public TcpWorld {
 public:
  RelayWorld(int ranks, const net::TcpOptions& options, const RelayPolicy& policy)
      : TcpWorld(ranks, options) {
    for (Rank from = 0; from < ranks; ++from) {
      for (Rank to = 0; to < ranks; ++to) {
        const net::TcpContact& real = tcp(to).contact();
        relays_.push_back(std::make_unique<Relay>(real.addresses.front(), relays_.size() + 1));
        relays_.back()->policy = policy;
        if (from != to) tcp(from).set_contact(to, {real.secret, {relays_.back()->address()}});
      }
    }
  }

  Wire& wire(Rank r) noexcept override {
    if (++looks_ % 16 == 0) (void)pump();
    return TcpWorld::wire(r);
  }
  // For what `from` connects to `to`.
  Relay& relay(Rank from, Rank to) {
    return *relays_[static_cast<std::size_t>(from * size() + to)];
  }
  bool pump() {
    bool moved = false;
    for (const auto& relay : relays_) moved = relay->pump() || moved;
    return moved;
  }
  void rest() noexcept override {
    if (!pump()) TcpWorld::rest();
  }

 private:
  std::vector<std::unique_ptr<Relay>> relays_;
  unsigned looks_ = 0;
};

}  // namespace espalier::test
