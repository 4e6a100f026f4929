// Relay: a TCP proxy in the tests' own thread that treats bytes badly: it splits them anywhere,
// holds them back, delays them, stops, swallows them, or cuts the connection. Everything it does,
// it does in pump(), by its seed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/prng.hpp"
#include "net/tcp/address.hpp"
#include "net/tcp/socket.hpp"

namespace espalier::test {

struct RelayPolicy {
  std::size_t chunk_bytes = 64 << 10;  // passed on at once, at most; in truth a random part of it
  double hold = 0;                     // chance that a direction rests for some pumps
  std::uint64_t delay_ns = 0;          // of the real clock, for every byte
  bool frozen = false;                 // moves nothing
  bool swallow = false;                // takes everything, passes nothing on
};

class Relay {
 public:
  // Connects whoever connects to it with `target`, on the same kind of address.
  Relay(const net::TcpAddress& target, std::uint64_t seed);
  ~Relay();

  const net::TcpAddress& address() const noexcept { return address_; }
  RelayPolicy policy;

  // Returns whether anything moved.
  bool pump();
  // Closes all connections: with a reset, or as a process that ends does.
  void cut(bool reset);
  // Bytes that it has taken and not passed on.
  std::size_t held() const noexcept;
  std::size_t connections() const noexcept { return lines_.size(); }
  std::uint64_t passed_bytes() const noexcept { return passed_bytes_; }

 private:
  struct Arrival {
    std::size_t end;  // of its bytes among those that are held
    std::uint64_t due_ns;
  };
  // One direction of a connection.
  struct Way {
    std::size_t held() const noexcept { return bytes.size() - passed; }
    // Of those held, what may be passed on at this time.
    std::size_t due(std::uint64_t now_ns) noexcept;

    std::vector<std::byte> bytes;
    std::size_t passed = 0;        // of them, at the begin
    std::deque<Arrival> arrivals;  // of what is delayed
    std::size_t due_end = 0;       // up to here nothing is delayed any more
    unsigned rests = 0;
    bool ended = false;  // the source has closed
    bool closed = false;
  };
  struct Line {
    Descriptor ends[2];
    Way ways[2];  // from ends[i] to the other
    bool broken = false;
  };

  bool move(Line& line, int from);
  bool take(Line& line, int from);
  bool pass(Line& line, int from);

  Prng prng_;
  SteadyClock clock_;
  net::TcpAddress target_, address_;
  Descriptor listener_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::uint64_t passed_bytes_ = 0;
  std::uint64_t pumps_ = 0;
};

}  // namespace espalier::test
