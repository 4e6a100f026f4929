// The ranks of tests of remote access: each with its end of the protocol, a region, and messages
// that are expected in order. For one test source each.
#pragma once

#include <gtest/gtest.h>

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

struct Probe : net::RemoteOp {
  Probe() : net::RemoteOp(on_fire) {}
  static void on_fire(Completion& op, Status status) noexcept {
    auto& self = static_cast<Probe&>(op);
    ++self.fired;
    self.status = status;
  }
  int fired = 0;
  Status status;
};

struct Sent : Completion {
  Sent() : Completion(on_fire) {}
  static void on_fire(Completion& op, Status status) noexcept {
    ++static_cast<Sent&>(op).fired;
    static_cast<Sent&>(op).status = status;
  }
  std::vector<std::byte> payload;
  Posted posted = Posted::kRetry;
  int fired = 0;
  Status status;
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
