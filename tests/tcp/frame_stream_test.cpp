// Frames through a byte stream that takes and gives them in parts: of every size around the one up
// to which headers and payloads are sent as one piece.
#include "net/tcp/frame_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "core/prng.hpp"

namespace espalier::net {
namespace {

struct Frame {
  FrameHeader header;
  std::vector<std::byte> payload;
  std::size_t first = 0;  // of the payload, in its memory
  const std::byte* bytes() const noexcept { return payload.data() + first; }
  Completion completion{[](Completion&, Status) noexcept {}};
};

// Compares what comes with what was sent.
struct Checker final : FrameSink {
  explicit Checker(const std::deque<Frame>& frames) : expected(frames) {}
  bool expects(Rank, const FrameHeader& header) const noexcept override {
    return header.flow % 2 == 0;
  }
  std::byte* begin(Rank, const FrameHeader& header) noexcept override {
    payload.resize(header.bytes);
    return payload.data();
  }
  void end(Rank, const FrameHeader& header, std::byte*) noexcept override {
    const Frame& frame = expected[count++];
    FrameHeader meant = header;
    meant.padding = 0;
    right = right && meant == frame.header &&
            std::equal(payload.begin(), payload.end(), frame.bytes(), frame.bytes() + header.bytes);
    paddings.insert(header.padding);
  }
  void lost(Rank, const Status&) noexcept override { right = false; }

  const std::deque<Frame>& expected;
  std::vector<std::byte> payload;
  std::size_t count = 0;
  bool right = true;
  std::set<unsigned> paddings;
};

TEST(FrameStream, PartsOfFramesOfEverySize) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const int small = 1;  // the least that the kernel allows: calls take a part of a frame
  ASSERT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  Pool<OutFrame> pool;
  FrameWriter writer(pool);
  FrameReader reader;
  Counters counters;
  std::vector<Finished> finished;
  std::vector<std::byte> staging(1000);
  std::deque<Frame> frames;
  std::size_t pending = 0;
  Checker sink(frames);
  Error failure;
  Prng random(1);
  bool was_full = false;
  int events = 0;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::uint64_t sizes[] = {0, 8, 512, 513, 4000, 4096, 4097, 16384, 40000};
    for (std::uint64_t n = random.next() % 4; n > 0; --n) {
      Frame& frame = frames.emplace_back();
      frame.header.bytes = sizes[random.next() % std::size(sizes)];
      frame.first = random.next() % 64;
      frame.payload.resize(frame.first + frame.header.bytes);
      for (std::byte& byte : frame.payload) byte = static_cast<std::byte>(random.next());
      frame.header.flow = frames.size();
      frame.header.total = 1;
      if (!writer.push(frame.header, frame.bytes())) {
        frames.pop_back();
        break;
      }
      pending += writer.keep(frame.completion) == Posted::kPending ? 1 : 0;
    }
    int error_number = 0;
    const auto wrote = writer.write(ends[0], finished, counters, error_number);
    ASSERT_NE(wrote, FrameWriter::Wrote::kBroken) << std::strerror(error_number);
    was_full = was_full || wrote == FrameWriter::Wrote::kFull;
    if (random.next() % 3 == 0) continue;
    ASSERT_EQ(reader.read(ends[1], 0, sink, staging, counters, failure, events),
              FrameReader::Outcome::kDrained)
        << failure.text;
    ASSERT_TRUE(sink.right) << "frame " << sink.count;
  }
  int error_number = 0;
  while (sink.count < frames.size()) {
    (void)writer.write(ends[0], finished, counters, error_number);
    ASSERT_EQ(reader.read(ends[1], 0, sink, staging, counters, failure, events),
              FrameReader::Outcome::kDrained)
        << failure.text;
    ASSERT_TRUE(sink.right) << "frame " << sink.count;
  }
  EXPECT_TRUE(was_full) << "calls that take a part of a frame are what this test is about";
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(finished.size(), pending);
  EXPECT_EQ(sink.paddings.size(), kPaddingMax / kPaddingStep + 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

// In the stream a large payload stands as in the sender's memory, modulo a line; a smaller one
// right behind its header.
TEST(FrameStream, ALargePayloadIsWhereItWasInItsLine) {
  for (std::uint64_t bytes : {4096u, 4097u, 20'000u}) {
    for (std::size_t first = 0; first < 64; ++first) {
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
      Pool<OutFrame> pool;
      FrameWriter writer(pool);
      Counters counters;
      std::vector<Finished> finished;
      std::vector<std::byte> memory(64 + bytes, std::byte{7}), stream(200 + bytes);
      FrameHeader header;
      header.total = 1;
      header.bytes = bytes;
      ASSERT_TRUE(writer.push(header, &memory[first]));
      int error_number = 0;
      ASSERT_EQ(writer.write(ends[0], finished, counters, error_number), FrameWriter::Wrote::kAll);
      const ssize_t got = ::recv(ends[1], stream.data(), stream.size(), 0);
      ASSERT_GT(got, 0);
      const std::size_t before = static_cast<std::size_t>(got) - bytes;
      const std::size_t off = reinterpret_cast<std::uintptr_t>(&memory[first]) - before;
      if (bytes > 4096) {
        EXPECT_LT(off % 64, kPaddingStep) << bytes << " bytes at " << first;
        EXPECT_LE(before, kFrameHeaderBytes + kPaddingMax);
      } else {
        EXPECT_EQ(before, kFrameHeaderBytes);
      }
      EXPECT_EQ(stream[before], std::byte{7});
      EXPECT_EQ(std::count(&stream[kFrameHeaderBytes], &stream[before], std::byte{0}),
                static_cast<std::ptrdiff_t>(before - kFrameHeaderBytes));
      ::close(ends[0]);
      ::close(ends[1]);
    }
  }
}

// Expects what the test says.
struct Chooser final : FrameSink {
  bool expects(Rank, const FrameHeader&) const noexcept override { return expecting; }
  std::byte* begin(Rank, const FrameHeader& header) noexcept override {
    ++begun;
    payload.resize(header.bytes);
    return payload.data();
  }
  void end(Rank, const FrameHeader&, std::byte*) noexcept override { ++ended; }
  void lost(Rank, const Status&) noexcept override {}

  bool expecting = false;
  int begun = 0, ended = 0;
  std::vector<std::byte> payload;
};

// Who has got a large frame is told before the next one is given a place.
TEST(FrameStream, AnUnexpectedLargeFrameWaitsForTheNextLook) {
  for (const bool expecting : {false, true}) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    Pool<OutFrame> pool;
    FrameWriter writer(pool);
    Counters counters;
    std::vector<Finished> finished;
    std::vector<std::byte> staging(1000), payload(20'100, std::byte{7});
    FrameHeader header;
    header.total = 1;
    header.bytes = 20'000;
    // Each with another padding.
    for (const std::size_t first : {60u, 28u, 0u})
      ASSERT_TRUE(writer.push(header, &payload[first]));
    int error_number = 0;
    ASSERT_EQ(writer.write(ends[0], finished, counters, error_number), FrameWriter::Wrote::kAll);
    FrameReader reader;
    Chooser sink;
    sink.expecting = expecting;
    Error failure;
    int events = 0;
    const auto look = [&] {
      return reader.read(ends[1], 0, sink, staging, counters, failure, events);
    };
    for (int looks = 1; sink.ended < 3; ++looks) {
      ASSERT_LE(looks, expecting ? 1 : 9);
      const int before = sink.ended;
      ASSERT_EQ(look(), FrameReader::Outcome::kDrained);
      if (!expecting) {
        EXPECT_LE(sink.ended, before + 1) << "look " << looks;
        EXPECT_EQ(sink.begun, sink.ended) << "nothing is begun behind a frame that has just ended";
      }
      EXPECT_EQ(sink.payload, std::vector<std::byte>(20'000, std::byte{7}));
    }
    ::close(ends[0]);
    EXPECT_EQ(look(), FrameReader::Outcome::kEnd);
    ::close(ends[1]);
  }
}

}  // namespace
}  // namespace espalier::net
