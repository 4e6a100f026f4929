// The ranks of tests of remote access: each with its end of the protocol, a region, and messages
// that are expected in order. For one test source each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "net/remote_access.hpp"
#include "tests/harness/frame_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/world_kind.hpp"
#include "tests/support/one_route.hpp"

namespace espalier::test {

using Probe = Noted<net::RemoteOp>;
struct Sent : Noted<Completion> {
  std::vector<std::byte> payload;
  net::OutgoingFrame frame{*this};
};

// One rank: its end of the protocol, a region, and what messages have told it.
struct Party final : MessageTaker {
  Party(FrameWorld& world, Rank rank, std::uint64_t region_bytes)
      : memory(region_bytes),
        next(static_cast<std::size_t>(world.size()), 0),
        routes(world.frames(rank)),
        access(std::make_unique<net::RemoteAccess>(routes, *this)) {
    region = access->offer(memory.data(), memory.size());
    direct = access->exposed(region);
  }
  bool take(Rank from, const ActiveMessage& message) noexcept override {
    if (message.id != 5) return false;
    auto& expected = next[static_cast<std::size_t>(from)];
    EXPECT_EQ(message.argument, expected);
    ++expected;
    EXPECT_TRUE(holds(message.payload, message.bytes, message.argument));
    return true;
  }

  std::vector<std::byte> memory;
  std::vector<std::uint64_t> next;  // message of each rank
  OneRoute routes;
  std::unique_ptr<net::RemoteAccess> access;
  std::uint32_t region = 0;
  net::RemoteMemory direct;
};

struct Parties {
  Parties(const WorldKind& kind, int ranks, std::uint64_t region_bytes) : made(kind.make(ranks)) {
    for (Rank r = 0; r < ranks; ++r) {
      all.push_back(std::make_unique<Party>(world(), r, region_bytes));
    }
  }
  FrameWorld& world() { return static_cast<FrameWorld&>(*made); }
  net::RemoteAccess& access(Rank r) { return *all[static_cast<std::size_t>(r)]->access; }
  Party& at(Rank r) { return *all[static_cast<std::size_t>(r)]; }

  int step() {
    int events = 0;
    for (Rank r = 0; r < world().size(); ++r) {
      if (!world().is_open(r)) continue;
      events += world().wire(r).progress();
      if (all[static_cast<std::size_t>(r)]->access != nullptr) events += access(r).progress();
    }
    if (events == 0) world().rest();
    return events;
  }
  template <typename Done>
  bool until(Done&& done) {
    for (int i = 0; i < 2'000'000; ++i) {
      if (done()) return true;
      (void)step();
    }
    return done();
  }
  ~Parties() {
    for (auto& party : all) party->access.reset();
  }

  std::unique_ptr<World> made;
  std::vector<std::unique_ptr<Party>> all;
};

inline bool ended(const std::deque<Probe>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const Probe& op) { return op.fired > 0; });
}

// Rank 0 reaches into the memory of rank 1; there is a connection.
struct Reach : Parties {
  Reach(const WorldKind& kind, std::uint64_t bytes) : Parties(kind, 2, bytes) {
    Probe first;
    first.kind = net::RemoteKind::kFetchAdd;
    first.target = 1;
    first.bytes = 8;
    const auto there = [&] { return world().rdma(0).connected(1) && !world().rdma(0).holds(); };
    for (int i = 0; i < 1000 && !there(); ++i) {
      first.fired = 0;
      access(0).start(first);
      EXPECT_TRUE(until([&] { return first.fired == 1; }));
      for (int turn = 0; turn < 50; ++turn) (void)step();
    }
    EXPECT_TRUE(there());
  }
  const rdma::ConnectionStatistics& statistics(Rank r) {
    return world().connections(r).statistics();
  }
  std::byte* memory() { return at(1).memory.data(); }

  void start(Probe& op, net::RemoteKind kind, std::byte* local, std::uint64_t bytes,
             std::uint64_t offset) {
    op.kind = kind;
    op.target = 1;
    op.region = at(1).region;
    op.direct = at(1).direct;
    op.memory = local;
    op.bytes = bytes;
    op.offset = offset;
    access(0).start(op);
    EXPECT_EQ(op.fired, 0);
  }
  // The target computes: only the origin looks.
  template <typename Done>
  bool alone_until(Done&& done) {
    for (int i = 0; i < 200'000 && !done(); ++i) {
      if (world().wire(0).progress() + access(0).progress() == 0) world().rest();
    }
    return done();
  }
};

// Operations of all kinds and of several requests, at any moment.
inline void start_some(Parties& parties, std::deque<Probe>& ops,
                       std::deque<std::vector<std::byte>>& buffers, Rank from) {
  for (int i = 0; i < 12; ++i) {
    Probe& op = ops.emplace_back();
    op.kind = static_cast<net::RemoteKind>(i % 3);
    op.target = 0;
    op.region = parties.at(0).region;
    op.bytes = i % 3 == 2 ? 8 : 250'000;
    op.direct = parties.at(0).direct;
    op.memory = buffers.emplace_back(op.bytes).data();
    parties.access(from).start(op);
  }
}

// Over links; the others have no frames.
inline std::vector<WorldKind> frame_worlds() {
  std::vector<WorldKind> worlds;
  for (const WorldKind& kind : random_worlds()) {
    const std::string_view name = kind.name;
    if (name.starts_with("Shm") || name.starts_with("Sim")) continue;
    worlds.push_back(kind);
  }
  return worlds;
}

}  // namespace espalier::test
