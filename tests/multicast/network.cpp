#include "tests/multicast/network.hpp"

#include <fmt/format.h>

#include <cstring>

namespace espalier::multicast::played {

class PlayedNetwork::Port final : public GroupPort {
 public:
  Port(PlayedNetwork& net, std::uint32_t me)
      : net_(net), me_(me), memory_(total() * net.options_.packet_bytes), packets_(total()) {
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      packets_[i].data = memory_.data() + i * net.options_.packet_bytes;
      packets_[i].capacity = net.options_.packet_bytes;
      (i < net.options_.receive_depth ? free_ : idle_).push_back(&packets_[i]);
    }
  }

  Joined joined() noexcept override { return Joined::kYes; }
  std::uint32_t packet_bytes() const noexcept override { return net_.options_.packet_bytes; }
  std::uint32_t receive_depth() const noexcept override { return net_.options_.receive_depth; }
  rdma::Packet* take() noexcept override {
    if (idle_.empty()) return nullptr;
    rdma::Packet* packet = idle_.back();
    idle_.pop_back();
    return packet;
  }
  void give(rdma::Packet& packet) noexcept override {
    if (&packet < packets_.data() + net_.options_.receive_depth) {
      free_.push_back(&packet);
    } else if (packet.in_flight > 0) {
      packet.surrendered = true;
    } else {
      idle_.push_back(&packet);
    }
  }
  bool send(rdma::Packet& packet, bool) noexcept override {
    if (sends_.size() >= net_.options_.queue) return false;
    ++packet.in_flight;
    sends_.push_back({net_.now_ + net_.options_.send_ns * (sends_.size() + 1), &packet});
    net_.cast(me_, {packet.data, packet.bytes});
    return true;
  }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }

  // False: no packet is free.
  bool land(const Event& event);
  std::size_t free() const noexcept { return free_.size(); }
  bool sending() const noexcept { return !sends_.empty(); }

 private:
  std::size_t total() const {
    return std::size_t{net_.options_.receive_depth} + net_.options_.send_packets;
  }
  struct Send {
    std::uint64_t done = 0;
    rdma::Packet* packet = nullptr;
  };
  struct Arrival {
    rdma::Packet* packet = nullptr;
    bool damaged = false;
  };
  PlayedNetwork& net_;
  const std::uint32_t me_;
  std::vector<std::byte> memory_;
  std::vector<rdma::Packet> packets_;  // those for arrivals first
  std::vector<rdma::Packet*> free_, idle_;
  std::deque<Send> sends_;
  std::deque<Arrival> arrivals_;
  Status fault_;
};

class PlayedNetwork::Mail final : public MemberMail {
 public:
  Mail(PlayedNetwork& net, std::uint32_t me) : net_(net), me_(me) {}
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    return net_.post(me_, static_cast<std::uint32_t>(to), message);
  }

 private:
  PlayedNetwork& net_;
  const std::uint32_t me_;
};

struct PlayedNetwork::Member {
  Member(PlayedNetwork& net, std::uint32_t me, std::uint32_t members)
      : port(net, me),
        mail(net, me),
        last(members),
        waiting(members),
        deaf(members),
        handed(members) {}
  Port port;
  Mail mail;
  Group* group = nullptr;
  bool alive = true;
  std::uint64_t dark_until = 0, refuses_until = 0;
  std::vector<std::uint64_t> last;     // arrival of mail from here, by receiver
  std::vector<std::uint32_t> waiting;  // messages on their way, by receiver
  std::vector<bool> deaf;              // knows that it is dead
  std::vector<std::set<std::uint32_t>> handed;
  std::deque<Event> letters;
};

int PlayedNetwork::Port::poll(rdma::DatagramSink& sink, int budget) noexcept {
  int events = 0;
  while (!sends_.empty() && sends_.front().done <= net_.now_) {
    rdma::Packet& packet = *sends_.front().packet;
    sends_.pop_front();
    ++events;
    if (--packet.in_flight == 0 && packet.surrendered) {
      packet.surrendered = false;
      idle_.push_back(&packet);
    }
  }
  Member& member = *net_.members_[me_];
  for (; events < budget && !arrivals_.empty(); ++events) {
    const Arrival arrival = arrivals_.front();
    arrivals_.pop_front();
    Header header;
    const Membership reader = {1, 7, net_.options_.members, false};
    const std::span<const std::byte> bytes(arrival.packet->data, arrival.packet->bytes);
    if (!arrival.damaged && parse(bytes, reader, false, header) == rdma::Refused::kNo &&
        header.kind == Kind::kData) {
      const auto source = static_cast<std::uint32_t>(header.source);
      if (!member.deaf[source]) member.handed[source].insert(header.sequence.value);
    }
    sink.arrived(*arrival.packet);
  }
  return events;
}

bool PlayedNetwork::Port::land(const Event& event) {
  if (free_.empty()) return false;
  rdma::Packet& packet = *free_.back();
  free_.pop_back();
  packet.bytes = static_cast<std::uint32_t>(event.bytes->size());
  std::memcpy(packet.data, event.bytes->data(), event.bytes->size());
  if (event.damaged) {
    packet.data[net_.prng_.below(packet.bytes)] ^=
        static_cast<std::byte>(1U << net_.prng_.below(8));
  }
  arrivals_.push_back({&packet, event.damaged});
  return true;
}

PlayedNetwork::PlayedNetwork(const NetworkOptions& options, std::uint64_t seed)
    : options_(options), prng_(seed), stable_(options.members) {
  for (std::uint32_t i = 0; i < options.members; ++i) {
    members_.push_back(std::make_unique<Member>(*this, i, options.members));
  }
}

PlayedNetwork::~PlayedNetwork() = default;

GroupPort& PlayedNetwork::port(std::uint32_t member) {
  return members_[member]->port;
}
MemberMail& PlayedNetwork::mail(std::uint32_t member) {
  return members_[member]->mail;
}
void PlayedNetwork::connect(std::uint32_t member, Group& group) {
  members_[member]->group = &group;
}
bool PlayedNetwork::alive(std::uint32_t member) const noexcept {
  return members_[member]->alive;
}
void PlayedNetwork::kill(std::uint32_t member) noexcept {
  members_[member]->alive = false;
}
void PlayedNetwork::tell(std::uint32_t member, std::uint32_t of) {
  members_[member]->deaf[of] = true;
  members_[member]->group->member_lost(static_cast<Rank>(of));
}
void PlayedNetwork::darken(std::uint32_t member, std::uint64_t until_ns) noexcept {
  members_[member]->dark_until = until_ns;
}
const std::set<std::uint32_t>& PlayedNetwork::handed(std::uint32_t member,
                                                     std::uint32_t source) const {
  return members_[member]->handed[source];
}
std::uint32_t PlayedNetwork::held(std::uint32_t member) const noexcept {
  return options_.receive_depth - static_cast<std::uint32_t>(members_[member]->port.free());
}
std::uint64_t PlayedNetwork::next_ns() const noexcept {
  return events_.empty() ? kNever : events_.top().at;
}

// To all, the sender included.
void PlayedNetwork::cast(std::uint32_t from, std::span<const std::byte> packet) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(packet.begin(), packet.end());
  Header header;
  const Membership reader = {1, 7, options_.members, false};
  if (parse(packet, reader, false, header) != rdma::Refused::kNo) {
    failure_ = "a packet is sent that nobody takes";
  }
  const bool data = header.kind == Kind::kData;
  if (data && (header.flags & kAgain) == 0) ++counts_.data;
  std::optional<Sequence>& said = stable_[from];
  if (!said || said->before(header.stable)) said = header.stable;
  std::uint32_t first = 0, many = 0;
  if (prng_.chance(options_.faults.loss_of_many)) {
    first = static_cast<std::uint32_t>(prng_.below(options_.members));
    many = 1 + static_cast<std::uint32_t>(prng_.below(options_.members));
  }
  for (std::uint32_t to = 0; to < options_.members; ++to) {
    if (!members_[to]->alive) continue;
    bool lost = (to + options_.members - first) % options_.members < many && to != from;
    if (data && to == lose_next_) {
      lost = true;
      lose_next_ = kNone;
    }
    Event event;
    event.from = from;
    event.to = to;
    event.bytes = bytes;
    if (!lost) {
      carry(event, data);
    } else if (data) {
      ++counts_.lost;
    }
  }
}

void PlayedNetwork::carry(Event event, bool data) {
  const Faults& faults = options_.faults;
  if (now_ < members_[event.to]->dark_until || prng_.chance(faults.loss)) {
    counts_.lost += data ? 1 : 0;
    return;
  }
  event.at = now_ + options_.latency_ns + prng_.below(100);
  if (prng_.chance(faults.late)) {
    event.at += prng_.below(faults.late_ns);
    counts_.lost += data ? 1 : 0;
  }
  event.order = ++order_;
  event.damaged = prng_.chance(faults.damage);
  counts_.lost += data && event.damaged ? 1 : 0;
  events_.push(event);
  if (prng_.chance(faults.repeat)) {
    event.at += prng_.below(faults.late_ns);
    event.order = ++order_;
    event.is_copy = true;
    events_.push(event);
  }
}

bool PlayedNetwork::post(std::uint32_t from, std::uint32_t to, std::span<const std::byte> message) {
  Member& sender = *members_[from];
  if (!members_[to]->alive) return true;  // nobody knows that nobody reads it
  if (now_ < sender.refuses_until || sender.waiting[to] >= options_.mail_boxes) return false;
  if (prng_.chance(options_.faults.mail_refuses)) {
    sender.refuses_until = now_ + prng_.below(options_.faults.refuse_ns);
  }
  Event event;
  event.at = std::max(sender.last[to] + 1, now_ + options_.mail_ns + prng_.below(100));
  event.order = ++order_;
  event.from = from;
  event.to = to;
  event.is_mail = true;
  event.bytes = std::make_shared<std::vector<std::byte>>(message.begin(), message.end());
  sender.last[to] = event.at;
  ++sender.waiting[to];
  events_.push(std::move(event));
  return true;
}

std::uint32_t PlayedNetwork::step() {
  const Event event = events_.top();
  events_.pop();
  now_ = std::max(now_, event.at);
  if (!members_[event.to]->alive) return kNone;
  land(event);
  return event.to;
}

void PlayedNetwork::land(const Event& event) {
  Member& member = *members_[event.to];
  if (event.is_mail) return member.letters.push_back(event);
  Header header;
  const Membership reader = {1, 7, options_.members, false};
  (void)parse(*event.bytes, reader, false, header);
  const bool data = header.kind == Kind::kData;
  const bool stale = data && stable_[event.from] && header.sequence.before(*stable_[event.from]);
  // Room for what the network repeats, or keeps until it is everywhere, is nobody's to promise.
  const bool unasked = event.is_copy || stale;
  if (unasked && member.port.free() < options_.receive_depth / 2) return;
  if (member.port.land(event)) return;
  ++counts_.overflows;
  counts_.lost += data ? 1 : 0;
  const bool permitted = data && (header.flags & kAgain) == 0 && !unasked;
  if (!permitted) return;
  failure_ = fmt::format("packet {} of member {} finds no room at member {}", header.sequence.value,
                         event.from, event.to);
}

void PlayedNetwork::deliver_mail(std::uint32_t member) {
  Member& receiver = *members_[member];
  while (!receiver.letters.empty()) {
    const Event letter = std::move(receiver.letters.front());
    receiver.letters.pop_front();
    --members_[letter.from]->waiting[member];
    receiver.group->mail_arrived(static_cast<Rank>(letter.from), *letter.bytes);
  }
}

}  // namespace espalier::multicast::played
