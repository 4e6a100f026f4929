// PlayedNetwork: a group's members in virtual time: a port each, over a network that loses,
// repeats, reorders and damages what it carries, and mail that is reliable but has no room now and
// then.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "core/prng.hpp"
#include "net/multicast/group.hpp"

namespace espalier::multicast::played {

struct Faults {
  double loss = 0, repeat = 0, damage = 0;  // of each copy
  double late = 0;                          // ... that is overtaken
  double loss_of_many = 0;                  // of each packet: neighbours lose it together
  double mail_refuses = 0;  // chance that it begins to refuse for a while, at each message
  std::uint64_t late_ns = 50'000, refuse_ns = 200'000;
};

struct NetworkOptions {
  std::uint32_t members = 2;
  std::uint32_t packet_bytes = 256, receive_depth = 64, send_packets = 200, queue = 16;
  std::uint32_t mail_boxes = 16;  // messages on their way from one member to another
  std::uint64_t latency_ns = 2'000, mail_ns = 4'000, send_ns = 100;
  Faults faults;
};

struct NetworkCounts {
  std::uint64_t data = 0;  // packets with data that were sent, first
  std::uint64_t lost = 0;  // copies of packets with data that did not come, or much too late
  std::uint64_t overflows = 0;
};

class PlayedNetwork final : public Clock {
 public:
  PlayedNetwork(const NetworkOptions& options, std::uint64_t seed);
  ~PlayedNetwork() override;

  std::uint64_t now_ns() noexcept override { return now_; }
  GroupPort& port(std::uint32_t member);
  MemberMail& mail(std::uint32_t member);
  // Mail goes to the group when the member has its turn.
  void connect(std::uint32_t member, Group& group);
  void deliver_mail(std::uint32_t member);

  // The next arrival, or kNever; and time moves there.
  std::uint64_t next_ns() const noexcept;
  // Returns which member something has come to; kNone: to nobody.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t step();
  void move_to(std::uint64_t ns) noexcept { now_ = std::max(now_, ns); }

  void kill(std::uint32_t member) noexcept;
  void tell(std::uint32_t member, std::uint32_t of);  // the member knows of the death now
  bool alive(std::uint32_t member) const noexcept;
  // Every other copy for this member is lost until then.
  void darken(std::uint32_t member, std::uint64_t until_ns) noexcept;
  // The next packet with data of any source is lost on the way to this member alone.
  void lose_one(std::uint32_t member) noexcept { lose_next_ = member; }

  // Packets of the source that this member has been handed while the source lived, for it.
  const std::set<std::uint32_t>& handed(std::uint32_t member, std::uint32_t source) const;
  // Packets for arrivals that are not free.
  std::uint32_t held(std::uint32_t member) const noexcept;
  const NetworkCounts& counts() const noexcept { return counts_; }
  const std::string& failure() const noexcept { return failure_; }

 private:
  class Port;
  class Mail;
  struct Member;
  struct Event {
    std::uint64_t at = 0, order = 0;
    std::uint32_t from = 0, to = 0;
    bool is_mail = false, is_copy = false, damaged = false;
    std::shared_ptr<std::vector<std::byte>> bytes;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  void cast(std::uint32_t from, std::span<const std::byte> packet);
  void carry(Event event, bool data);
  bool post(std::uint32_t from, std::uint32_t to, std::span<const std::byte> message);
  void land(const Event& event);

  const NetworkOptions options_;
  Prng prng_;
  std::uint64_t now_ = 1'000, order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::optional<Sequence>> stable_;  // by source: what it has said last
  std::uint32_t lose_next_ = kNone;
  NetworkCounts counts_;
  std::string failure_;
};

}  // namespace espalier::multicast::played
