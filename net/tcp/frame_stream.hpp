// FrameWriter and FrameReader: frames into and out of a non-blocking byte stream.
//
// The writer gathers headers and payloads of many frames into one system call; small payloads are
// copied at once, others are written from where they lie. The reader receives payloads where the
// sink wants them: one call fills the rest of a payload and then a staging buffer in which the next
// headers and small frames stand. A large frame that the sink does not expect, right behind one
// that has just ended, waits for the next read(): who is told of that one may then ask for it.
//
// Before a large payload the writer pads the header, so that the payload stands in its line of 64
// bytes in the kernel's memory as in the caller's, where the header stands at the begin of one.
// AMD's Zen 3 and 4 copy (`rep movsb`, which kernel and libc use) 13 times slower where the
// destination is 1 to 31 bytes ahead of the source modulo the size of a page: as it is with a
// header of 28 bytes at the begin of the kernel's page and a payload at the begin of the caller's.
//
// Neither owns the descriptor. Threads: owner. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/completion.hpp"
#include "core/counters.hpp"
#include "core/pool.hpp"
#include "net/frame.hpp"
#include "net/link.hpp"

namespace espalier::net {

// Completions to be called later, with their status.
struct Finished {
  Completion* completion = nullptr;
  Status status;
};

struct OutFrame {
  static constexpr std::uint64_t kInlineBytes = 512;

  OutFrame* next = nullptr;
  Completion* completion = nullptr;    // of a payload that is the caller's
  const std::byte* payload = nullptr;  // copied, or the caller's
  std::uint64_t bytes = 0;             // of the payload
  std::uint64_t written = 0;           // of head and payload
  std::unique_ptr<std::byte[]> rest;   // copy of what a withdrawn payload still has to give
  std::uint64_t head_bytes = 0;        // header and padding
  // Only headers are ever written: what follows is 0.
  std::array<std::byte, kFrameHeaderBytes + kPaddingMax> head = {};
  std::byte copied[kInlineBytes];

  std::uint64_t size() const noexcept { return head_bytes + bytes; }
};

class FrameWriter {
 public:
  static constexpr std::size_t kFramesMax = 256;  // under way, at most

  explicit FrameWriter(Pool<OutFrame>& frames) noexcept : frames_(frames) {}
  ~FrameWriter() { clear(); }
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t count() const noexcept { return count_; }
  // Queues a frame whose payload is the caller's until keep() or write() has passed it. False: no
  // room.
  bool push(const FrameHeader& header, const void* payload) noexcept;
  // The frame pushed last: copies its payload if it is small, else `completion` tells. kDone if
  // nothing of it is needed any more.
  Posted keep(Completion& completion) noexcept;

  // kAll: nothing is left; kMore: call again; kFull: when the socket is writable; kBroken:
  // `failure` is the errno.
  enum class Wrote : std::uint8_t { kAll, kMore, kFull, kBroken };
  // Appends the completions of payloads that have gone.
  Wrote write(int fd, std::vector<Finished>& finished, Counters& counters, int& failure) noexcept;

  // Copies what the frame of this completion still needs. False: no memory. `found` tells whether
  // there is such a frame.
  bool withdraw(Completion& completion, bool& found) noexcept;
  // Gives up everything; completions go to `finished` with this status.
  void fail(const Status& why, std::vector<Finished>& finished) noexcept;
  void clear() noexcept;

 private:
  void pop(std::vector<Finished>& finished) noexcept;

  Pool<OutFrame>& frames_;
  OutFrame* first_ = nullptr;
  OutFrame* last_ = nullptr;
  std::size_t count_ = 0;
};

class FrameReader {
 public:
  enum class Outcome : std::uint8_t {
    kDrained,  // nothing more for now, or enough for one call
    kEnd,      // the peer has closed its side
    kBroken,   // failure.status has the errno, or what came is not a frame
  };

  // Hands what has come to the sink. `staging` is shared by all readers; nothing stays in it.
  Outcome read(int fd, Rank from, FrameSink& sink, std::span<std::byte> staging, Counters& counters,
               Error& failure, int& events) noexcept;
  // The payload under way goes to other memory.
  void redirect(std::byte* payload) noexcept;
  // The connection is given up, maybe from inside read(): no memory of the sink is touched again.
  void stop() noexcept { stopped_ = true; }
  bool peer_said_goodbye() const noexcept { return goodbye_; }
  // The frame heard last is small.
  bool in_small_frames() const noexcept;
  // Its rest has not come.
  bool is_in_payload() const noexcept { return in_payload_; }

 private:
  bool wait_for_receive(Rank from, const FrameSink& sink) const noexcept;
  bool consume(Rank from, FrameSink& sink, std::span<const std::byte> bytes, Error& failure,
               int& events) noexcept;
  bool parse(Rank from, Error& failure) noexcept;
  bool begin_frame(Rank from, FrameSink& sink, int& events) noexcept;
  void end_frame(Rank from, FrameSink& sink, int& events) noexcept;

  FrameBytes head_ = {};
  std::size_t head_bytes_ = 0;
  FrameHeader header_;
  bool waits_ = false;  // the header has come; begin_frame() is for the next read()
  bool ended_ = false;  // a frame, in this read()
  bool in_payload_ = false;
  std::size_t padding_left_ = 0;  // to come before the payload
  std::byte* payload_ = nullptr;
  std::uint64_t payload_bytes_ = 0;  // of it, that have come
  bool stopped_ = false;
  bool goodbye_ = false;
};

}  // namespace espalier::net
