#include "bench/experiments/multicast/group_broadcast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/experiments/multicast/group_mail.hpp"
#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {
namespace {

constexpr std::uint32_t kPerSwitch = 32, kSwitchesPerGroup = 32;
constexpr std::uint32_t kBurst = 4;           // packets that the source sends before it looks
constexpr std::uint64_t kLookAgain_ns = 100;  // where something has found no room
constexpr std::uint64_t kEndNs = 1'000'000'000;
constexpr Rank kSource = 0;

// Reordering does not happen in this network, and a round trip takes some 3 us.
void tune(multicast::GroupOptions& options) {
  options.gather_ns = 1'000;
  options.ask.reorder_ns = 1'000;
  options.ask.again_ns = 60'000;
  options.probe.probe_ns = 8'000;
}

// The whole job.
class Broadcast {
 public:
  explicit Broadcast(const GroupBroadcast& wanted);
  GroupBroadcastResult run();

 private:
  struct Member final : multicast::GroupSink {
    Member(Broadcast& in, Rank rank) noexcept : job(in), me(rank) {}
    void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) override {
      job.take(*this, source, tag, payload);
    }
    void source_ended(Rank, std::uint32_t) override { job.fail("a source ends"); }

    Broadcast& job;
    const Rank me;
    std::uint64_t done = 0;  // bytes that have come, or gone
    std::unique_ptr<sim::SimGroupPort> port;
    std::unique_ptr<multicast::Group> group;
  };

  void make_members();
  void turn(Member& member);
  void publish(Member& source);
  void take(Member& member, Rank source, std::uint64_t tag, std::span<const std::byte> payload);
  void fail(std::string what) {
    if (result_.failure.empty()) result_.failure = std::move(what);
  }
  void count();

  const GroupBroadcast wanted_;
  const sim::Machine machine_;
  const sim::Map map_;
  std::vector<std::byte> data_;
  std::vector<Rank> ranks_;
  sim::World world_;
  sim::GroupNet net_;
  GroupMail mail_;
  std::deque<Member> members_;
  std::uint32_t lack_ = 0;  // members that do not have it all
  GroupBroadcastResult result_;
};

sim::WorldOptions world_options(const GroupBroadcast& wanted) {
  sim::WorldOptions options;
  options.seed = wanted.seed;
  options.faults.loss = wanted.loss;
  options.faults.branch_loss = wanted.branch_loss;
  return options;
}

sim::Machine machine_of(const GroupBroadcast& wanted) {
  sim::Machine machine = group_machine(wanted.nodes);
  machine.multicast.packet_bytes = wanted.packet_bytes;
  machine.multicast.growth_ns = wanted.growth_ns;
  return machine;
}

Broadcast::Broadcast(const GroupBroadcast& wanted)
    : wanted_(wanted),
      machine_(machine_of(wanted)),
      map_(sim::Map::create(machine_, wanted.nodes, 1, sim::Placement::kByCore, 1).value()),
      data_(wanted.bytes),
      ranks_(wanted.nodes),
      world_(machine_, map_, world_options(wanted)),
      net_(world_),
      mail_(world_),
      lack_(wanted.nodes - 1) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
  Prng prng(wanted.seed);
  std::ranges::generate(data_, [&] { return static_cast<std::byte>(prng.next()); });
  make_members();
}

void Broadcast::make_members() {
  for (const Rank rank : ranks_) members_.emplace_back(*this, rank);
  multicast::GroupOptions options;
  options.epoch = 1;
  options.ranks = wanted_.nodes;
  if (wanted_.tuned) tune(options);
  sim::GroupPortOptions port;
  port.packet_bytes = wanted_.packet_bytes;
  port.receive_packets = wanted_.receive_packets;
  // The last one first: a net keeps them by core.
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    port.send_packets = member->me == kSource ? 2 * multicast::kWindowMax : 2;
    member->port =
        std::make_unique<sim::SimGroupPort>(net_, member->me, multicast::GroupAddress{}, port);
    options.rank = member->me;
    member->group = std::make_unique<multicast::Group>(ranks_, *member->port, mail_.of(member->me),
                                                       world_.clock(member->me), *member, options);
  }
  const auto turn_of = [](void* job, Rank rank) {
    auto& broadcast = *static_cast<Broadcast*>(job);
    broadcast.turn(broadcast.members_[static_cast<std::size_t>(rank)]);
  };
  world_.set_turn(turn_of, this);
}

void Broadcast::turn(Member& member) {
  mail_.deliver(member.me, [&](Rank from, std::span<const std::byte> message) {
    member.group->mail_arrived(from, message);
  });
  if (member.group->progress() < 0) fail("a port has failed");
  if (member.me == kSource) publish(member);
  const std::uint64_t due = member.group->deadline_ns();
  if (due == kNever) return;
  world_.wake_at(member.me, std::max(due, world_.local_ns(member.me) + kLookAgain_ns));
}

void Broadcast::publish(Member& source) {
  for (std::uint32_t i = 0; i < kBurst && source.done < data_.size(); ++i) {
    const std::span<std::byte> room = source.group->room();
    if (room.empty()) return;  // What opens it gives a turn.
    const std::size_t bytes = std::min<std::size_t>(room.size(), data_.size() - source.done);
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(source.done), bytes, room.begin());
    source.group->publish(bytes, source.done);
    source.done += bytes;
  }
  if (source.done < data_.size()) world_.wake(source.me);
}

void Broadcast::take(Member& member, Rank source, std::uint64_t tag,
                     std::span<const std::byte> payload) {
  const bool fits = tag == member.done && payload.size() <= data_.size() - member.done;
  if (source != kSource || !fits ||
      !std::equal(payload.begin(), payload.end(),
                  data_.begin() + static_cast<std::ptrdiff_t>(member.done))) {
    return fail(fmt::format("member {} gets other bytes", member.me));
  }
  member.done += payload.size();
  if (member.done < data_.size()) return;
  --lack_;
  result_.all_ns = std::max(result_.all_ns, world_.now_ns());
}

GroupBroadcastResult Broadcast::run() {
  const Member& source = members_[0];
  const auto over = [&] {
    return lack_ == 0 && source.done == data_.size() && source.group->drained();
  };
  while (result_.failure.empty() && !over()) {
    if (!world_.step() || world_.now_ns() > kEndNs) fail("it does not end");
  }
  result_.known_ns = world_.now_ns();
  count();
  // What is under way still comes to somebody.
  while (world_.step()) {
  }
  result_.unseed = world_.unseed();
  return std::move(result_);
}

void Broadcast::count() {
  const multicast::GroupCounts& source = members_[0].group->counts();
  result_.window = members_[0].group->window();
  result_.losses = net_.counts().lost + net_.counts().cut;
  if (net_.counts().dropped > 0) fail("a packet has found no room");
  result_.group_packets = net_.counts().sent;
  result_.again = source.packets_again;
  result_.probes = source.probes_sent;
  result_.source_mail = mail_.posted(kSource);
  result_.source_questions = source.nacks_received;
  for (const Member& member : members_) {
    result_.questions += member.group->counts().nacks_sent;
    result_.repairs += member.group->counts().repairs_sent;
    result_.repair_ns.merge(member.group->repair_ns());
  }
}

}  // namespace

sim::Machine group_machine(std::uint32_t nodes) {
  sim::Machine machine = machine_or_exit("ri2");
  machine.name = "ri2-groups";
  machine.multicast = {};
  const auto above = [](std::uint32_t count, std::uint32_t each) {
    return (count + each - 1) / each;
  };
  const std::uint32_t switches = above(nodes, kPerSwitch);
  sim::Level group = machine.levels[0], leaf = machine.levels[0];
  group.name = "group";
  group.arity = above(switches, kSwitchesPerGroup);
  leaf.name = "switch";
  leaf.arity = std::min(switches, kSwitchesPerGroup);
  machine.levels[1].arity = std::min(nodes, kPerSwitch);
  machine.levels.insert(machine.levels.begin() + 1, {group, leaf});
  return machine;
}

GroupBroadcastResult run_broadcast(const GroupBroadcast& broadcast) {
  return Broadcast(broadcast).run();
}

}  // namespace espalier::experiments
