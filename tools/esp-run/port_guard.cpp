#include "port_guard.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace esp_run {
namespace {

constexpr int kGreetingLimitSeconds = 5;

bool is_listening(int fd) {
  int value = 0;
  socklen_t bytes = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &bytes) == 0 && value != 0;
}

void guard(int fd) {
  setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kGreetingLimitSeconds,
             sizeof(kGreetingLimitSeconds));
  const timeval limit{kGreetingLimitSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

}  // namespace

void guard_listening_ports(int first_fd) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failure)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= first_fd && is_listening(fd)) guard(fd);
  }
}

}  // namespace esp_run
