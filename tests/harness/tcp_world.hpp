// TcpWorld: n TcpLinks with their FrameWires in one thread, on loopback.
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "net/tcp/tcp_link.hpp"
#include "tests/harness/frame_world.hpp"

namespace espalier::test {

class TcpWorld : public FrameWorld {
 public:
  // `refuse`: chance that a link answers "retry".
  TcpWorld(int ranks, const net::TcpOptions& options, double refuse = 0);

  net::TcpLink& tcp(Rank r) noexcept { return *tcp_[static_cast<std::size_t>(r)]; }
  // Waits for the kernel while it holds bytes or connections that are under way.
  void rest() noexcept override;

 private:
  SteadyClock clock_;
  std::vector<net::TcpLink*> tcp_;
};

// `interface` is an address of loopback.
inline net::TcpOptions tcp_options(std::string interface) {
  net::TcpOptions options;
  options.interface = std::move(interface);
  return options;
}

}  // namespace espalier::test
