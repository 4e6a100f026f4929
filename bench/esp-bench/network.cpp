#include "esp-bench/network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "esp-bench/clock.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

class Socket {
 public:
  explicit Socket(int fd, const char* call) : fd_(fd) {
    if (fd < 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

void need(int result, const char* call) {
  if (result != 0) throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
}

// The first address of this host that others can reach; loopback, where there is none.
in_addr own_address() {
  in_addr found{htonl(INADDR_LOOPBACK)};
  ifaddrs* all = nullptr;
  need(getifaddrs(&all), "getifaddrs");
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_in address;
    std::memcpy(&address, one->ifa_addr, sizeof address);
    found = address.sin_addr;
    break;
  }
  freeifaddrs(all);
  return found;
}

// The largest of all. Each rank ends it with news of the other, so that nothing of the library is
// under way when it is left alone for a while.
double settle(Backend& backend, double value = 0.0) {
  backend.combine({&value, 1}, Combine::kMax);
  return value;
}

// Rank 0 listens and tells where; rank 1 connects.
int join(Backend& backend) {
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  socklen_t length = sizeof at;
  auto* name = reinterpret_cast<sockaddr*>(&at);
  if (backend.rank() == 0) {
    const Socket listener(::socket(AF_INET, SOCK_STREAM, 0), "socket");
    at.sin_addr = own_address();
    need(::bind(listener.fd(), name, length), "bind");
    need(::listen(listener.fd(), 1), "listen");
    need(::getsockname(listener.fd(), name, &length), "getsockname");
    backend.bcast(&at, sizeof at, 0);
    settle(backend);
    return ::accept(listener.fd(), nullptr, nullptr);
  }
  backend.bcast(&at, sizeof at, 0);
  settle(backend);
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  if (made >= 0) need(::connect(made, name, length), "connect");
  return made;
}

// All of it, one way.
template <typename Call>
void move(std::size_t bytes, Call&& call) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t part = call(done);
    if (part == 0) throw std::runtime_error("the other end of the socket has gone");
    if (part > 0) done += static_cast<std::size_t>(part);
    if (part < 0 && errno != EAGAIN && errno != EINTR) need(-1, "socket");
  }
}

// One end of the connection. Rank 0 begins.
struct End {
  int fd;
  int flags;
  bool first;

  void send(const std::byte* data, std::size_t bytes) const {
    move(bytes,
         [&](std::size_t at) { return ::send(fd, data + at, bytes - at, flags | MSG_NOSIGNAL); });
  }
  void receive(std::byte* data, std::size_t bytes) const {
    move(bytes, [&](std::size_t at) { return ::recv(fd, data + at, bytes - at, flags); });
  }
};

// Buffers that rotate, as an operation's of that size (operation.hpp), as far as the messages of a
// sample reach: the floor finds in the cache what they find there.
class Ring {
 public:
  Ring(std::size_t bytes, const Options& options)
      : bytes_(bytes), slots_(ring_slots(bytes, options)), memory_(bytes * slots_, std::byte{1}) {}
  std::size_t bytes() const { return bytes_; }
  std::byte* of(int message) {
    return memory_.data() + bytes_ * (static_cast<std::size_t>(message) % slots_);
  }
  // Before each sample of a stream.
  void rewrite(int messages) {
    const int used = std::min(messages, static_cast<int>(slots_));
    for (int i = 0; i < used; ++i) std::memset(of(i), i, bytes_);
  }

 private:
  const std::size_t bytes_, slots_;
  std::vector<std::byte> memory_;
};

// To and fro; us for one way of one message.
double trips_us(const End& end, Ring& ring, int messages) {
  const std::int64_t start = now_ns();
  for (int i = 0; i < 2 * messages; ++i) {
    if ((i % 2 == 0) == end.first) {
      end.send(ring.of(i / 2), ring.bytes());
    } else {
      end.receive(ring.of(i / 2), ring.bytes());
    }
  }
  return static_cast<double>(now_ns() - start) * 1e-3 / (2 * messages);
}

// One after the other in one direction, and a byte back at the end; us for one message.
double stream_us(const End& end, Ring& ring, int messages) {
  const std::int64_t start = now_ns();
  for (int i = 0; i < messages; ++i) {
    if (end.first) {
      end.send(ring.of(i), ring.bytes());
    } else {
      end.receive(ring.of(i), ring.bytes());
    }
  }
  std::byte last{};
  if (end.first) {
    end.receive(&last, 1);
  } else {
    end.send(&last, 1);
  }
  return static_cast<double>(now_ns() - start) * 1e-3 / messages;
}

// The two processes' own time per message of such a stream, with what the kernel does while they
// call it; not that of its threads.
double stream_work_us(Backend& backend, const End& end, Ring& ring, int messages) {
  if (end.first) ring.rewrite(messages);
  const std::int64_t start = process_time_ns();
  stream_us(end, ring, messages);
  double work_us = static_cast<double>(process_time_ns() - start) * 1e-3;
  backend.combine({&work_us, 1}, Combine::kSum);
  return work_us / messages;
}

using Way = double (*)(const End& end, Ring& ring, int messages);

Summary measure_work(Backend& backend, const End& end, std::size_t bytes, const Options& options) {
  Ring ring(bytes, options);
  const int messages = bytes <= (256 << 10) ? 64 : 16;
  std::vector<double> samples;
  for (int i = 0; i < 10; ++i) {
    samples.push_back(stream_work_us(backend, end, ring, messages));
  }
  return summarize(std::move(samples));
}

Summary measure_way(Backend& backend, const End& end, Way way, std::size_t bytes,
                    const Options& o) {
  Ring ring(bytes, o);
  const bool streams = way == stream_us;
  const int messages = bytes <= 4096 ? 64 : bytes <= (256 << 10) || streams ? 8 : 2;
  way(end, ring, messages);
  const double once_us = (streams ? 1 : 2) * messages * way(end, ring, messages);
  // As many on both sides.
  const int count =
      static_cast<int>(settle(backend, std::clamp(o.budget_ms * 1e3 / once_us, 3.0, 200.0)));
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    if (streams && end.first) ring.rewrite(messages);
    samples.push_back(way(end, ring, messages));
  }
  return summarize(std::move(samples));
}

}  // namespace

std::vector<Floor> measure_sockets(Backend& backend, const Options& options) {
  if (backend.size() != 2) throw std::runtime_error("mode sockets needs two ranks");
  const Socket socket(join(backend), "connection");
  const int yes = 1;
  need(::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
  std::vector<Floor> floors;
  for (const std::size_t bytes : options.sizes) {
    for (const int flags : {0, static_cast<int>(MSG_DONTWAIT)}) {
      const End end{socket.fd(), flags, backend.rank() == 0};
      const char* wait = flags == 0 ? "sleep" : "spin";
      Floor trip{fmt::format("socket-{}", wait), bytes, {}, "half a round trip"};
      trip.time_us = measure_way(backend, end, trips_us, bytes, options);
      Floor stream{fmt::format("stream-{}", wait), bytes, {}, "one of many in one direction"};
      stream.time_us = measure_way(backend, end, stream_us, bytes, options);
      Floor work{"work", bytes, {}, "processor time of both ends of a stream"};
      if (flags == 0) work.time_us = measure_work(backend, end, bytes, options);
      if (!end.first) continue;
      floors.push_back(std::move(trip));
      floors.push_back(std::move(stream));
      if (flags == 0) floors.push_back(std::move(work));
    }
  }
  return floors;
}

nlohmann::json measure_peers(Backend& backend, bool table) {
  constexpr int kLater = 100;
  double message = 0;
  const auto exchange_us = [&](int peer) {
    const std::int64_t start = now_ns();
    if (backend.rank() == 0) backend.send(&message, sizeof message, peer);
    backend.recv(&message, sizeof message, peer);
    if (backend.rank() != 0) backend.send(&message, sizeof message, peer);
    return static_cast<double>(now_ns() - start) * 1e-3;
  };
  std::vector<double> first, later;
  const double before = memory_kib("smaps_rollup", "Rss");
  for (int peer = 1; peer < backend.size(); ++peer) {
    if (backend.rank() != 0 && backend.rank() != peer) continue;
    const int other = backend.rank() == 0 ? peer : 0;
    first.push_back(exchange_us(other));
    std::vector<double> samples;
    for (int i = 0; i < kLater; ++i) samples.push_back(exchange_us(other));
    later.push_back(summarize(std::move(samples)).median);
  }
  const double after = memory_kib("smaps_rollup", "Rss");
  if (table && backend.rank() == 0) {
    fmt::print("{} peers: first exchange {:.1f} us, later ones {:.1f} us; {:.1f} KiB per peer\n",
               first.size(), summarize(first).median, summarize(later).median,
               (after - before) / static_cast<double>(first.size()));
  }
  return {{"first_us", first}, {"later_us", later}, {"rss_kib", {before, after}}};
}

}  // namespace espalier::bench
