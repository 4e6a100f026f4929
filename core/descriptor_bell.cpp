#include "core/descriptor_bell.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "core/open_files.hpp"

namespace espalier {
namespace {

struct Address {
  explicit Address(std::uint64_t mailbox) noexcept {
    name.sun_family = AF_UNIX;
    // The leading zero byte makes the name abstract.
    const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
                                     "espalier-%016llx", static_cast<unsigned long long>(mailbox));
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                   static_cast<std::size_t>(length));
  }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }

  sockaddr_un name{};
  socklen_t bytes = 0;
};

int open_socket() noexcept {
  return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool send_to(int fd, const Address& address) noexcept {
  const char byte = 1;
  return ::sendto(fd, &byte, sizeof byte, MSG_NOSIGNAL, address.get(), address.bytes) > 0;
}

}  // namespace

// By which rings go, of any thread; -1: there was no descriptor for it. Not a job's: a Bell, which
// is all that ringers know, lies in memory of several processes.
static int sender() noexcept {
  static const int fd = open_socket();
  return fd;
}

Result<std::unique_ptr<DescriptorBell>> DescriptorBell::create() {
  std::uint64_t mailbox = 0;
  if (::getrandom(&mailbox, sizeof mailbox, 0) != sizeof mailbox) {
    return error(ESP_ERR_SYSTEM, "getrandom failed", kNoRank, errno);
  }
  const int fd = open_socket();
  const Address address(mailbox);
  if (fd < 0 || ::bind(fd, address.get(), address.bytes) != 0) {
    const int number = errno;
    if (fd >= 0) ::close(fd);
    return error(number == EMFILE || number == ENFILE ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
                 fmt::format("a socket for the worker's descriptor: {}{}", std::strerror(number),
                             open_files_hint(number)),
                 kNoRank, number);
  }
  return std::unique_ptr<DescriptorBell>(new DescriptorBell(fd, mailbox));
}

DescriptorBell::~DescriptorBell() {
  ::close(fd_);
}

void DescriptorBell::drain() noexcept {
  char byte = 0;
  while (::recv(fd_, &byte, sizeof byte, 0) > 0) {
  }
}

void prepare_to_ring() noexcept {
  (void)sender();
}

void ring_mailbox(std::uint64_t mailbox) noexcept {
  const Address address(mailbox);
  if (send_to(sender(), address) || errno == ECONNREFUSED) return;
  // It holds what sleepers have not read yet, and may be full of that; or the program has closed
  // what it did not know. A new one is not, and when the mailbox is full, that is as good.
  const int fd = open_socket();
  if (fd < 0) return;  // The sleeper looks around by itself now and then.
  (void)send_to(fd, address);
  ::close(fd);
}

}  // namespace espalier
