#include "shm/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "core/open_files.hpp"

namespace espalier::shm {
namespace {

using Half = std::array<std::byte, 8>;

struct Hello {
  std::uint64_t magic = 0x68656c6c6f455350;
  Half proof{};
  Rank rank = kNoRank;
  std::uint32_t unused = 0;
};
struct Answer {
  std::uint64_t magic = 0x616e737765455350;
  Half proof{};
};

// A message with its bytes and room for one descriptor. Does not move: it points into itself.
struct Envelope {
  template <typename Content>
  explicit Envelope(Content& content) noexcept : bytes{&content, sizeof content} {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  iovec bytes;
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

constexpr int kSliceMs = 20;                    // between two looks at the clock
constexpr std::uint64_t kLookNs = 500'000'000;  // between two looks whether a guest is gone
constexpr std::size_t kStrangersMax = 64;  // beside the guests, that have connected and say nothing
constexpr int kFlags = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

Half half(const Key& secret, std::size_t which) noexcept {
  Half part;
  std::copy_n(secret.begin() + static_cast<std::ptrdiff_t>(which * part.size()), part.size(),
              part.begin());
  return part;
}

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

// A leading zero byte makes it abstract; the text is for who looks at /proc/net/unix.
Name name_of(const MeetingAddress& address) noexcept {
  std::string text = "espalier-";
  for (const std::byte byte : address.name) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Error failure(const std::string& what, int number) {
  const bool scarce = number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS;
  return error(scarce ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
               fmt::format("{}: {}{}", what, std::strerror(number), open_files_hint(number)),
               kNoRank, number);
}

// 0, or errno.
int connect_to(const MeetingAddress& address, Descriptor& made) noexcept {
  made = Descriptor(::socket(AF_UNIX, kFlags, 0));
  if (!made.is_open()) return errno;
  const Name name = name_of(address);
  const auto* to = reinterpret_cast<const sockaddr*>(&name.address);
  while (::connect(made.fd(), to, name.bytes) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Waits a slice of time for something to read; EINTR and nothing are the same.
void wait_readable(std::span<pollfd> sockets) noexcept {
  (void)::poll(sockets.data(), static_cast<nfds_t>(sockets.size()), kSliceMs);
}

std::string ranks_text(std::span<const Guest> guests) {
  std::string text = guests.size() > 1 ? "ranks " : "rank ";
  for (std::size_t i = 0; i < guests.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", guests[i].rank);
  }
  return text;
}

// ---- leader

class Handout {
 public:
  Handout(int listener, const Key& secret, int descriptor, std::span<const Guest> guests,
          const HandoverWait& wait)
      : listener_(listener),
        secret_(secret),
        descriptor_(descriptor),
        awaited_(guests.begin(), guests.end()),
        wait_(wait) {}

  Outcome run();

 private:
  Outcome let_in();
  void serve(Descriptor& visitor) noexcept;
  bool answer(int visitor) const noexcept;
  void give_up_the_gone() noexcept;

  int listener_;
  const Key& secret_;
  int descriptor_;
  std::vector<Guest> awaited_;
  std::vector<Descriptor> visitors_;  // that have said nothing yet
  const HandoverWait& wait_;
};

Outcome Handout::run() {
  const std::uint64_t begin = wait_.clock.now_ns();
  std::uint64_t looked = begin;
  while (!awaited_.empty()) {
    std::vector<pollfd> sockets = {{listener_, POLLIN, 0}};
    for (const Descriptor& visitor : visitors_) sockets.push_back({visitor.fd(), POLLIN, 0});
    wait_readable(sockets);
    if (auto done = let_in(); !done) return done;
    for (Descriptor& visitor : visitors_) serve(visitor);
    std::erase_if(visitors_, [](const Descriptor& visitor) { return !visitor.is_open(); });
    const std::uint64_t now = wait_.clock.now_ns();
    if (elapsed_ns(begin, now) > wait_.limit_ns) {
      return error(ESP_ERR_TIMEOUT,
                   fmt::format("{} did not come for the node's shared memory in {} s",
                               ranks_text(awaited_), wait_.limit_ns / kNanosecondsPerSecond),
                   awaited_.front().rank);
    }
    if (elapsed_ns(looked, now) < kLookNs) continue;
    looked = now;
    give_up_the_gone();
  }
  return Unit{};
}

Outcome Handout::let_in() {
  while (true) {
    Descriptor visitor(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!visitor.is_open()) {
      const int number = errno;
      if (number == EAGAIN) return Unit{};
      if (number == EINTR || number == ECONNABORTED) continue;
      // Those who are here leave when they have been served.
      if (number == EMFILE && !visitors_.empty()) return Unit{};
      return failure("accepting ranks that come for the node's shared memory", number);
    }
    // The one that has been silent for longest goes.
    if (visitors_.size() >= awaited_.size() + kStrangersMax) visitors_.erase(visitors_.begin());
    visitors_.push_back(std::move(visitor));
  }
}

// Closes the connection unless there is nothing to be heard yet.
void Handout::serve(Descriptor& visitor) noexcept {
  Hello hello;
  const ssize_t got = ::recv(visitor.fd(), &hello, sizeof hello, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto guest = std::ranges::find(awaited_, hello.rank, &Guest::rank);
  const bool welcome = got == sizeof hello && hello.magic == Hello().magic &&
                       hello.proof == half(secret_, 0) && guest != awaited_.end();
  if (welcome && answer(visitor.fd())) awaited_.erase(guest);
  visitor.close();
}

bool Handout::answer(int visitor) const noexcept {
  Answer answer;
  answer.proof = half(secret_, 1);
  Envelope envelope(answer);
  cmsghdr* rights = CMSG_FIRSTHDR(&envelope.message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor_, sizeof descriptor_);
  // Too many descriptors of this user are on their way: they are taken soon.
  for (int tries = 0; ::sendmsg(visitor, &envelope.message, MSG_NOSIGNAL) < 0; ++tries) {
    const bool scarce = errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM;
    if (errno == EINTR) continue;
    if (!scarce || tries == 1000) return false;
    (void)::poll(nullptr, 0, 1);
  }
  return true;
}

void Handout::give_up_the_gone() noexcept {
  std::erase_if(awaited_, [](const Guest& guest) {
    return !MeetingPoint::listener_of(guest.address).has_value();
  });
}

// ---- guest

Error leader_error(Rank leader, const std::string& what, int number) {
  Error made = failure(
      fmt::format("rank {}, which makes the node's shared memory, {}", leader, what), number);
  made.status = Status(made.status.code(), leader, number);
  return made;
}

// What came with the message; closed again if it is more than one.
Descriptor taken_from(msghdr& message) noexcept {
  Descriptor taken;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof fd) <= head->cmsg_len; at += sizeof fd) {
      std::memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
      taken = Descriptor(fd);
    }
  }
  return taken;
}

// The answer of the leader, which has come or whose connection has ended.
Result<Descriptor> read_answer(int socket, const Key& secret, Rank leader) {
  Answer answer;
  Envelope envelope(answer);
  const ssize_t got = ::recvmsg(socket, &envelope.message, MSG_CMSG_CLOEXEC);
  const int number = got < 0 ? errno : ECONNRESET;
  if (got < 0 && (number == EAGAIN || number == EINTR)) return Descriptor();
  Descriptor taken = taken_from(envelope.message);
  if (got == sizeof answer && answer.magic == Answer().magic && answer.proof == half(secret, 1)) {
    if (taken.is_open()) return taken;
    // The kernel drops what there is no number for.
    return failure("taking the node's shared memory", EMFILE);
  }
  return leader_error(leader, "has hung up (its start has failed, or it has ended)", number);
}

Error late_error(Rank leader, const HandoverWait& wait) {
  return error(ESP_ERR_TIMEOUT,
               fmt::format("rank {}, which makes the node's shared memory, did not answer in {} s",
                           leader, wait.limit_ns / kNanosecondsPerSecond),
               leader);
}

}  // namespace

Result<MeetingPoint> MeetingPoint::open(const MeetingAddress& address) {
  Descriptor listener(::socket(AF_UNIX, kFlags, 0));
  if (!listener.is_open()) return failure("making a Unix socket", errno);
  const Name name = name_of(address);
  const auto* at = reinterpret_cast<const sockaddr*>(&name.address);
  if (::bind(listener.fd(), at, name.bytes) != 0 || ::listen(listener.fd(), SOMAXCONN) != 0) {
    return failure("listening at an abstract Unix socket", errno);
  }
  // The leader has the file and a visitor, a guest its connection and the file.
  std::array<Descriptor, 2> needed;
  for (Descriptor& one : needed) {
    one = Descriptor(::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0));
    if (!one.is_open()) return failure("handing the node's shared memory over", errno);
  }
  return MeetingPoint(std::move(listener), address);
}

Outcome MeetingPoint::hand_out(int descriptor, std::span<const Guest> guests,
                               const HandoverWait& wait) {
  return Handout(listener_.fd(), address_.secret, descriptor, guests, wait).run();
}

Result<Descriptor> MeetingPoint::fetch(const MeetingAddress& address, Rank leader, Rank me,
                                       const HandoverWait& wait) {
  const std::uint64_t begin = wait.clock.now_ns();
  const auto is_late = [&] { return elapsed_ns(begin, wait.clock.now_ns()) > wait.limit_ns; };
  Descriptor socket;
  // EAGAIN: so many wait for it already.
  for (int number = EAGAIN; number != 0; (void)::poll(nullptr, 0, 1)) {
    number = connect_to(address, socket);
    if (number == 0) break;
    if (number == ECONNREFUSED) {
      return leader_error(leader, "is not there (its start has failed, or it has ended)", number);
    }
    if (number != EAGAIN) {
      return leader_error(leader, "cannot be met (a sandbox? WIRES=tcp does without it)", number);
    }
    if (is_late()) return late_error(leader, wait);
  }
  Hello hello;
  hello.proof = half(address.secret, 0);
  hello.rank = me;
  if (::send(socket.fd(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
    return leader_error(leader, "has hung up (its start has failed, or it has ended)", errno);
  }
  while (true) {
    pollfd one{socket.fd(), POLLIN, 0};
    wait_readable({&one, 1});
    auto taken = read_answer(socket.fd(), address.secret, leader);
    if (!taken || taken->is_open()) return taken;
    if (is_late()) return late_error(leader, wait);
  }
}

std::optional<VisiblePid> MeetingPoint::listener_of(const MeetingAddress& address) noexcept {
  Descriptor socket;
  const int number = connect_to(address, socket);
  if (number == ECONNREFUSED) return std::nullopt;
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (number != 0 ||
      ::getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return VisiblePid();
  }
  return VisiblePid(credentials.pid);
}

}  // namespace espalier::shm
