// GroupMeeting: how the members of a group of the network agree when it may be used and when it may
// be left.
//
//   joining --all have joined--> open --somebody wishes it--> closing --all are drained--> gone
//
// Nobody sends through it before all have joined, else packets would be lost to those who have not.
// It is closed for all when one member wishes it, because a reader cannot tell whom to wait for
// otherwise. Nobody leaves while another may still miss a packet, or acknowledge by way of it.
// Members that have nothing more to send, ever (forget()), are drained without a close: when all
// are, all leave.
//
// Words go up and down the tree of the first member, each once; what is owed is kept as state and
// said by work() as soon as there is room. Knows neither port nor clock. Memory: O(degree).
// Values. Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "net/groups/group_end.hpp"
#include "net/groups/group_host.hpp"
#include "net/multicast/tree.hpp"

namespace espalier::net {

class GroupMeeting {
 public:
  enum class Stage : std::uint8_t { kJoining, kOpen, kClosing, kGone };

  class Voice {
   public:
    // To a member, by its index. False: no room now.
    virtual bool say(std::uint32_t to, GroupWord word, std::span<const std::byte> payload) = 0;

   protected:
    ~Voice() = default;
  };

  GroupMeeting(std::uint32_t members, std::uint32_t me, std::uint32_t degree);

  Stage stage() const noexcept { return stage_; }
  const GroupEnd& end() const noexcept { return end_; }  // why it closes, or is to be closed

  // Of this member.
  void joined() noexcept { joined_ = true; }
  bool has_joined() const noexcept { return joined_; }
  void wish(const GroupEnd& why) noexcept;
  void forget() noexcept { forgotten_ = true; }
  bool forgotten() const noexcept { return forgotten_; }
  // It sends nothing through the group any more; drained(): nor is anything of it under way.
  bool is_leaving() const noexcept { return forgotten_ || stage_ == Stage::kClosing; }
  void drained() noexcept { drained_ = drained_ || is_leaving(); }

  // False: no member says that to this one.
  bool heard(std::uint32_t from, GroupWord word, std::span<const std::byte> payload) noexcept;
  // Says what is owed. False: not all of it.
  bool work(Voice& voice) noexcept;
  // Those below have been told the stage.
  bool said_all() const noexcept;

 private:
  struct Below {
    std::uint32_t member = 0;
    bool joined = false, drained = false;
    Stage told = Stage::kJoining;
  };
  bool is_root() const noexcept { return parent_ == multicast::GroupTree::kNobody; }
  bool heard_below(Below& child, GroupWord word, const GroupEnd* wish) noexcept;
  bool heard_above(GroupWord word, const GroupEnd* why) noexcept;
  void decide() noexcept;
  bool say_up(Voice& voice) noexcept;
  bool say_down(Voice& voice, Below& child) noexcept;
  bool all_joined() const noexcept;
  bool all_drained() const noexcept;

  std::uint32_t parent_;
  std::vector<Below> children_;
  Stage stage_ = Stage::kJoining;
  GroupEnd end_;
  bool joined_ = false, drained_ = false, forgotten_ = false;
  bool wished_ = false;
  bool said_joined_ = false, said_wish_ = false, said_drained_ = false;
};

}  // namespace espalier::net
