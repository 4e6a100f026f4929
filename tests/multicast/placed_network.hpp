// PlacedNetwork: a lane's members in virtual time: a port each whose receives are memory of the
// caller's, over a network that loses, repeats and reorders; the source's reliable stream; and mail
// that has no room now and then. What a port does to memory is watched: it reads when a packet
// leaves, writes when one arrives, and both in memory that is registered at that moment.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/prng.hpp"
#include "net/multicast/placed_message.hpp"

namespace espalier::multicast::played {

struct LaneFaults {
  double loss = 0, repeat = 0, late = 0;  // of each copy
  double loss_of_many = 0;                // of each packet, before it is copied
  double foreign = 0;                     // chance of a stranger's packet beside one
  double breaks = 0;                      // of a port's queue, at each arrival
  double refuses = 0;                     // mail or stream have no room
  std::uint64_t late_ns = 50'000;
};

struct LaneOptions {
  std::uint32_t members = 2, packet_bytes = 32, depth = 64, queue = 16;
  std::uint64_t latency_ns = 2'000, send_ns = 100, stream_ns = 2'000, mail_ns = 4'000;
  std::uint32_t window = 32;  // messages of the stream under way
  LaneFaults faults;
};

// What comes to a member beside the lane.
struct LaneNews {
  std::uint64_t at = 0;
  Rank from = kNoRank;  // of mail; kNoRank: the stream
  bool is_end = false;  // of the stream
  std::vector<std::byte> bytes;
};

// Memory of a device: ports write to it, and the processor stumbles over its address.
inline std::byte* away_address(std::byte* memory) noexcept {
  constexpr std::uintptr_t kAway = std::uintptr_t{1} << 60;
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) ^ kAway);
}
inline std::byte* reached(std::byte* memory) noexcept {
  const bool away = reinterpret_cast<std::uintptr_t>(memory) >> 56 != 0;
  return away ? away_address(memory) : memory;
}

class PlacedNetwork final : public Clock {
 public:
  PlacedNetwork(const LaneOptions& options, std::uint64_t seed);
  ~PlacedNetwork() override;

  std::uint64_t now_ns() noexcept override { return now_; }
  PlacingPort& port(std::uint32_t member);
  MemberMail& mail(std::uint32_t member);
  PlacedStream& stream();  // of member 0, the source

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint64_t next_ns() const noexcept;
  std::uint32_t step();  // whom something has come to
  void move_to(std::uint64_t ns) noexcept { now_ = std::max(now_, ns); }
  // What has come to the member and not been looked at. False: nothing.
  bool take_news(std::uint32_t member, LaneNews& news);

  // The member is dead. If it is the source, its stream ends, at the same message everywhere.
  void kill(std::uint32_t member);
  bool alive(std::uint32_t member) const noexcept;
  void fail_port(std::uint32_t member) noexcept;  // its adapter is gone
  void fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }
  const std::string& failure() const noexcept { return failure_; }
  std::uint64_t cast() const noexcept { return cast_; }  // packets that left the source

 private:
  class Port;
  class Mail;
  class Stream;
  struct Member;
  enum class What : std::uint8_t { kPacket, kSendDone, kNews };
  struct Event {
    std::uint64_t at = 0, order = 0;
    std::uint32_t to = 0;
    What what = What::kPacket;
    std::shared_ptr<std::vector<std::byte>> bytes;
    Rank from = kNoRank;
    std::uint32_t number = 0;  // of a message of the stream
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  void add(Event event);
  void cast(const std::shared_ptr<std::vector<std::byte>>& packet);
  void carry(std::uint32_t to, const std::shared_ptr<std::vector<std::byte>>& packet);
  bool refuses() { return prng_.chance(options_.faults.refuses); }
  std::uint32_t slowest() const;

  const LaneOptions options_;
  Prng prng_;
  std::uint64_t now_ = 1'000, order_ = 0, cast_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Stream> stream_;
  std::uint32_t published_ = 0;  // messages of the stream
  std::uint32_t ends_ = kNone;   // ... that come, at most
  std::string failure_;
};

}  // namespace espalier::multicast::played
