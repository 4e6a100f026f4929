#include "net/sim/group_net.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "net/sim/packet_faults.hpp"
#include "net/sim/sim_group_port.hpp"

namespace espalier::sim {
namespace {

// What one network card serves: the units of the outermost lane, else those between which devices
// carry.
std::size_t level_of_cards(const Machine& machine) noexcept {
  std::size_t level = 0;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& candidate = machine.levels[i];
    if (candidate.carrier != Carrier::kDevice) continue;
    if (candidate.lane != 0) {
      const int per = machine.find_level(machine.lanes[candidate.lane - 1].per);
      ESP_ASSERT(per >= 0);
      return static_cast<std::size_t>(per);
    }
    level = std::min(i + 1, machine.levels.size() - 1);
  }
  return level;
}

}  // namespace

// A packet that has been sent, until it has left and all its copies have come to their end.
struct GroupNet::Sending final : Happening {
  explicit Sending(GroupNet& owner) noexcept : net(owner) {}
  void happen() noexcept override { net.left(*this); }
  std::uint64_t mark() const noexcept override { return number << 3; }

  GroupNet& net;
  Group* group = nullptr;
  SimGroupPort* port = nullptr;  // nullptr: has gone
  rdma::Packet* packet = nullptr;
  std::vector<std::byte> bytes;  // empty until it has left
  std::uint64_t length = 0;
  std::uint64_t number = 0;
  std::uint64_t left_ns = 0;
  std::uint32_t holders = 0;  // copies, and itself until it has left
  Rank from = kNoRank;
};

// On the way to a card, of which `to` is a member, or to one member alone.
struct GroupNet::Copy final : Happening {
  enum class Stage : std::uint8_t { kLane, kCard, kMember, kDelayed };

  explicit Copy(GroupNet& owner) noexcept : net(owner) {}
  void happen() noexcept override { net.come(*this); }
  std::uint64_t mark() const noexcept override {
    return sending->number << 3 | (static_cast<std::uint64_t>(stage) + 1);
  }

  GroupNet& net;
  Sending* sending = nullptr;
  Rank to = kNoRank;
  Stage stage = Stage::kCard;
};

GroupNet::GroupNet(World& world)
    : world_(world),
      prng_(world.options().seed ^ 0x67726f7570ULL),
      card_level_(level_of_cards(world.machine())),
      losses_(world.ranks()),
      branches_(world.machine().levels.size()) {}

GroupNet::~GroupNet() {
  for (const auto& group : groups_) ESP_ASSERT(group->members.empty());
}

void GroupNet::attach(SimGroupPort& port, const multicast::GroupAddress& address) {
  const auto same = [&](const auto& group) { return group->address == address; };
  auto found = std::find_if(groups_.begin(), groups_.end(), same);
  if (found == groups_.end()) {
    groups_.push_back(std::make_unique<Group>());
    groups_.back()->address = address;
    found = groups_.end() - 1;
  }
  const auto rank = static_cast<std::uint32_t>(port.rank_);
  port.group_ = found->get();
  port.core_ = world_.map().core(rank);
  port.card_ = world_.map().unit(rank, card_level_);
  std::vector<SimGroupPort*>& members = port.group_->members;
  ESP_ASSERT(find(*port.group_, port.core_) == nullptr);
  const auto behind = [&](const SimGroupPort* other) { return other->core_ > port.core_; };
  members.insert(std::find_if(members.begin(), members.end(), behind), &port);
  world_.attach_port(port.rank_);
}

void GroupNet::detach(SimGroupPort& port) noexcept {
  std::erase(port.group_->members, &port);
  world_.detach_port(port.rank_);
  // Its memory goes: what has not left by now never will.
  for (const auto& sending : sendings_) {
    if (sending->port == &port) sending->port = nullptr;
  }
}

// Nobody, if the member there is another core's.
SimGroupPort* GroupNet::find(const Group& group, std::uint64_t core) noexcept {
  const auto before = [](const SimGroupPort* port, std::uint64_t c) { return port->core_ < c; };
  const auto at = std::lower_bound(group.members.begin(), group.members.end(), core, before);
  return at != group.members.end() && (*at)->core_ == core ? *at : nullptr;
}

GroupNet::Reach GroupNet::reach_of(const SimGroupPort& from) const noexcept {
  Reach reach{from.rank_, 1};
  std::size_t level = world_.machine().levels.size();
  for (const SimGroupPort* member : from.group_->members) {
    if (member == &from || !member->is_member()) continue;
    const std::size_t between = world_.map().level_between(
        static_cast<std::uint32_t>(from.rank_), static_cast<std::uint32_t>(member->rank_));
    ++reach.members;
    if (between >= level) continue;
    level = between;
    reach.farthest = member->rank_;
  }
  return reach;
}

void GroupNet::launch(SimGroupPort& from, rdma::Packet& packet) {
  if (idle_sendings_.empty()) {
    sendings_.push_back(std::make_unique<Sending>(*this));
    idle_sendings_.push_back(sendings_.back().get());
  }
  Sending& s = *idle_sendings_.back();
  idle_sendings_.pop_back();
  s.group = from.group_;
  s.port = &from;
  s.packet = &packet;
  s.bytes.clear();
  s.length = packet.bytes;
  s.number = ++counts_.sent;
  s.holders = 1;
  s.from = from.rank_;
  const Reach reach = reach_of(from);
  (void)world_.charge(s.from, world_.price(s.from, reach.farthest).overhead_send_ns);
  const World::Departure departure =
      world_.depart_to_group(s.from, reach.farthest, reach.members, s.length);
  s.left_ns = departure.left_ns;
  world_.schedule(s, s.from, s.left_ns);
  copy_to_cards(s, from, departure);
}

void GroupNet::copy_to_cards(Sending& s, const SimGroupPort& from,
                             const World::Departure& departure) {
  const std::vector<SimGroupPort*>& members = s.group->members;
  for (std::size_t i = 0; i < members.size();) {
    const std::uint64_t card = members[i]->card_;
    const bool own = card == from.card_;
    Rank to = kNoRank;
    std::uint64_t receivers = 0;
    do {
      if (members[i] == &from || !members[i]->is_member()) continue;
      if (receivers++ == 0) to = members[i]->rank_;
    } while (++i < members.size() && !own && members[i]->card_ == card);
    if (receivers == 0) continue;
    if (cut_off(s, to)) {
      counts_.cut += receivers;
      continue;
    }
    ++counts_.copied;
    const World::Departure way = world_.fork(departure, s.from, to, s.length);
    Copy& copy = copy_of(s, to);
    copy.stage = own ? Copy::Stage::kMember : way.in_lane ? Copy::Stage::kLane : Copy::Stage::kCard;
    world_.schedule(copy, to, own ? std::max(way.there_ns, way.left_ns) : way.there_ns);
  }
}

// Whether a link towards this member's card has lost it. Members come in the order of their cores,
// so the last answer of a level holds for all that follow in the same unit.
bool GroupNet::cut_off(const Sending& s, Rank to) {
  const double share = world_.faults().branch_loss;
  if (share <= 0) return false;
  const auto member = static_cast<std::uint32_t>(to);
  std::size_t level = world_.map().level_between(static_cast<std::uint32_t>(s.from), member);
  bool lost = false;
  while (++level <= card_level_) {
    Branch& branch = branches_[level];
    const std::uint64_t unit = world_.map().unit(member, level);
    if (branch.packet != s.number || branch.unit != unit) branch = {s.number, unit, chance(share)};
    lost |= branch.lost;
  }
  return lost;
}

GroupNet::Copy& GroupNet::copy_of(Sending& s, Rank to) {
  if (idle_copies_.empty()) {
    copies_.push_back(std::make_unique<Copy>(*this));
    idle_copies_.push_back(copies_.back().get());
  }
  Copy& copy = *idle_copies_.back();
  idle_copies_.pop_back();
  ++s.holders;
  copy.sending = &s;
  copy.to = to;
  return copy;
}

void GroupNet::left(Sending& s) {
  if (s.port != nullptr) {
    s.bytes.assign(s.packet->data, s.packet->data + s.length);
    s.port->note_left(*s.packet);
  }
  let_go(s);
}

void GroupNet::let_go(Sending& s) {
  if (--s.holders == 0) idle_sendings_.push_back(&s);
}

void GroupNet::come(Copy& copy) {
  Sending& s = *copy.sending;
  const Rank to = copy.to;
  const Copy::Stage stage = copy.stage;
  if (stage == Copy::Stage::kLane) {
    copy.stage = Copy::Stage::kCard;
    return world_.schedule(copy, to, std::max(world_.pass_lane(s.from, to, s.length), s.left_ns));
  }
  idle_copies_.push_back(&copy);
  if (stage == Copy::Stage::kCard) {
    reach_card(s, to);
  } else {
    SimGroupPort* port = find(*s.group, world_.map().core(static_cast<std::uint32_t>(to)));
    if (stage == Copy::Stage::kMember && port != nullptr) {
      meet_fate(s, *port);
    } else {
      deliver(s, port);
    }
  }
  let_go(s);
}

// To all members on this rank's card. Each may have a turn at once, in which ports come and go: so
// the next one is looked for by its place.
void GroupNet::reach_card(Sending& s, Rank at) {
  const std::uint64_t card = world_.map().unit(static_cast<std::uint32_t>(at), card_level_);
  std::uint64_t place = card * world_.machine().cores_per_unit(card_level_);
  while (true) {
    const auto before = [](const SimGroupPort* port, std::uint64_t c) { return port->core_ < c; };
    const std::vector<SimGroupPort*>& members = s.group->members;
    const auto next = std::lower_bound(members.begin(), members.end(), place, before);
    if (next == members.end() || (*next)->card_ != card) return;
    place = (*next)->core_ + 1;
    if ((*next)->is_member()) meet_fate(s, **next);
  }
}

// All of it has come to a member; faults say what becomes of it.
void GroupNet::meet_fate(Sending& s, SimGroupPort& port) {
  const Rank to = port.rank_;
  if (world_.parted(s.from, to)) {
    ++counts_.parted;
    return;
  }
  std::uint32_t& losses = losses_[static_cast<std::size_t>(to)];
  if (losses > 0 || chance(world_.faults().loss)) {
    losses -= losses > 0 ? 1 : 0;
    ++counts_.lost;
    return;
  }
  const auto overtaken_ns = [&] {
    return prng_.below(overtaking_ns(world_.price(s.from, to), s.length) + 1);
  };
  if (chance(world_.faults().duplicate)) {
    ++counts_.repeated;
    delay(s, to, overtaken_ns());
  }
  std::uint64_t late = 0;
  if (chance(world_.faults().reorder)) {
    ++counts_.reordered;
    late = overtaken_ns();
  }
  late += world_.draw_delay();
  const std::uint64_t clogged = world_.clogged_until(s.from, to);
  if (clogged > world_.now_ns() + late) late = clogged - world_.now_ns();
  if (late == 0) return deliver(s, &port);
  delay(s, to, late);
}

void GroupNet::delay(Sending& s, Rank to, std::uint64_t by_ns) {
  Copy& copy = copy_of(s, to);
  copy.stage = Copy::Stage::kDelayed;
  world_.schedule(copy, to, world_.now_ns() + by_ns);
}

// `port`: nullptr if it has gone.
void GroupNet::deliver(Sending& s, SimGroupPort* port) {
  std::span<const std::byte> bytes = s.bytes;
  if (!bytes.empty() && chance(world_.faults().corrupt)) {
    ++counts_.damaged;
    damaged_.assign(bytes.begin(), bytes.end());
    damage(damaged_, prng_);
    bytes = damaged_;
  }
  const bool there = port != nullptr && !world_.crashed(port->rank_) && !bytes.empty();
  ++(there && port->note_arrival(s.from, bytes) ? counts_.arrived : counts_.dropped);
}

}  // namespace espalier::sim
