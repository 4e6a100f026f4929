// PartSize: how much of a read or write goes in one piece.
//
// An adapter counts what it repeats until a piece is through, and gives up: where connections break
// under pieces those become smaller, where many pass larger again. Each break asks for twice as
// many that pass, so that what is restarted by a break gets through in the end.
//
// Values. path: data
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::rdma {

// The largest: adapters have limits, and a break repeats less.
inline constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;

class PartSize {
 public:
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;
  static constexpr std::uint32_t kTrusted = 64;
  static constexpr std::uint32_t kTrustedMax = 1 << 16;

  std::uint64_t bytes() const noexcept { return bytes_; }
  // A connection broke that had pieces of more than kLeast under way.
  void broke() noexcept {
    bytes_ = std::max(bytes_ / 4, kLeast);
    passed_ = 0;
    wanted_ = std::min(2 * wanted_, kTrustedMax);
  }
  // A piece of so many bytes is through. Those of ends and of small things say nothing.
  void passed(std::uint64_t bytes) noexcept {
    if (bytes_ == kPartBytes || bytes < bytes_ || ++passed_ < wanted_) return;
    bytes_ *= 2;
    passed_ = 0;
    if (bytes_ == kPartBytes) wanted_ = kTrusted / 2;
  }

 private:
  std::uint64_t bytes_ = kPartBytes;
  std::uint32_t passed_ = 0;             // since the size changed
  std::uint32_t wanted_ = kTrusted / 2;  // the first break makes it kTrusted
};

}  // namespace espalier::rdma
