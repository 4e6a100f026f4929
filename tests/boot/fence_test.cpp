// What esp-run's daemons say of a fence: read back, and read from bytes that are damaged. Such a
// frame comes from a process that has shown the job's secret, and must not end the launcher.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/prng.hpp"
#include "tools/esp-run/frame.hpp"

namespace esp_run {
namespace {

using Ranks = std::vector<std::int32_t>;

std::string pack(const Ranks& ranks, const std::string& data) {
  return pack_fence(ranks, data.data(), data.size());
}

// As a stream writes it.
std::string stream_bytes(const Frame& frame) {
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return {};
  const espalier::Descriptor reader(ends[1]);
  FrameStream writer(espalier::Descriptor(ends[0]), 0);
  writer.send(frame);
  std::string bytes(8192, '\0');
  const ssize_t got = ::recv(reader.fd(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

TEST(Fence, ReadsBack) {
  for (const Ranks& ranks : {Ranks{}, Ranks{0}, Ranks{7, -1, 2147483647}}) {
    for (const std::string& data : {std::string(), std::string("\0x", 2), std::string(5000, 'a')}) {
      const auto read = unpack_fence(pack(ranks, data));
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(read->ranks, ranks);
      EXPECT_EQ(read->data, data);
    }
  }
}

TEST(Fence, MoreRanksThanThereAreBytesAreRefused) {
  const std::string good = pack({1, 2, 3}, "");
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(unpack_fence(good.substr(0, bytes)).has_value()) << bytes;
  }
  for (const std::uint64_t count :
       {std::uint64_t{4}, std::uint64_t{1} << 30, std::uint64_t{1} << 62, std::uint64_t{1} << 63,
        (std::uint64_t{1} << 62) + 3, UINT64_MAX, UINT64_MAX / 4}) {
    std::string bad = good;
    std::memcpy(bad.data(), &count, sizeof count);
    EXPECT_FALSE(unpack_fence(bad).has_value()) << count;
  }
}

// What is read says all that stands there, and no more.
TEST(Fence, DamagedOnesAreReadAsTheyStandOrRefused) {
  espalier::Prng prng(1);
  int read_ones = 0;
  for (int i = 0; i < 20'000; ++i) {
    Ranks ranks(prng.below(20));
    for (auto& rank : ranks) rank = static_cast<std::int32_t>(prng.next());
    std::string bytes = pack(ranks, std::string(prng.below(100), 'd'));
    for (std::uint64_t flips = 1 + prng.below(4); flips > 0; --flips) {
      // Mostly in the count.
      const std::size_t at = prng.below(prng.chance(0.7) ? 8 : bytes.size());
      bytes[at] = static_cast<char>(prng.chance(0.5) ? prng.below(30) : prng.next());
    }
    if (prng.chance(0.3)) bytes.resize(prng.below(bytes.size() + 1));
    if (prng.chance(0.1)) bytes += bytes;
    const auto read = unpack_fence(bytes);
    std::uint64_t count = 0;
    if (bytes.size() >= sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
    const bool fits = bytes.size() >= 8 && count <= (bytes.size() - 8) / 4;
    ASSERT_EQ(read.has_value(), fits) << count << " ranks in " << bytes.size() << " bytes";
    if (!read) continue;
    ++read_ones;
    EXPECT_EQ(pack(read->ranks, read->data), bytes);
  }
  EXPECT_GT(read_ones, 2000);
}

// The stream of frames, torn and damaged as they come: every frame before the damage arrives as it
// was sent, none is larger than allowed, and no more is kept than one frame may have.
TEST(FrameStream, DamagedStreamsEndOrAreReadAsTheyStand) {
  constexpr std::uint32_t kMost = 1000;
  espalier::Prng prng(2);
  int whole = 0, closed = 0;
  for (int round = 0; round < 400; ++round) {
    int ends[2] = {};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const espalier::Descriptor writer(ends[0]);
    FrameStream reader(espalier::Descriptor(ends[1]), kMost);
    std::vector<Frame> sent;
    std::string bytes;
    for (std::uint64_t count = prng.below(6); count > 0; --count) {
      Frame frame{FrameKind::kLookup, static_cast<std::int32_t>(prng.below(9)), 0, prng.next(),
                  std::string(prng.below(kMost + 1), 'p')};
      bytes += stream_bytes(frame);
      sent.push_back(std::move(frame));
    }
    const std::size_t sound = bytes.size();
    for (std::uint64_t junk = prng.below(200); junk > 0; --junk) {
      bytes += static_cast<char>(prng.next());
    }
    std::vector<Frame> got;
    for (std::size_t at = 0; at < bytes.size() && reader.is_open();) {
      const std::size_t part = std::min<std::size_t>(1 + prng.below(700), bytes.size() - at);
      if (::send(writer.fd(), bytes.data() + at, part, MSG_NOSIGNAL) < 0) break;
      at += part;
      for (Frame& frame : reader.receive()) got.push_back(std::move(frame));
    }
    ASSERT_GE(got.size(), sent.size()) << sound << " sound bytes of " << bytes.size();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(got[i].payload.size(), kMost);
      if (i >= sent.size()) continue;
      ASSERT_EQ(got[i].id, sent[i].id);
      ASSERT_EQ(got[i].payload, sent[i].payload);
    }
    whole += static_cast<int>(sent.size());
    closed += reader.is_open() ? 0 : 1;
  }
  EXPECT_GT(whole, 500);
  EXPECT_GT(closed, 100);
}

}  // namespace
}  // namespace esp_run
