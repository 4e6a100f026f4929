// RawPeer: a peer of a TcpLink that is made of a bare socket and writes what a test wants; and
// LoneRank: a rank with link and wire that stands against it, with a clock that the test moves.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/attended_clock.hpp"
#include "net/frame_wire.hpp"
#include "net/tcp/handshake.hpp"
#include "net/tcp/tcp_link.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(const net::FrameHeader& header) {
  const net::FrameBytes bytes = net::frame_bytes(header);
  return {bytes.begin(), bytes.end()};
}
inline Bytes text_bytes(std::string_view text) {
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Rank 0 of a job of two. `attended_ns`: of what its clock is advanced by it counts no more at
// once, as the clock of a job.
class LoneRank {
 public:
  explicit LoneRank(std::uint64_t attended_ns = kNever) : attended(clock, attended_ns) {
    net::TcpOptions options;
    options.rank = 0;
    options.job_size = 2;
    options.interface = "127.0.0.1";
    options.stream_look_ns = 0;  // Its clock stands still.
    const Log log(LogLevel::kWarn, 0, {&LoneRank::note, this});
    auto made = net::TcpLink::create(options, attended, counters, log);
    ESP_ASSERT(made.ok());
    link = std::move(*made);
    wire = std::make_unique<net::FrameWire>(*link, net::FrameWireOptions{}, counters);
  }
  ~LoneRank() {
    wire.reset();
    link.reset();
  }
  LoneRank(const LoneRank&) = delete;
  LoneRank& operator=(const LoneRank&) = delete;

  // Long enough for everything on loopback to arrive.
  template <typename Done>
  bool until(Done&& done) {
    for (int i = 0; i < 2000; ++i) {
      if (done()) return true;
      if (wire->progress() == 0) ::usleep(500);
    }
    return done();
  }
  void look(int times = 20) {
    for (int i = 0; i < times; ++i) {
      if (wire->progress() == 0) ::usleep(200);
    }
  }

  ManualClock clock{1'000'000'000};
  AttendedClock attended;
  Counters counters;
  std::vector<std::string> logged;
  std::unique_ptr<net::TcpLink> link;
  std::unique_ptr<net::FrameWire> wire;

 private:
  static void note(void* self, LogLevel, Rank, std::string_view message) noexcept {
    static_cast<LoneRank*>(self)->logged.emplace_back(message);
  }
};

class RawPeer {
 public:
  explicit RawPeer(LoneRank& other) : other_(other) {
    auto socket = net::start_connect(other.link->contact().addresses.front());
    ESP_ASSERT(socket.ok());
    socket_ = std::move(*socket);
  }

  void send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put > 0) bytes = bytes.subspan(static_cast<std::size_t>(put));
      if (put < 0 && errno != EAGAIN && errno != ENOTCONN) return;
      if (put <= 0) (void)other_.wire->progress();
    }
  }
  // As many bytes as come, up to `count`; fewer when the connection ends.
  Bytes receive(std::size_t count) {
    Bytes bytes(count);
    std::size_t have = 0;
    const bool all = other_.until([&] {
      const ssize_t got = ::recv(socket_.fd(), bytes.data() + have, count - have, MSG_DONTWAIT);
      if (got > 0) have += static_cast<std::size_t>(got);
      return have == count || got == 0 || (got < 0 && errno == ECONNRESET);
    });
    EXPECT_TRUE(all) << "neither bytes nor an end came";
    bytes.resize(have);
    return bytes;
  }
  // Whether the link has closed the connection (having written nothing more).
  bool is_closed() {
    std::byte one;
    const ssize_t got = ::recv(socket_.fd(), &one, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN);
  }
  bool becomes_closed() {
    return other_.until([&] { return is_closed(); });
  }
  void close() { socket_.close(); }

  // As rank 1, which knows the secret. Everything that it writes is kept in `said`.
  void shake_hands() { shake_hands(other_.link->contact().secret); }
  void shake_hands(const net::SipKey& secret) {
    net::Nonce nonce;
    nonce.fill(std::byte{42});
    auto shake = net::Handshake::initiator(1, 0, secret, nonce);
    say(shake);
    for (auto step = net::Handshake::Step::kMore; step == net::Handshake::Step::kMore;) {
      const Bytes message = receive(shake.expects());
      if (message.size() < shake.expects()) return;
      step = shake.take(message);
      say(shake);
      proven = step == net::Handshake::Step::kProven;
    }
  }

  bool proven = false;
  std::vector<Bytes> said;

 private:
  void say(const net::Handshake& shake) {
    said.emplace_back(shake.reply().begin(), shake.reply().end());
    send(said.back());
  }

  LoneRank& other_;
  Descriptor socket_;
};

}  // namespace espalier::test
