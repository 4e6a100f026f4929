// Four nodes with large segments of two sources (net/multicast/placed_source.hpp): a group for the
// reliable streams, a lane for each source, and mail inside this process.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "net/multicast/group.hpp"
#include "net/multicast/placed_sink.hpp"
#include "tests/vm/group_nodes.hpp"

namespace espalier::verbs {

using multicast::PlacedMemory;
using multicast::PlacedSink;
using multicast::PlacedSource;
using multicast::PlacingPort;
using multicast::Sequence;

inline constexpr std::size_t kLaneNodes = 4, kLaneSources = 2;
inline constexpr std::byte kLaneByte{0xB1};
inline constexpr Rank kLaneRanks[kLaneNodes] = {0, 1, 2, 3};

// What node `source` sends as its segment, at this byte.
inline std::byte lane_byte(Rank source, std::uint32_t segment, std::uint64_t at) {
  return static_cast<std::byte>((at * 2654435761u >> 13) + at + segment * 59 +
                                static_cast<std::uint32_t>(source) * 101);
}

// Memory between guards, registered.
struct LaneMemory {
  static constexpr std::size_t kGuard = 4096;
  LaneMemory(PlacingPort& to, std::uint64_t bytes) : port(to), all(bytes + 2 * kGuard, kGuardByte) {
    auto made = port.enroll(begin(), bytes);
    EXPECT_TRUE(made.ok());
    if (made) region = *made;
  }
  ~LaneMemory() { port.withdraw(region); }
  LaneMemory(const LaneMemory&) = delete;
  LaneMemory& operator=(const LaneMemory&) = delete;
  std::byte* begin() { return all.data() + kGuard; }
  std::uint64_t bytes() const { return all.size() - 2 * kGuard; }
  bool guarded() const {
    const auto guards = [](const std::byte* at) {
      return std::all_of(at, at + kGuard, [](std::byte is) { return is == kGuardByte; });
    };
    return guards(all.data()) && guards(all.data() + all.size() - kGuard);
  }
  static constexpr std::byte kGuardByte{0xA7};
  PlacingPort& port;
  std::vector<std::byte> all;
  rdma::Region region;
};

// One node: a member of the group, the source of a lane or none, and a receiver of the others'.
class LaneNode final : public multicast::GroupSink,
                       public multicast::MemberMail,
                       public multicast::PlacedStream,
                       public multicast::PlacedSourceUser {
 public:
  struct Letter {
    Rank from = 0, to = 0;
    std::vector<std::byte> bytes;
  };
  struct Options {
    std::uint32_t packets_max = 2048;
    std::uint64_t reorder_ns = 20'000'000;  // the machine may be busy with other things
  };

  LaneNode(Rank me, std::unique_ptr<GroupPort> port,
           std::array<std::unique_ptr<PlacingPort>, kLaneSources> lanes,
           std::deque<Letter>& letters, const Options& options);
  // The next segment of this many bytes.
  void start(std::uint64_t bytes);
  void progress();
  void mail_arrived(const Letter& letter);
  bool idle() const;

  PlacingPort& lane(std::size_t source) { return *lanes_[source]; }
  const PlacedSink& sink(std::size_t source) const { return sinks_[source]->half; }
  const PlacedSource& source() const { return *source_; }
  // Segments that have come whole and right.
  std::uint32_t right(std::size_t source) const { return sinks_[source]->right; }

 private:
  struct Sink final : multicast::PlacedSinkUser {
    Sink(LaneNode& of, Rank from, const multicast::PlacedOptions& options)
        : source(from),
          port(*of.lanes_[static_cast<std::size_t>(from)]),
          half(kLaneRanks, port, of, of.clock_, *this, options) {}
    PlacedMemory announced(Sequence, std::uint64_t bytes) noexcept override {
      memory.push_back(std::make_unique<LaneMemory>(port, bytes));
      return {memory.back()->begin(), memory.back()->region.local_key, true};
    }
    void whole(Sequence segment) noexcept override;
    void lost(Sequence) noexcept override { ADD_FAILURE() << "a segment is lost"; }
    const Rank source;
    PlacingPort& port;
    std::vector<std::unique_ptr<LaneMemory>> memory;
    std::uint32_t right = 0;
    PlacedSink half;
  };

  void deliver(Rank source, std::uint64_t, std::span<const std::byte> payload) override {
    sinks_[static_cast<std::size_t>(source)]->half.stream_arrived(payload);
  }
  void source_ended(Rank, std::uint32_t) override {}
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    letters_.push_back({me_, to, {message.begin(), message.end()}});
    return true;
  }
  bool publish(std::span<const std::byte> head,
               std::span<const std::byte> payload) noexcept override;
  void finished(std::uint64_t) noexcept override { ++finished_; }

  const Rank me_;
  SteadyClock clock_;
  std::deque<Letter>& letters_;
  std::unique_ptr<GroupPort> port_;
  std::array<std::unique_ptr<PlacingPort>, kLaneSources> lanes_;
  std::unique_ptr<multicast::Group> group_;
  std::array<std::unique_ptr<Sink>, kLaneSources> sinks_;
  std::unique_ptr<PlacedSource> source_;
  std::vector<std::unique_ptr<LaneMemory>> sent_;
  std::uint32_t finished_ = 0;
};

}  // namespace espalier::verbs
