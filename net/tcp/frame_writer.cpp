// FrameWriter. path: data
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/copy.hpp"
#include "net/tcp/frame_stream.hpp"

namespace espalier::net {
namespace {

constexpr std::size_t kPieces = 64;  // per call: 32 frames with payload
// Written by one call of write(): a peer that takes everything does not starve the others.
constexpr std::uint64_t kWriteBudgetBytes = std::uint64_t{4} << 20;

// Up to so many bytes are copied into one piece: the kernel takes longer to look at a list of
// pieces (8 bytes in a stream between nodes, with recv() for readv() at the other end: 6.4 us,
// not 7.8).
constexpr std::size_t kOnePieceBytes = kFrameHeaderBytes + 4096;

// How many bytes bring a payload to the place modulo a line that it has in the caller's memory,
// after a header at the begin of a line: where the kernel begins a page anew, as it does whenever
// nothing sent before waits to be read.
std::uint8_t padding_before(const void* payload, std::uint64_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  static_assert(kPaddingMax == kLine - kPaddingStep);
  if (kFrameHeaderBytes + bytes <= kOnePieceBytes) return 0;
  const std::size_t off = reinterpret_cast<std::uintptr_t>(payload) - kFrameHeaderBytes;
  return static_cast<std::uint8_t>(off % kLine / kPaddingStep * kPaddingStep);
}

// What is left of frames, as far as there is room.
struct Gathered {
  std::array<iovec, kPieces> pieces;
  std::size_t count = 0;
  std::uint64_t bytes = 0;

  void add(const std::byte* begin, std::uint64_t length) noexcept {
    // sendmsg() does not write through it.
    pieces[count++] = {const_cast<std::byte*>(begin), length};
    bytes += length;
  }
  void add(const OutFrame& frame) noexcept {
    if (frame.written < frame.head_bytes) {
      add(frame.head.data() + frame.written, frame.head_bytes - frame.written);
      if (frame.bytes > 0) add(frame.payload, frame.bytes);
    } else {
      const std::uint64_t done = frame.written - frame.head_bytes;
      add(frame.payload + done, frame.bytes - done);
    }
  }

  ssize_t send(int fd) noexcept {
    if (count == 1) return ::send(fd, pieces[0].iov_base, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes <= kOnePieceBytes) return send_copied(fd);
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ssize_t send_copied(int fd) const noexcept {
    alignas(64) std::byte copy[kOnePieceBytes];
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      copy_bytes(copy + at, pieces[i].iov_base, pieces[i].iov_len);
      at += pieces[i].iov_len;
    }
    return ::send(fd, copy, at, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
};

}  // namespace

bool FrameWriter::push(const FrameHeader& header, const void* payload) noexcept {
  if (count_ == kFramesMax) return false;
  OutFrame* frame = frames_.allocate();
  if (frame == nullptr) return false;
  FrameHeader padded = header;
  padded.padding = padding_before(payload, header.bytes);
  const FrameBytes bytes = frame_bytes(padded);
  std::copy(bytes.begin(), bytes.end(), frame->head.begin());
  frame->head_bytes = bytes.size() + padded.padding;
  frame->payload = static_cast<const std::byte*>(payload);
  frame->bytes = header.bytes;
  (first_ == nullptr ? first_ : last_->next) = frame;
  last_ = frame;
  ++count_;
  return true;
}

Posted FrameWriter::keep(Completion& completion) noexcept {
  if (empty()) return Posted::kDone;  // It has been written: there is none behind it.
  OutFrame& frame = *last_;
  if (frame.bytes <= OutFrame::kInlineBytes) {
    if (frame.bytes > 0) std::memcpy(frame.copied, frame.payload, frame.bytes);
    frame.payload = frame.copied;
    return Posted::kDone;
  }
  frame.completion = &completion;
  return Posted::kPending;
}

FrameWriter::Wrote FrameWriter::write(int fd, std::vector<Finished>& finished, Counters& counters,
                                      int& failure) noexcept {
  for (std::uint64_t total = 0; total < kWriteBudgetBytes;) {
    if (empty()) return Wrote::kAll;
    Gathered gathered;
    for (OutFrame* f = first_; f != nullptr && gathered.count + 2 <= kPieces; f = f->next) {
      gathered.add(*f);
    }
    const ssize_t wrote = gathered.send(fd);
    ++counters.socket_calls;
    if (wrote < 0) {
      failure = errno;
      if (failure == EINTR) continue;
      if (failure == EAGAIN || failure == EWOULDBLOCK) return Wrote::kFull;
      // Memory of the kernel: comes back without an event to wait for.
      return failure == ENOBUFS || failure == ENOMEM ? Wrote::kMore : Wrote::kBroken;
    }
    auto left = static_cast<std::uint64_t>(wrote);
    total += left;
    while (left > 0) {
      const std::uint64_t part = std::min(left, first_->size() - first_->written);
      first_->written += part;
      left -= part;
      if (first_->written == first_->size()) pop(finished);
    }
    if (static_cast<std::uint64_t>(wrote) < gathered.bytes) return Wrote::kFull;
  }
  return empty() ? Wrote::kAll : Wrote::kMore;
}

void FrameWriter::pop(std::vector<Finished>& finished) noexcept {
  OutFrame* frame = first_;
  first_ = frame->next;
  --count_;
  if (frame->completion != nullptr) finished.push_back({frame->completion, {}});
  frames_.release(frame);
}

bool FrameWriter::withdraw(Completion& completion, bool& found) noexcept {
  found = false;
  for (OutFrame* frame = first_; frame != nullptr; frame = frame->next) {
    if (frame->completion != &completion) continue;
    found = true;
    frame->completion = nullptr;
    frame->rest.reset(new (std::nothrow) std::byte[frame->bytes]);
    if (frame->rest == nullptr) return false;
    copy_bytes(frame->rest.get(), frame->payload, frame->bytes);
    frame->payload = frame->rest.get();
  }
  return true;
}

void FrameWriter::fail(const Status& why, std::vector<Finished>& finished) noexcept {
  for (OutFrame* frame = first_; frame != nullptr; frame = frame->next) {
    if (frame->completion != nullptr) finished.push_back({frame->completion, why});
  }
  clear();
}

void FrameWriter::clear() noexcept {
  while (first_ != nullptr) {
    OutFrame* frame = first_;
    first_ = frame->next;
    frames_.release(frame);
  }
  count_ = 0;
}

}  // namespace espalier::net
