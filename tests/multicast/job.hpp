// GroupJob: members of a group in virtual time, drawn from a seed: what each sends, what the
// network does, who is slow, stops or dies; and whether every byte arrives at every survivor, in
// order and once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/multicast/network.hpp"

namespace espalier::multicast::played {

struct GroupReport {
  std::string failure;  // empty: all was right
  std::uint64_t packets = 0, delivered = 0, lost = 0, again = 0, repairs = 0, nacks = 0, probes = 0;
  std::uint64_t deaths = 0, ended = 0, fell_back = 0, overflows = 0, virtual_ns = 0;
  Histogram repair_ns;
  void add(const GroupReport& other);
};

struct GroupScenario {
  NetworkOptions network;
  GroupOptions group;
  std::vector<std::uint32_t> packets;  // by member: how many it sends
  std::uint32_t deaths = 0;
  bool pauses = false, slow = false, stops = false, darkens = false, lulls = false;
  std::uint64_t span_ns = 2'000'000;  // in which all that happens
};
GroupScenario draw_scenario(std::uint64_t seed);

// What member `source` sends.
std::uint64_t tag_of_packet(std::uint32_t source, std::uint32_t number) noexcept;
std::size_t bytes_of_packet(std::uint32_t source, std::uint32_t number, std::size_t most) noexcept;
void fill_packet(std::uint32_t source, std::uint32_t number, std::span<std::byte> bytes) noexcept;

class GroupJob {
 public:
  GroupJob(const GroupScenario& scenario, std::uint64_t seed);
  ~GroupJob();
  GroupReport run();

 private:
  struct Member;
  struct Fate {
    std::uint64_t at = 0;
    std::uint32_t member = 0;
    std::uint32_t tells = PlayedNetwork::kNone;  // this one is told; none: the member dies
    bool stop = false, dark = false;
  };
  static constexpr std::uint64_t kEnd = 4'000'000'000;  // virtual

  void draw_fates();
  void meet(const Fate& fate);
  void wake(Member& member, std::uint64_t at_ns) noexcept;
  std::uint64_t gap(const Member& member) noexcept;
  void turn(Member& member);
  void send(Member& member);
  bool done() const;
  std::string waiting() const;
  void check_end();
  void check_dead_source(std::uint32_t source);
  void check_traffic();
  void fail(std::string what);

  const GroupScenario scenario_;
  Prng prng_;
  PlayedNetwork net_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Fate> fates_;  // the first at the back
  GroupReport report_;
};

}  // namespace espalier::multicast::played
