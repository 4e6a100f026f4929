// FrameGroups: the groups of the network that a wire's rank is in, one for a team at most.
//
// Ports are scarce: memory, and tables of the device. A group that finds no room asks the one that
// was used least lately to give way; that one's publications are relayed from then on.
//
// What comes for a team that this rank has not joined yet is kept until it has: members join when
// they call, and some call later.
//
// Ownership: borrows host, clock and counters; owns groups and their ports. Threads: the owner of
// the worker. path: data (find, progress), slow
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/descriptor_set.hpp"
#include "core/forgotten_teams.hpp"
#include "core/wake_source.hpp"
#include "net/groups/frame_group.hpp"

namespace espalier::net {

class FrameGroups final : public WakeSource {
 public:
  FrameGroups(GroupHost& host, Clock& clock, Counters& counters, const FrameGroupsOptions& options);
  ~FrameGroups() override;

  void join(std::uint32_t team, FrameGroup::Members members);
  // nullptr: not joined.
  FrameGroup* find(std::uint32_t team) const noexcept;
  // Nothing more is posted to the team's, or to any.
  void forget(std::uint32_t team) noexcept;
  void forget_all() noexcept;
  // The team has failed: nobody waits for its members to leave.
  void abandon(std::uint32_t team) noexcept;
  // After forget_all(): nobody needs this rank for any group.
  bool all_left() const noexcept;

  // Frames that have come by the link. `buffer` is the pool's, nullptr: no payload; it is given
  // back, sooner or later.
  void frame(Rank from, const FrameHeader& header, std::byte* buffer) noexcept;
  // visit(FrameArrival&), of that source's streams and placed segments through groups.
  template <typename Visit>
  void visit_arrivals(Rank source, Visit&& visit) {
    for (const auto& [team, group] : groups_) group->visit_arrivals(source, visit);
  }
  // Before they are broken off: nothing is written to their memory any more.
  void stop_arrivals(Rank source) noexcept {
    for (const auto& [team, group] : groups_) group->stop_arrivals(source);
  }
  void lost(Rank rank) noexcept;

  int progress() noexcept;
  void flush() noexcept;

  // For people, a line for each team: FrameGroup::describe(), and what `who` says of its members.
  using DescribeMembers = std::function<std::string(const std::vector<Rank>&)>;
  std::vector<std::string> describe(const DescribeMembers& who = {}) const;

  int descriptor() const noexcept override { return wakes_ != nullptr ? wakes_->fd() : -1; }
  bool arm() noexcept override;
  std::uint64_t deadline_ns() const noexcept override;

 private:
  struct Early {
    Rank from;
    FrameHeader header;
    std::byte* buffer;
  };
  static constexpr std::size_t kEarlyMax = 4096;

  void open_port(FrameGroup& group);
  void make_room(FrameGroup& group) noexcept;
  void hand_over(FrameGroup& group, const Early& early) noexcept;
  void keep(const Early& early) noexcept;
  std::size_t ports() const noexcept;
  void bury() noexcept;

  GroupHost& host_;
  Clock& clock_;
  Counters& counters_;
  const FrameGroupsOptions options_;
  Relays relays_;
  IntrusiveList<FrameGroup> attended_;  // those that progress() looks at
  std::unordered_map<std::uint32_t, std::unique_ptr<FrameGroup>> groups_;  // by team
  std::vector<FrameGroup*> wanting_;                                       // that wait for room
  std::vector<Early> early_;
  ForgottenTeams forgotten_;
  std::unique_ptr<DescriptorSet> wakes_;  // of the ports
};

}  // namespace espalier::net
