// What tests of teams' groups publish, and the world they do it in: FrameWires over simulated ports
// of datagrams and of groups.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {

inline constexpr std::uint32_t kTeam = 7;

inline RdmaWorldOptions with_groups(const std::string& faults = {},
                                    std::uint64_t join_ns = 20'000) {
  RdmaWorldOptions options;
  options.faults = faults;
  options.groups.emplace();
  options.groups->packet_bytes = 1024;
  options.groups->join_ns = join_ns;
  return options;
}

// What one rank publishes to all others of a team.
class ToAll {
 public:
  ToAll(World& world, Rank source, FlowId flow, std::uint64_t bytes, std::uint32_t ordinal = 0,
        std::uint32_t total = 1)
      : world_(world), source_(source) {
    for (Rank r = 0; r < world.size(); ++r) {
      if (r == source) continue;
      copies.push_back(std::make_unique<Message>(source, r, flow, bytes, flow.key + ordinal));
      copies.back()->ordinal = ordinal;
      copies.back()->total = total;
      copies.back()->transfer = {.path = Path::kMulticast};
      readers_.push_back(r);
    }
  }
  void receive() {
    for (auto& copy : copies) (void)copy->receive(world_.wire(copy->to), 32);
  }
  Posted post(const Group& group) {
    const Message& first = *copies.front();
    Send send;
    send.segment = {kNoRank, first.flow, first.ordinal, first.total, 0};
    send.data = first.source.data();
    send.bytes = first.bytes;
    send.flow_bytes = first.bytes * first.total;
    send.transfer = first.transfer;
    return sent.posted = world_.wire(source_).publish(send, group, sent);
  }
  void post() {
    if (group_ == nullptr) group_ = world_.wire(source_).open_group(readers_);
    ASSERT_TRUE(step_until(world_, [&] { return post(*group_) != Posted::kRetry; }));
  }
  bool complete() const { return sent.complete() && received(copies); }
  void check() const {
    for (const auto& copy : copies) copy->check();
  }
  void carry() {
    receive();
    post();
    ASSERT_TRUE(step_until(world_, [&] { return complete(); }));
    check();
  }

  Messages copies;
  SendProbe sent;

 private:
  World& world_;
  const Rank source_;
  std::vector<Rank> readers_;
  std::unique_ptr<Group> group_;
};

struct GroupWorld : RdmaWorld {
  explicit GroupWorld(int ranks, const RdmaWorldOptions& options = with_groups())
      : RdmaWorld(ranks, options), everybody(std::make_shared<std::vector<Rank>>()) {
    auto all = std::make_shared<std::vector<Rank>>(static_cast<std::size_t>(ranks));
    std::iota(all->begin(), all->end(), 0);
    everybody = all;
  }
  void join(Rank r, std::uint32_t team = kTeam) { wire(r).join_group(team, everybody); }
  void join_all(std::uint32_t team = kTeam) {
    for (Rank r = 0; r < size(); ++r) join(r, team);
  }
  net::FrameGroup& group(Rank r, std::uint32_t team = kTeam) {
    return *frames(r).groups()->find(team);
  }
  bool all_open(std::uint32_t team = kTeam) {
    for (Rank r = 0; r < size(); ++r) {
      if (!group(r, team).is_open()) return false;
    }
    return true;
  }
  void open(std::uint32_t team = kTeam) {
    join_all(team);
    pass(100'000);  // Nobody waits for the network meanwhile.
    ASSERT_TRUE(step_until(*this, [&] { return all_open(team); }));
  }
  std::uint64_t packets(Rank r) { return counters(r).group_packets.value(); }
  std::uint64_t sum(Counter Counters::*what) {
    std::uint64_t all = 0;
    for (Rank r = 0; r < size(); ++r) all += (counters(r).*what).value();
    return all;
  }
  std::uint64_t relays() { return sum(&Counters::group_relays); }

  std::shared_ptr<const std::vector<Rank>> everybody;
};

}  // namespace espalier::test
