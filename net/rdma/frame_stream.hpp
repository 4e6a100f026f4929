// Frames in packets: a stream of header, payload, header, payload ... is cut into packets. Small
// frames share a packet, large ones fill many. A header is never cut: what is left of a packet and
// shorter than a header stays empty.
//
// Ownership: payloads of pending posts are the caller's (see net/link.hpp); a post that was
// withdrawn owns a copy. Threads: owner. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "net/link.hpp"
#include "net/rdma/datagram_port.hpp"

namespace espalier::rdma {

// A frame on its way into packets.
struct FramePost {
  // Payloads up to here are copied at once, so that their owner need not wait.
  static constexpr std::size_t kInlineBytes = 128;

  FramePost(const net::FrameHeader& header, const void* data) noexcept
      : head(net::frame_bytes(header)),
        payload(static_cast<const std::byte*>(data)),
        bytes(header.bytes) {}

  // Appends as much as there is room for, less `keep_free` bytes at the packet's end. True: all of
  // it is in packets now.
  bool pack(Packet& packet, std::uint32_t keep_free = 0) noexcept;
  // The owner of the payload wants it back. False: no memory.
  bool keep_copy() noexcept;
  // The same without asking for memory, for small payloads.
  void keep_inline() noexcept;

  net::FrameBytes head;
  const std::byte* payload;
  std::uint64_t bytes;
  std::uint64_t packed = 0;
  bool begun = false;
  Completion* completion = nullptr;  // nullptr: nobody waits
  FramePost* next = nullptr;
  std::unique_ptr<std::byte[]> copy;
  std::array<std::byte, kInlineBytes> small;
};

// Takes frames out of packets, in the order in which they were packed.
class FrameReader {
 public:
  // Hands the frames of a packet's payload to the sink. Nothing: go on; else what is wrong with
  // them. Stops when stop() is called meanwhile.
  std::optional<Error> take(Rank from, std::span<const std::byte> bytes, std::uint64_t payload_max,
                            net::FrameSink& sink);
  void redirect(std::byte* payload) noexcept;
  void stop() noexcept { stopped_ = true; }
  bool stopped() const noexcept { return stopped_; }
  // A frame has begun and not ended.
  bool inside() const noexcept { return inside_; }
  // The header that was read last.
  const net::FrameHeader& last() const noexcept { return header_; }

 private:
  net::FrameHeader header_;
  std::byte* payload_ = nullptr;
  std::uint64_t come_ = 0;
  bool inside_ = false;
  bool stopped_ = false;
};

}  // namespace espalier::rdma
