#include "rendezvous.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kStrangersMax = 64;  // Besides the nodes, which begin as strangers.

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_small_frames_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Takes the same time wherever the first difference is.
bool is_equal_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

Rendezvous::Rendezvous(int nodes) : has_joined_(static_cast<std::size_t>(nodes)) {
  secret_.resize(kSecretBytes);
  if (getrandom(secret_.data(), kSecretBytes, 0) != static_cast<ssize_t>(kSecretBytes)) {
    fail_with_errno("getrandom");
  }
  listener_ = espalier::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener_.is_open() || bind(listener_.fd(), generic, length) != 0 ||
      listen(listener_.fd(), SOMAXCONN) != 0 ||
      getsockname(listener_.fd(), generic, &length) != 0) {
    fail_with_errno("cannot listen on 127.0.0.1 (is the loopback interface up?)");
  }
  port_ = ntohs(address.sin_port);
}

std::vector<int> Rendezvous::fds() const {
  std::vector<int> result;
  if (!listener_.is_open()) return result;
  result.push_back(listener_.fd());
  for (const FrameStream& stream : strangers_) result.push_back(stream.fd());
  return result;
}

void Rendezvous::close() {
  listener_.close();
  strangers_.clear();
}

void Rendezvous::accept_all() {
  while (true) {
    espalier::Descriptor connection(
        accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) return;  // No more, or one that went away again.
    send_small_frames_at_once(connection.fd());
    if (strangers_.size() == kStrangersMax + has_joined_.size()) strangers_.pop_front();
    strangers_.emplace_back(std::move(connection), kSecretBytes);
  }
}

bool Rendezvous::try_to_join(FrameStream& stream, std::vector<Joined>& joined) {
  stream.read();
  const std::optional<Frame> hello = stream.next();  // What follows is for the owner of the stream.
  if (!hello) return false;
  const auto node = static_cast<std::size_t>(hello->rank);
  if (hello->kind != FrameKind::kHello || !is_equal_secret(hello->payload, secret_) ||
      node >= has_joined_.size() || has_joined_[node]) {
    stream.close();
    return false;
  }
  has_joined_[node] = true;
  ++joined_count_;
  stream.allow_payloads(kPayloadBytesMax);
  joined.push_back({hello->rank, std::move(stream)});
  return true;
}

std::vector<Rendezvous::Joined> Rendezvous::progress() {
  std::vector<Joined> joined;
  if (!listener_.is_open()) return joined;
  accept_all();
  for (auto stream = strangers_.begin(); stream != strangers_.end();) {
    const bool is_done = try_to_join(*stream, joined) || !stream->is_open();
    stream = is_done ? strangers_.erase(stream) : stream + 1;
  }
  if (is_complete()) close();
  return joined;
}

FrameStream join(std::uint16_t port, const std::string& secret, int node) {
  espalier::Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (!connection.is_open() ||
      connect(connection.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail_with_errno("a node cannot reach the root on 127.0.0.1");
  }
  send_small_frames_at_once(connection.fd());
  FrameStream stream(std::move(connection), kPayloadBytesMax);
  stream.send({FrameKind::kHello, node, 0, 0, secret});
  return stream;
}

}  // namespace esp_run
