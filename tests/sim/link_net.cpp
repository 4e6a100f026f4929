#include "link_net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier::test {
namespace {

std::uint64_t key_of(Rank from, Rank to, std::uint32_t ordinal) {
  return static_cast<std::uint64_t>(from) << 48 | static_cast<std::uint64_t>(to) << 32 | ordinal;
}

// Sizes from nothing over less than a packet to many.
std::uint64_t size_of(std::uint64_t key, std::uint64_t bytes_max) {
  std::uint64_t state = key;
  Prng prng(splitmix64(state));
  const double kind = prng.unit();
  if (kind < 0.15) return 0;
  if (kind < 0.6) return prng.below(std::min<std::uint64_t>(bytes_max, 200) + 1);
  return prng.below(bytes_max + 1);
}

void fill(std::vector<std::byte>& bytes, std::uint64_t key) {
  Prng prng(key);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = prng.next();
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, bytes.size() - i));
  }
}

net::FrameHeader header_of(Rank from, Rank to, std::uint32_t ordinal, std::uint64_t bytes) {
  net::FrameHeader header;
  header.kind = net::FrameKind::kSegment;
  header.flow = key_of(from, to, 0);
  header.ordinal = ordinal;
  header.total = ordinal + 1;
  header.signature = ordinal * 7;
  header.bytes = bytes;
  return header;
}

struct Book final : rdma::AddressBook {
  Result<rdma::PortAddress> address_of(Rank rank) const override {
    return sim::SimDatagramPort::address_of(rank);
  }
};
const Book kBook;

}  // namespace

// A frame that the link has not taken over yet.
struct LinkNet::Sending : Completion {
  Sending(LinkNet& owner, Node& poster)
      : Completion([](Completion& self, Status status) noexcept {
          static_cast<Sending&>(self).finish(status);
        }),
        net(owner),
        node(poster) {}
  void finish(Status status) noexcept;

  LinkNet& net;
  Node& node;
  Rank to = kNoRank;
  std::vector<std::byte> payload;
  bool pending = false;
};

struct LinkNet::Node final : net::FrameSink {
  Node(LinkNet& owner, Rank number, std::uint64_t seed)
      : net(owner),
        rank(number),
        prng(seed),
        posted(owner.options_.ranks),
        expected(owner.options_.ranks),
        wanted(owner.options_.ranks),
        buffers(owner.options_.ranks) {}

  std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override {
    const std::uint32_t ordinal = expected[index(from)];
    const std::uint64_t bytes = size_of(key_of(from, rank, ordinal), net.options_.bytes_max);
    if (header != header_of(from, rank, ordinal, bytes)) {
      net.fail(fmt::format("rank {} got frame {} of {} bytes from {} instead of {} of {}", rank,
                           header.ordinal, header.bytes, from, ordinal, bytes));
    }
    if (gone.count(from) != 0) net.fail("a frame begins after its sender was lost");
    buffers[index(from)].assign(header.bytes, std::byte{0x5a});
    return buffers[index(from)].data();
  }
  void end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept override {
    std::vector<std::byte> right(header.bytes);
    fill(right, key_of(from, rank, header.ordinal));
    if (header.bytes > 0 && std::memcmp(payload, right.data(), right.size()) != 0) {
      net.fail(
          fmt::format("rank {} got wrong bytes in frame {} from {}", rank, header.ordinal, from));
    }
    ++expected[index(from)];
    ++received;
    if (net.options_.replies && prng.chance(0.2)) (void)net.post_one(*this, from);
  }
  void lost(Rank peer, const Status& why) noexcept override {
    if (!gone.emplace(peer, why).second) net.fail("a peer was lost twice");
  }

  LinkNet& net;
  const Rank rank;
  Prng prng;
  std::vector<std::uint32_t> posted, expected, wanted;  // by peer
  std::vector<std::vector<std::byte>> buffers;
  std::map<Rank, Status> gone;
  std::uint64_t received = 0;
  std::deque<std::unique_ptr<Sending>> sendings;  // of before too: their memory is spoiled
  std::size_t pending = 0;
  std::unique_ptr<sim::SimDatagramPort> port;
  std::unique_ptr<AttendedClock> clock;
  std::unique_ptr<rdma::DatagramLink> link;
};

void LinkNet::Sending::finish(Status status) noexcept {
  if (!std::exchange(pending, false)) net.fail("a post was completed twice");
  if (!status.ok() && status.rank() != to) net.fail("a post failed for another peer");
  --node.pending;
  std::fill(payload.begin(), payload.end(), std::byte{0xbd});
}

LinkNet::LinkNet(const LinkNetOptions& options) : options_(options), machine_(device_machine()) {
  map_ = std::make_unique<sim::Map>(
      *sim::Map::create(machine_, options.ranks, 1, sim::Placement::kByCore, 1));
  sim::WorldOptions world;
  world.seed = options.seed;
  world.faults = *sim::parse_faults(options.faults);
  world_ = std::make_unique<sim::World>(machine_, *map_, world);
  net_ = std::make_unique<sim::DatagramNet>(*world_);
  world_->set_turn(on_turn, this);
  Prng prng(options.seed ^ 0x74726166);
  for (std::uint32_t r = 0; r < options.ranks; ++r) {
    const auto rank = static_cast<Rank>(r);
    nodes_.push_back(std::make_unique<Node>(*this, rank, prng.next()));
    Node& node = *nodes_.back();
    for (std::uint32_t to = 0; to < options.ranks; ++to) {
      if (to != r) node.wanted[to] = static_cast<std::uint32_t>(prng.below(2 * options.frames + 1));
    }
    node.port = std::make_unique<sim::SimDatagramPort>(*net_, rank, options.port);
    rdma::DatagramLinkOptions link;
    link.me = {0xabcdef, rank, options.ranks};
    link.round_trip = {200'000, 20'000, 1'000'000};
    link.answer_delay_ns = 5'000;
    link.give_up_ns = options.give_up_ns;
    link.keepalive_ns = options.keepalive_ns;
    link.posts_max = 64;
    link.first.value = options.first_sequence;
    if (options.attended_ns > 0) {
      node.clock = std::make_unique<AttendedClock>(world_->clock(rank), options.attended_ns);
    }
    Clock& clock = node.clock != nullptr ? *node.clock : world_->clock(rank);
    node.link = std::make_unique<rdma::DatagramLink>(*node.port, clock, kBook, link);
    world_->schedule_turn(rank, prng.below(2000));
  }
}

LinkNet::~LinkNet() {
  for (const auto& node : nodes_) node->link.reset();
  for (const auto& node : nodes_) node->port.reset();
}

const std::map<Rank, Status>& LinkNet::lost(Rank r) const noexcept {
  return nodes_[index(r)]->gone;
}
rdma::DatagramLink& LinkNet::link(Rank r) noexcept {
  return *nodes_[index(r)]->link;
}
sim::SimDatagramPort& LinkNet::port(Rank r) noexcept {
  return *nodes_[index(r)]->port;
}

void LinkNet::on_turn(void* self, Rank rank) {
  auto& net = *static_cast<LinkNet*>(self);
  net.take_turn(*net.nodes_[index(rank)]);
}

void LinkNet::take_turn(Node& node) {
  if (node.link == nullptr || world_->crashed(node.rank) || is_stopped(node)) return;
  bool more = true;
  while (more) {
    more = node.link->progress(node) > 0;
    more = post_some(node) || more;
  }
  const std::uint64_t deadline = node.link->deadline_ns();
  if (deadline == 0) return;
  const std::uint64_t now = world_->local_ns(node.rank);
  const std::uint64_t left =
      elapsed_ns(node.clock != nullptr ? node.clock->now_ns() : now, deadline);
  world_->wake_at(node.rank, now + left);
}

bool LinkNet::is_stopped(const Node& node) {
  const std::uint64_t now = world_->local_ns(node.rank);
  const std::uint64_t end = options_.stop_ns + options_.stopped_ns +
                            options_.apart_ns * static_cast<std::uint64_t>(node.rank);
  if (now < options_.stop_ns || now >= end) return false;
  world_->wake_at(node.rank, end);
  return true;
}

// A few frames, in random order over the peers; some posts are taken back.
bool LinkNet::post_some(Node& node) {
  bool any = false;
  for (std::uint64_t tries = node.prng.below(6); tries > 0; --tries) {
    const auto to = static_cast<Rank>(node.prng.below(options_.ranks));
    if (node.pending < 8 && post_one(node, to)) any = true;
  }
  if (options_.withdraws && node.pending > 0 && node.prng.chance(0.2)) {
    Sending& last = *node.sendings.back();
    if (last.pending) {
      node.link->withdraw(last.to, last);
      last.finish(Status(ESP_OK, last.to));
    }
  }
  bool left = false;
  for (std::uint32_t to = 0; to < options_.ranks; ++to) left |= node.posted[to] < node.wanted[to];
  if (left) world_->wake_at(node.rank, world_->local_ns(node.rank) + 1 + node.prng.below(20'000));
  return any;
}

bool LinkNet::post_one(Node& node, Rank to) {
  const std::uint32_t ordinal = node.posted[index(to)];
  if (to == node.rank || ordinal >= node.wanted[index(to)]) return false;
  auto sending = std::make_unique<Sending>(*this, node);
  sending->to = to;
  const std::uint64_t key = key_of(node.rank, to, ordinal);
  sending->payload.resize(size_of(key, options_.bytes_max));
  fill(sending->payload, key);
  const auto header = header_of(node.rank, to, ordinal, sending->payload.size());
  sending->pending = true;
  ++node.pending;
  Sending& posted = *sending;
  while (!node.sendings.empty() && !node.sendings.front()->pending) node.sendings.pop_front();
  node.sendings.push_back(std::move(sending));
  const Posted answer = node.link->post(to, header, posted.payload.data(), posted);
  if (answer != Posted::kPending) posted.finish(Status(ESP_OK, to));
  if (answer == Posted::kRetry) return false;
  ++node.posted[index(to)];
  return true;
}

bool LinkNet::complete() const {
  for (const auto& node : nodes_) {
    if (world_->crashed(node->rank)) continue;
    if (node->pending > 0 || !node->link->drained()) return false;
    for (const auto& other : nodes_) {
      const std::size_t to = index(other->rank);
      if (node->gone.count(other->rank) != 0 || other->gone.count(node->rank) != 0) continue;
      if (world_->crashed(other->rank)) {
        if (to != index(node->rank)) return false;  // has not been noticed
        continue;
      }
      if (node->posted[to] < node->wanted[to]) return false;
      if (other->expected[index(node->rank)] < node->wanted[to]) return false;
    }
  }
  return true;
}

bool LinkNet::run_until(std::uint64_t time_ns) {
  while (failure_.empty() && !complete() && world_->now_ns() < time_ns && world_->step()) {
  }
  return failure_.empty() && complete();
}

void LinkNet::say_goodbye() {
  for (const auto& node : nodes_) {
    if (world_->crashed(node->rank)) continue;
    for (const auto& other : nodes_) {
      if (other != node) node->link->say_goodbye(other->rank);
    }
    world_->schedule_turn(node->rank, world_->now_ns());
  }
}

bool LinkNet::drained() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [this](const auto& node) {
    return world_->crashed(node->rank) || node->link->drained();
  });
}

std::string LinkNet::leftovers() const {
  for (const auto& node : nodes_) {
    if (world_->crashed(node->rank)) continue;
    // The link keeps four packets for acknowledgements.
    if (node->port->held() > 4) {
      return fmt::format("rank {} holds {} packets", node->rank, node->port->held());
    }
    if (node->pending > 0) return fmt::format("rank {} waits for posts", node->rank);
  }
  return {};
}

}  // namespace espalier::test
