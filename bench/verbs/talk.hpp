// What the measurements of esp-verbs have in common: memory that the links know or not, operations
// that note their end, and a conversation with the other end. Everything that fails throws.
// Threads: one. path: setup
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "verbs/measure.hpp"

namespace espalier::bench {

constexpr std::uint32_t kSignature = 0xE5;
enum Channel : std::uint32_t { kData, kReady, kResult };

inline void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

struct Receive : RecvOp {
  Receive() noexcept
      : RecvOp([](Completion& self, Status how) noexcept {
          static_cast<Receive&>(self).done = true;
          static_cast<Receive&>(self).status = how;
        }) {}
  bool done = true;
};
template <typename Op>
struct Noted : Op {
  Noted() noexcept
      : Op([](Completion& self, Status how) noexcept {
          static_cast<Noted&>(self).done = true;
          static_cast<Noted&>(self).failed = !how.ok();
        }) {}
  bool done = true, failed = false;
};
using Sending = Noted<SendOp>;

// Memory that the links know, or not, while this lives. Begins with a page: what shares one with
// another place is registered together with it.
class Buffer {
 public:
  Buffer(End& end, std::uint64_t bytes, Memory kind)
      : end_(end), bytes_(static_cast<std::byte*>(std::aligned_alloc(kPage, whole_pages(bytes)))) {
    require(bytes_ != nullptr, "no memory");
    std::memset(bytes_.get(), 0, bytes);
    if (kind != Memory::kRegistered || end.connections() == nullptr) return;
    const Outcome added = end.connections()->memory().add(bytes_.get(), bytes);
    require(added.ok(), "memory cannot be registered");
    registered_ = true;
  }
  ~Buffer() {
    if (registered_) end_.connections()->memory().remove(bytes_.get());
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* at(std::uint64_t offset) noexcept { return bytes_.get() + offset; }

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    return (bytes + kPage - 1) / kPage * kPage;
  }
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  End& end_;
  std::unique_ptr<std::byte, Free> bytes_;
  bool registered_ = false;
};

// The number of a message stands at both its ends.
inline void stamp(std::byte* message, std::uint64_t bytes, std::uint64_t number) noexcept {
  const std::size_t part = std::min<std::uint64_t>(bytes, sizeof number);
  std::memcpy(message, &number, part);
  std::memcpy(message + bytes - part, &number, part);
}
inline bool stamped(const std::byte* message, std::uint64_t bytes, std::uint64_t number) noexcept {
  const std::size_t part = std::min<std::uint64_t>(bytes, sizeof number);
  return std::memcmp(message, &number, part) == 0 &&
         std::memcmp(message + bytes - part, &number, part) == 0;
}

// One end's conversation with the other.
class Talk {
 public:
  explicit Talk(End& end) noexcept : end_(end) {}

  static std::uint64_t next_flow() noexcept {
    static std::uint64_t flow = 0;  // Both processes do the same tasks.
    return ++flow;
  }
  SegmentId segment(std::uint64_t flow, Channel channel) const noexcept {
    return {.peer = end_.peer(), .flow = FlowId(1, channel, flow), .signature = kSignature};
  }
  void receive(const SegmentId& what, std::uint32_t window, Receive& op, std::byte* to,
               std::uint64_t bytes) noexcept {
    op.dst = to;
    op.bytes = bytes;
    op.done = end_.wire().recv(what, window, op) == Posted::kDone;
  }
  // False: there is no room now.
  bool try_send(const SegmentId& what, Sending& op, const std::byte* from, std::uint64_t bytes) {
    const Send send = {
        .segment = what, .data = from, .bytes = bytes, .flow_bytes = bytes * what.total};
    const Posted posted = end_.wire().send(send, op);
    op.done = posted != Posted::kPending;
    return posted != Posted::kRetry;
  }
  void send(const SegmentId& what, Sending& op, const std::byte* from, std::uint64_t bytes) {
    while (!try_send(what, op, from, bytes)) (void)end_.wire().progress();
  }
  void wait(const Receive& op) {
    while (!op.done) (void)end_.wire().progress();
    require(op.status.ok(), "a receive has failed");
  }
  void wait(const Sending& op) {
    while (!op.done) (void)end_.wire().progress();
    require(!op.failed, "a send has failed");
  }
  // Rank 1's answer, at rank 0; rank 1 gets its own back.
  template <typename T>
  T tell(Channel channel, const T& mine) {
    return pass(1, channel, mine);
  }
  // Rank 0's, at rank 1.
  template <typename T>
  T say(Channel channel, const T& mine) {
    return pass(0, channel, mine);
  }
  // Back when both send by their connections.
  void connect() {
    for (bool both = false; !both;) {
      const bool theirs = tell(kReady, end_.connected());
      both = say(kReady, theirs && end_.connected());
    }
  }

 private:
  template <typename T>
  T pass(Rank from, Channel channel, const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    const SegmentId id = segment(next_flow(), channel);
    T theirs = mine;
    if (end_.rank() == from) {
      Sending op;
      send(id, op, reinterpret_cast<const std::byte*>(&mine), sizeof mine);
      wait(op);
    } else {
      Receive op;
      receive(id, 1, op, reinterpret_cast<std::byte*>(&theirs), sizeof theirs);
      wait(op);
    }
    return theirs;
  }

  End& end_;
};

// What happened between two tallies, per segment.
nlohmann::json counted(const Tally& before, const Tally& after, double segments);
nlohmann::json begin_row(End& end, const Task& task, const char* kind);

}  // namespace espalier::bench
