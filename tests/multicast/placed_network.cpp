#include "tests/multicast/placed_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace espalier::multicast::played {

class PlacedNetwork::Port final : public PlacingPort {
 public:
  Port(PlacedNetwork& net, std::uint32_t me) : net_(net), me_(me) {}

  Joined joined() noexcept override { return gone_ ? Joined::kFailed : Joined::kYes; }
  std::uint32_t payload_bytes() const noexcept override { return net_.options_.packet_bytes; }
  std::uint32_t depth() const noexcept override { return net_.options_.depth; }
  Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) override {
    rdma::Region region;
    region.begin = static_cast<const std::byte*>(begin);
    region.bytes = bytes;
    region.local_key = ++last_key_;
    regions_[last_key_] = region;
    return region;
  }
  void withdraw(const rdma::Region& region) noexcept override { regions_.erase(region.local_key); }

  bool post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t key,
                  std::uint64_t token) noexcept override {
    if (places_.size() == net_.options_.depth) return false;
    check(memory, bytes, key, "posted");
    places_.push_back({memory, bytes, key, token});
    return true;
  }
  void show_places() noexcept override {}
  void flush_places(PlacingSink& sink) noexcept override {
    sends_.clear();
    completed_ = 0;
    hand_over(sink, kNone);
    return_all(sink);
  }
  bool send(LaneHeader header, const std::byte* payload, std::uint32_t bytes, std::uint32_t key,
            bool) noexcept override;
  std::uint32_t sending() const noexcept override {
    return static_cast<std::uint32_t>(sends_.size()) + completed_;
  }
  int poll(PlacingSink& sink, int budget) noexcept override {
    if (gone_) return -1;
    int events = static_cast<int>(std::exchange(completed_, 0));
    events += hand_over(sink, static_cast<std::uint32_t>(budget));
    if (arrivals_.empty() && std::exchange(broken_, false)) return_all(sink);
    return events;
  }
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }

  void land(const std::vector<std::byte>& packet);
  void send_done();
  void go() noexcept {
    gone_ = true;
    places_.clear();
    arrivals_.clear();
    sends_.clear();
  }

 private:
  struct Place {
    std::byte* memory = nullptr;
    std::uint32_t bytes = 0, key = 0;
    std::uint64_t token = 0;
  };
  struct Arrival {
    std::uint64_t token = 0;
    std::array<std::byte, kLaneHeaderBytes> header;
    std::uint32_t bytes = 0;
  };
  struct Send {
    std::array<std::byte, kLaneHeaderBytes> header;
    const std::byte* payload = nullptr;
    std::uint32_t bytes = 0, key = 0;
  };
  int hand_over(PlacingSink& sink, std::uint32_t most) {
    int events = 0;
    for (; !arrivals_.empty() && static_cast<std::uint32_t>(events) < most; ++events) {
      const Arrival arrival = arrivals_.front();
      arrivals_.pop_front();
      sink.placed(arrival.token, arrival.header, arrival.bytes);
    }
    return events;
  }
  // Some have been written to by what did not come whole.
  void return_all(PlacingSink& sink) {
    for (std::deque<Place> places = std::exchange(places_, {}); !places.empty();) {
      const Place place = places.front();
      places.pop_front();
      if (net_.prng_.chance(0.2)) std::memset(reached(place.memory), 0x5A, place.bytes);
      sink.returned(place.token);
    }
  }
  void check(const std::byte* memory, std::uint32_t bytes, std::uint32_t key, const char* what) {
    const auto found = regions_.find(key);
    const bool in = found != regions_.end() && memory >= found->second.begin &&
                    memory + bytes <= found->second.begin + found->second.bytes;
    if (!in) net_.fail(fmt::format("member {}: memory is {} that is not registered", me_, what));
  }

  PlacedNetwork& net_;
  const std::uint32_t me_;
  std::map<std::uint32_t, rdma::Region> regions_;
  std::uint32_t last_key_ = 0;
  std::deque<Place> places_;
  std::deque<Arrival> arrivals_;
  std::deque<Send> sends_;
  std::uint32_t completed_ = 0;  // sends that poll() has not told of
  bool broken_ = false, gone_ = false;
  Status fault_;
};

class PlacedNetwork::Mail final : public MemberMail {
 public:
  Mail(PlacedNetwork& net, std::uint32_t me) : net_(net), me_(me), last_(net.options_.members) {}
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    if (net_.refuses()) return false;
    const auto index = static_cast<std::uint32_t>(to);
    Event event;
    event.at =
        std::max(last_[index] + 1, net_.now_ + net_.options_.mail_ns + net_.prng_.below(1'000));
    last_[index] = event.at;
    event.to = index;
    event.what = What::kNews;
    event.from = static_cast<Rank>(me_);
    event.bytes = std::make_shared<std::vector<std::byte>>(message.begin(), message.end());
    net_.add(std::move(event));
    return true;
  }

 private:
  PlacedNetwork& net_;
  const std::uint32_t me_;
  std::vector<std::uint64_t> last_;
};

class PlacedNetwork::Stream final : public PlacedStream {
 public:
  explicit Stream(PlacedNetwork& net) : net_(net), last_(net.options_.members) {}
  bool publish(std::span<const std::byte> head,
               std::span<const std::byte> payload) noexcept override {
    if (net_.refuses() || net_.published_ - net_.slowest() >= net_.options_.window) return false;
    Event event;
    event.what = What::kNews;
    event.number = net_.published_++;
    event.bytes = std::make_shared<std::vector<std::byte>>(head.begin(), head.end());
    event.bytes->insert(event.bytes->end(), payload.begin(), payload.end());
    for (std::uint32_t to = 1; to < net_.options_.members; ++to) {
      const std::uint64_t repaired = net_.prng_.chance(0.05) ? net_.prng_.below(100'000) : 0;
      event.at = std::max(last_[to] + 1,
                          net_.now_ + net_.options_.stream_ns + net_.prng_.below(1'000) + repaired);
      last_[to] = event.at;
      event.to = to;
      net_.add(event);
    }
    return true;
  }
  std::uint64_t last(std::uint32_t to) const { return last_[to]; }

 private:
  PlacedNetwork& net_;
  std::vector<std::uint64_t> last_;
};

struct PlacedNetwork::Member {
  Member(PlacedNetwork& net, std::uint32_t me) : port(net, me), mail(net, me) {}
  Port port;
  Mail mail;
  bool alive = true;
  std::uint32_t heard = 0;  // messages of the stream
  std::deque<LaneNews> news;
};

bool PlacedNetwork::Port::send(LaneHeader header, const std::byte* payload, std::uint32_t bytes,
                               std::uint32_t key, bool) noexcept {
  if (gone_ || sending() >= net_.options_.queue) return false;
  Send send;
  std::ranges::copy(header, send.header.begin());
  send.payload = payload;
  send.bytes = bytes;
  send.key = key;
  sends_.push_back(send);
  Event event;
  event.at = net_.now_ + net_.options_.send_ns * sends_.size() + net_.prng_.below(50);
  // Now and then the adapter takes its time.
  if (net_.prng_.chance(0.002)) event.at += net_.prng_.below(300'000);
  event.to = me_;
  event.what = What::kSendDone;
  net_.add(std::move(event));
  return true;
}

// The adapter reads the packet, and it leaves.
void PlacedNetwork::Port::send_done() {
  if (sends_.empty()) return;
  const Send send = sends_.front();
  sends_.pop_front();
  ++completed_;
  check(send.payload, send.bytes, send.key, "sent");
  auto packet = std::make_shared<std::vector<std::byte>>(send.header.begin(), send.header.end());
  packet->insert(packet->end(), send.payload, send.payload + send.bytes);
  net_.cast(packet);
}

void PlacedNetwork::Port::land(const std::vector<std::byte>& packet) {
  if (gone_ || broken_) return;
  if (net_.prng_.chance(net_.options_.faults.breaks)) broken_ = true;
  if (places_.empty()) return;
  const Place place = places_.front();
  places_.pop_front();
  Arrival arrival;
  arrival.token = place.token;
  arrival.bytes = static_cast<std::uint32_t>(packet.size() - kLaneHeaderBytes);
  check(place.memory, place.bytes, place.key, "written to");
  std::memcpy(arrival.header.data(), packet.data(), kLaneHeaderBytes);
  std::memcpy(reached(place.memory), packet.data() + kLaneHeaderBytes, arrival.bytes);
  arrivals_.push_back(arrival);
}

PlacedNetwork::PlacedNetwork(const LaneOptions& options, std::uint64_t seed)
    : options_(options), prng_(seed), stream_(std::make_unique<Stream>(*this)) {
  for (std::uint32_t i = 0; i < options.members; ++i) {
    members_.push_back(std::make_unique<Member>(*this, i));
  }
}

PlacedNetwork::~PlacedNetwork() = default;

PlacingPort& PlacedNetwork::port(std::uint32_t member) {
  return members_[member]->port;
}
MemberMail& PlacedNetwork::mail(std::uint32_t member) {
  return members_[member]->mail;
}
PlacedStream& PlacedNetwork::stream() {
  return *stream_;
}
bool PlacedNetwork::alive(std::uint32_t member) const noexcept {
  return members_[member]->alive;
}
void PlacedNetwork::fail_port(std::uint32_t member) noexcept {
  members_[member]->port.go();
}
std::uint64_t PlacedNetwork::next_ns() const noexcept {
  return events_.empty() ? kNever : events_.top().at;
}

void PlacedNetwork::add(Event event) {
  event.order = ++order_;
  events_.push(std::move(event));
}

std::uint32_t PlacedNetwork::slowest() const {
  std::uint32_t least = published_;
  for (std::uint32_t i = 1; i < options_.members; ++i) {
    if (members_[i]->alive) least = std::min(least, members_[i]->heard);
  }
  return least;
}

// To all, the source included.
void PlacedNetwork::cast(const std::shared_ptr<std::vector<std::byte>>& packet) {
  ++cast_;
  if (prng_.chance(options_.faults.loss_of_many)) return;
  for (std::uint32_t to = 0; to < options_.members; ++to) {
    carry(to, packet);
    if (!prng_.chance(options_.faults.foreign)) continue;
    auto stranger = std::make_shared<std::vector<std::byte>>(*packet);
    (*stranger)[prng_.below(24)] ^= std::byte{0x10};
    for (std::size_t i = kLaneHeaderBytes; i < stranger->size(); ++i) (*stranger)[i] = std::byte{7};
    if (prng_.chance(0.3)) stranger->resize(kLaneHeaderBytes + prng_.below(options_.packet_bytes));
    carry(to, stranger);
  }
}

void PlacedNetwork::carry(std::uint32_t to, const std::shared_ptr<std::vector<std::byte>>& packet) {
  const LaneFaults& faults = options_.faults;
  if (prng_.chance(faults.loss)) return;
  Event event;
  event.to = to;
  event.bytes = packet;
  event.at = now_ + options_.latency_ns;  // In order: orders of equal times are those of add().
  if (prng_.chance(faults.late)) event.at += prng_.below(faults.late_ns);
  add(event);
  if (!prng_.chance(faults.repeat)) return;
  event.at += prng_.below(faults.late_ns);
  add(event);
}

std::uint32_t PlacedNetwork::step() {
  const Event event = events_.top();
  events_.pop();
  now_ = std::max(now_, event.at);
  Member& member = *members_[event.to];
  if (!member.alive) return kNone;
  if (event.what == What::kPacket) {
    member.port.land(*event.bytes);
  } else if (event.what == What::kSendDone) {
    member.port.send_done();
  } else {
    const bool is_end = event.from == kNoRank && event.bytes == nullptr;
    if (event.from == kNoRank && !is_end) {
      if (event.number >= ends_) return kNone;
      ++member.heard;
    }
    LaneNews news = {now_, event.from, is_end, {}};
    if (!is_end) news.bytes = *event.bytes;
    member.news.push_back(std::move(news));
  }
  return event.to;
}

bool PlacedNetwork::take_news(std::uint32_t member, LaneNews& news) {
  std::deque<LaneNews>& all = members_[member]->news;
  if (all.empty()) return false;
  news = std::move(all.front());
  all.pop_front();
  return true;
}

void PlacedNetwork::kill(std::uint32_t member) {
  members_[member]->alive = false;
  if (member != 0) return;
  std::uint32_t most = 0;
  for (std::uint32_t i = 1; i < options_.members; ++i) {
    most = std::max(most, members_[i]->alive ? members_[i]->heard : 0);
  }
  ends_ = most + static_cast<std::uint32_t>(prng_.below(published_ - most + 1));
  for (std::uint32_t i = 1; i < options_.members; ++i) {
    Event event;
    event.to = i;
    event.what = What::kNews;
    event.at = std::max(now_, stream_->last(i)) + 1'000 + prng_.below(300'000);
    add(std::move(event));
  }
}

}  // namespace espalier::multicast::played
