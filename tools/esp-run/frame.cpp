#include "frame.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace esp_run {
namespace {

struct Header {
  std::uint32_t payload_bytes;
  FrameKind kind;
  std::int32_t rank;
  std::int32_t status;
  std::uint64_t id;
};
static_assert(sizeof(Header) == 24);

}  // namespace

std::string pack_fence(const std::vector<std::int32_t>& ranks, const char* data,
                       std::size_t bytes) {
  const std::uint64_t count = ranks.size();
  std::string payload(reinterpret_cast<const char*>(&count), sizeof(count));
  payload.append(reinterpret_cast<const char*>(ranks.data()), count * sizeof(ranks[0]));
  if (bytes > 0) payload.append(data, bytes);
  return payload;
}

std::optional<FencePayload> unpack_fence(const std::string& payload) {
  std::uint64_t count = 0;
  if (payload.size() < sizeof(count)) return std::nullopt;
  std::memcpy(&count, payload.data(), sizeof(count));
  if (count > (payload.size() - sizeof(count)) / sizeof(std::int32_t)) return std::nullopt;
  FencePayload result;
  result.ranks.resize(count);
  const std::size_t ranks_bytes = count * sizeof(std::int32_t);
  if (count > 0) std::memcpy(result.ranks.data(), payload.data() + sizeof(count), ranks_bytes);
  result.data = payload.substr(sizeof(count) + ranks_bytes);
  return result;
}

FrameStream::FrameStream(espalier::Descriptor socket, std::uint32_t payload_bytes_max)
    : socket_(std::move(socket)), payload_bytes_max_(payload_bytes_max) {}

void FrameStream::send(const Frame& frame) {
  if (!is_open()) return;
  const Header header{static_cast<std::uint32_t>(frame.payload.size()), frame.kind, frame.rank,
                      frame.status, frame.id};
  unsent_.append(reinterpret_cast<const char*>(&header), sizeof(header));
  unsent_ += frame.payload;
  flush();
}

void FrameStream::flush() {
  while (is_open() && has_unsent()) {
    const ssize_t sent = ::send(fd(), unsent_.data() + unsent_start_,
                                unsent_.size() - unsent_start_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return close();
    unsent_start_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  unsent_start_ = 0;
}

std::vector<Frame> FrameStream::receive() {
  read();
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = next()) frames.push_back(std::move(*frame));
  return frames;
}

void FrameStream::read() {
  received_.erase(0, received_start_);
  received_start_ = 0;
  std::array<char, 65536> buffer;
  while (is_open()) {
    const ssize_t count = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close();
    received_.append(buffer.data(), static_cast<std::size_t>(count));
    // Poll tells when there is more: a stranger must not fill the memory, nor one node starve
    // others.
    if (received_.size() > std::size_t{payload_bytes_max_} + sizeof(Header)) return;
    if (static_cast<std::size_t>(count) < buffer.size()) return;
  }
}

std::optional<Frame> FrameStream::next() {
  Header header;
  const std::size_t available = received_.size() - received_start_;
  if (available < sizeof(header)) return std::nullopt;
  std::memcpy(&header, received_.data() + received_start_, sizeof(header));
  if (header.payload_bytes > payload_bytes_max_) {
    close();
    return std::nullopt;
  }
  if (available < sizeof(header) + header.payload_bytes) return std::nullopt;
  Frame frame{header.kind, header.rank, header.status, header.id,
              received_.substr(received_start_ + sizeof(header), header.payload_bytes)};
  received_start_ += sizeof(header) + header.payload_bytes;
  return frame;
}

}  // namespace esp_run
