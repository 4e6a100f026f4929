// What a group of the network needs besides its port: the wire that its members have in common, and
// where ports come from.
//
// Threads: the owner of the worker. path: data (but GroupPorts: setup)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/away_memory.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "net/buffer_pool.hpp"
#include "net/frame_wire_state.hpp"
#include "net/multicast/group_port.hpp"
#include "net/multicast/placing_port.hpp"
#include "net/rdma/direct_memory.hpp"

namespace espalier::net {

// What members of a group tell each other beside it, in frames of kind kGroup: the ordinal.
enum class GroupWord : std::uint8_t {
  kMail,     // of the protocol of packets (net/multicast/packet.hpp)
  kJoined,   // up the tree: the sender, and all below it, have joined
  kReady,    // down: all have
  kWish,     // up: the group is to be closed; payload: GroupEnd
  kClose,    // down: likewise; nobody begins to send through it any more
  kDrained,  // up: the sender, and all below it, have no packet under way
  kGone,     // down: nobody has; leave
  kLanes,    // mail about placed segments (net/multicast/placed_message.hpp)
};
inline constexpr std::uint32_t kGroupWords = 8;

class GroupHost {
 public:
  // As FrameSink::begin and end, of segments that come by another way than the peer's link.
  virtual std::byte* begin_segment(FrameArrival& arrival, const FrameHeader& header) noexcept = 0;
  virtual void end_segment(FrameArrival& arrival) noexcept = 0;
  // Copies it. False: too many wait for this peer.
  virtual bool tell(Rank to, std::uint32_t team, GroupWord word,
                    std::span<const std::byte> payload) noexcept = 0;
  // As FrameWire::post_frame and withdraw.
  virtual Posted post_relayed(Rank to, OutgoingFrame& frame) noexcept = 0;
  virtual void withdraw_relayed(Rank to, OutgoingFrame& frame) noexcept = 0;
  // It does not keep to the protocol.
  virtual void lose_peer(Rank peer, Error why) noexcept = 0;
  virtual BufferPool& pool() noexcept = 0;
  // Memory of devices that receives may name (RecvOp::place). nullptr: there is none.
  virtual AwayMemory* away() noexcept { return nullptr; }

 protected:
  ~GroupHost() = default;
};

class GroupPorts {
 public:
  // For the group of a team whose first member this is: teams of one split have the same number.
  // ESP_ERR_NO_MEMORY: tables are full, it may do when another group has been left.
  virtual Result<std::unique_ptr<multicast::GroupPort>> open(std::uint32_t team, Rank first) = 0;
  // For the lane of a source in that group.
  virtual Result<std::unique_ptr<multicast::PlacingPort>> open_lane(std::uint32_t, Rank, Rank) {
    return error(ESP_ERR_UNSUPPORTED, "this network has no lanes");
  }
  // Memory that is registered with the lanes' adapter anyhow, until end(). Without bytes: none.
  virtual rdma::Lease lease(const void*, std::uint64_t, rdma::Use) noexcept { return {}; }
  virtual void end(rdma::Lease& lease) noexcept { lease = {}; }
  // Memory of a device that the lanes' adapter writes itself, until drop_away(). nullptr: it does
  // not.
  virtual const rdma::Region* hold_away(const std::byte*, std::uint64_t) noexcept {
    return nullptr;
  }
  virtual void drop_away(const std::byte*) noexcept {}

 protected:
  ~GroupPorts() = default;
};

// Equal on all ranks of the job, but for `rank`.
struct FrameGroupsOptions {
  GroupPorts* ports = nullptr;  // nullptr: there are none, segments are relayed
  std::string why_none;         // then
  std::uint64_t epoch = 0;
  std::uint32_t ranks = 0;  // of the job
  Rank rank = kNoRank;
  std::uint32_t packet_bytes = 0;   // of the port that has the smallest packets
  std::uint32_t receive_depth = 0;  // of the port that has the fewest
  std::uint32_t sources = 4;        // of a group that send at once without loss
  std::uint32_t groups_max = 8;     // that this rank is in at a time
  // Lanes (net/groups/lanes.hpp):
  std::uint64_t place_from_bytes = 0;         // larger frames go by them; 0: none does
  std::uint32_t lane_places = 2048;           // of the port that has the fewest
  std::uint32_t lanes_max = 8;                // of a group that this rank has ports for
  std::uint64_t lane_reorder_ns = 2'000'000;  // a lane may be later than the packets
};

}  // namespace espalier::net
