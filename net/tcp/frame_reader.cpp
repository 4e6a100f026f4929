// FrameReader. path: data
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/copy.hpp"
#include "net/tcp/frame_stream.hpp"
#include "net/tcp/socket.hpp"

namespace espalier::net {
namespace {

// Read by one call of read(), as much as a segment has: a peer that sends much does not starve the
// others, and what has come is combined while it is in the cache (a reduction of 4 MiB between two
// nodes: 855 us; with 1 MiB here 956).
constexpr std::uint64_t kReadBudgetBytes = 256 << 10;
// After a payload from here on the next frame is probably large, too: only its header is read
// ahead, so that its payload is not copied.
constexpr std::uint64_t kLargePayload = 16 << 10;

}  // namespace

FrameReader::Outcome FrameReader::read(int fd, Rank from, FrameSink& sink,
                                       std::span<std::byte> staging, Counters& counters,
                                       Error& failure, int& events) noexcept {
  ended_ = false;
  if (stopped_) return Outcome::kDrained;
  if (std::exchange(waits_, false) && !begin_frame(from, sink, events)) return Outcome::kBroken;
  for (std::uint64_t total = 0; total < kReadBudgetBytes && !stopped_ && !waits_;) {
    const std::uint64_t direct = in_payload_ ? header_.bytes - payload_bytes_ : 0;
    const std::size_t ahead = header_.bytes >= kLargePayload ? kFrameHeaderBytes : staging.size();
    std::array<std::byte, kPaddingMax> nothing;
    const iovec pieces[] = {{nothing.data(), padding_left_},
                            {payload_ + payload_bytes_, direct},
                            {staging.data(), ahead}};
    // The kernel takes longer to look at a list.
    const int first = padding_left_ > 0 ? 0 : 1;
    const ssize_t got =
        direct > 0 ? ::readv(fd, pieces + first, 3 - first) : ::recv(fd, staging.data(), ahead, 0);
    ++counters.socket_calls;
    if (got == 0) return Outcome::kEnd;
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kDrained;
      failure = socket_error("read", errno);
      return Outcome::kBroken;
    }
    const auto bytes = static_cast<std::uint64_t>(got);
    const std::uint64_t padding = direct > 0 ? std::min<std::uint64_t>(bytes, padding_left_) : 0;
    padding_left_ -= padding;
    const std::uint64_t placed = std::min(bytes - padding, direct);
    payload_bytes_ += placed;
    if (direct > 0 && placed == direct) end_frame(from, sink, events);
    if (!consume(from, sink, staging.first(bytes - padding - placed), failure, events)) {
      return Outcome::kBroken;
    }
    total += bytes;
    // More would be reported by epoll.
    if (bytes - padding < direct + ahead) return Outcome::kDrained;
  }
  return Outcome::kDrained;
}

bool FrameReader::in_small_frames() const noexcept {
  return header_.bytes < kLargePayload;
}

// Bytes that stand in the staging buffer. False: they are not ours, or the connection was given up.
bool FrameReader::consume(Rank from, FrameSink& sink, std::span<const std::byte> bytes,
                          Error& failure, int& events) noexcept {
  while (!bytes.empty() && !stopped_) {
    if (in_payload_) {
      const std::size_t padding = std::min(bytes.size(), padding_left_);
      padding_left_ -= padding;
      bytes = bytes.subspan(padding);
      const auto part = static_cast<std::size_t>(
          std::min<std::uint64_t>(bytes.size(), header_.bytes - payload_bytes_));
      copy_bytes(payload_ + payload_bytes_, bytes.data(), part);
      payload_bytes_ += part;
      bytes = bytes.subspan(part);
      if (payload_bytes_ == header_.bytes) end_frame(from, sink, events);
      continue;
    }
    const std::size_t part = std::min(bytes.size(), kFrameHeaderBytes - head_bytes_);
    std::memcpy(head_.data() + head_bytes_, bytes.data(), part);
    head_bytes_ += part;
    bytes = bytes.subspan(part);
    if (head_bytes_ < kFrameHeaderBytes) continue;
    if (!parse(from, failure)) return false;
    waits_ = bytes.empty() && wait_for_receive(from, sink);
    if (!waits_ && !begin_frame(from, sink, events)) return false;
  }
  return !stopped_;
}

// Only where more has to come that shows it: the rest of a payload.
bool FrameReader::wait_for_receive(Rank from, const FrameSink& sink) const noexcept {
  return ended_ && header_.bytes >= kLargePayload && !sink.expects(from, header_);
}

bool FrameReader::parse(Rank from, Error& failure) noexcept {
  head_bytes_ = 0;
  auto parsed = parse_frame(head_, kSegmentBytesMax, Padding::kAllowed);
  if (!parsed) {
    failure = parsed.error();
    return false;
  }
  if (goodbye_) {
    failure = error(ESP_ERR_NETWORK, "a frame after the goodbye", from);
    return false;
  }
  header_ = *parsed;
  padding_left_ = header_.padding;
  return true;
}

bool FrameReader::begin_frame(Rank from, FrameSink& sink, int& events) noexcept {
  if (header_.kind == FrameKind::kGoodbye) {
    goodbye_ = true;
    return true;
  }
  payload_ = sink.begin(from, header_);
  payload_bytes_ = 0;
  if (stopped_) return false;
  in_payload_ = true;
  ESP_ASSERT(payload_ != nullptr || header_.bytes == 0);
  if (header_.bytes == 0) end_frame(from, sink, events);
  return !stopped_;
}

void FrameReader::end_frame(Rank from, FrameSink& sink, int& events) noexcept {
  in_payload_ = false;
  ended_ = true;
  ++events;
  sink.end(from, header_, payload_);
}

void FrameReader::redirect(std::byte* payload) noexcept {
  ESP_ASSERT(in_payload_);
  if (payload_bytes_ > 0) copy_bytes(payload, payload_, payload_bytes_);
  payload_ = payload;
}

}  // namespace espalier::net
