// Segments and their bytes, as a stranger writes them.
#pragma once

#include <vector>

#include "core/wire.hpp"
#include "net/frame.hpp"

namespace espalier::test {

inline net::FrameHeader segment(std::uint64_t sequence, std::uint64_t bytes,
                                std::uint32_t total = 1) {
  net::FrameHeader header;
  header.flow = FlowId(1, 2, sequence).key;
  header.total = total;
  header.bytes = bytes;
  return header;
}

inline std::vector<std::byte> frame(const net::FrameHeader& header, std::uint64_t bytes) {
  const net::FrameBytes head = net::frame_bytes(header);
  std::vector<std::byte> all(head.begin(), head.end());
  all.resize(head.size() + bytes, std::byte{7});
  return all;
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace espalier::test
