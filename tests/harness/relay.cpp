#include "tests/harness/relay.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace espalier::test {
namespace {
constexpr std::size_t kHeldMax = 1 << 20;  // per direction
}

Relay::Relay(const net::TcpAddress& target, std::uint64_t seed)
    : prng_(seed), target_(target), address_(target) {
  address_.port = 0;
  auto listener = net::listen_on(address_);
  ESP_ASSERT(listener.ok());
  listener_ = std::move(*listener);
}

Relay::~Relay() = default;

bool Relay::pump() {
  if (policy.frozen) return false;
  ++pumps_;
  bool moved = false;
  // Nobody comes often.
  while (lines_.empty() || pumps_ % 32 == 0) {
    Descriptor near(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!near.is_open()) break;
    auto far = net::start_connect(target_);
    if (!far) continue;  // The near end sees its connection close.
    auto line = std::make_unique<Line>();
    line->ends[0] = std::move(near);
    line->ends[1] = std::move(*far);
    lines_.push_back(std::move(line));
    moved = true;
  }
  for (const auto& line : lines_) {
    for (const int from : {0, 1}) moved = move(*line, from) || moved;
  }
  std::erase_if(lines_, [](const auto& line) {
    return line->broken || (line->ways[0].closed && line->ways[1].closed);
  });
  return moved;
}

std::size_t Relay::Way::due(std::uint64_t now_ns) noexcept {
  while (!arrivals.empty() && arrivals.front().due_ns <= now_ns) {
    due_end = arrivals.front().end;
    arrivals.pop_front();
  }
  return due_end - passed;
}

bool Relay::move(Line& line, int from) {
  Way& way = line.ways[from];
  const bool taken = take(line, from);
  if (way.rests > 0) {
    --way.rests;
    return true;
  }
  if (prng_.chance(policy.hold)) way.rests = static_cast<unsigned>(1 + prng_.below(20));
  return pass(line, from) || taken;
}

bool Relay::take(Line& line, int from) {
  Way& way = line.ways[from];
  if (way.ended || way.held() >= kHeldMax) return false;
  std::byte taken[16 << 10];
  const ssize_t got = ::recv(line.ends[from].fd(), taken, sizeof taken, MSG_DONTWAIT);
  if (got > 0 && !policy.swallow) {
    way.bytes.insert(way.bytes.end(), taken, taken + got);
    way.arrivals.push_back({way.bytes.size(), clock_.now_ns() + policy.delay_ns});
  }
  if (got == 0) way.ended = true;
  if (got < 0 && errno != EAGAIN && errno != ENOTCONN) line.broken = true;
  return got >= 0;
}

bool Relay::pass(Line& line, int from) {
  Way& way = line.ways[from];
  if (const std::size_t due = way.due(clock_.now_ns()); due > 0) {
    const std::size_t part =
        std::min(due, static_cast<std::size_t>(1 + prng_.below(policy.chunk_bytes)));
    const ssize_t put = ::send(line.ends[1 - from].fd(), way.bytes.data() + way.passed, part,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0) {
      if (errno != EAGAIN && errno != ENOTCONN) line.broken = true;
      return false;
    }
    way.passed += static_cast<std::size_t>(put);
    if (way.held() == 0) {
      way.bytes.clear();
      way.passed = way.due_end = 0;
    }
    passed_bytes_ += static_cast<std::uint64_t>(put);
    return true;
  }
  if (!way.ended || way.closed || way.held() > 0) return false;
  (void)::shutdown(line.ends[1 - from].fd(), SHUT_WR);
  way.closed = true;
  return true;
}

void Relay::cut(bool reset) {
  for (const auto& line : lines_) {
    const linger at_once = {1, 0};
    for (const Descriptor& end : line->ends) {
      if (reset) (void)::setsockopt(end.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
  }
  lines_.clear();
}

std::size_t Relay::held() const noexcept {
  std::size_t bytes = 0;
  for (const auto& line : lines_) bytes += line->ways[0].held() + line->ways[1].held();
  return bytes;
}

}  // namespace espalier::test
