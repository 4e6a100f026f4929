#include "net/sim/connection_net.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "net/sim/connection_parts.hpp"
#include "net/sim/sim_connection_port.hpp"

namespace espalier::sim {
namespace {

// An end that is not connected yet is looked for so often before the sender gives up.
constexpr std::uint32_t kSearches = 8;
constexpr std::size_t kEchoMax = 3;

}  // namespace

ConnectionNet::ConnectionNet(World& world, const ConnectionLimits& limits)
    : world_(world),
      limits_(limits),
      prng_(world.options().seed ^ 0x636f6e6e656374ULL),
      ports_(world.ranks()),
      crowded_ns_(world.ranks()),
      refusals_(world.ranks()),
      takers_(world.ranks()) {
  const FaultSpec& spec = world.options().faults;
  if (spec.breaks == 0 && spec.overruns == 0) return;
  const std::uint64_t horizon = spec.heal_ns != 0 ? spec.heal_ns : kHorizonNs;
  for (const FaultEvent& fault : draw_faults(spec, world.ranks(), horizon, world.options().seed)) {
    const bool mine =
        fault.kind == FaultEvent::Kind::kBreak || fault.kind == FaultEvent::Kind::kOverrun;
    if (!mine) continue;
    events_.push_back(std::make_unique<Event>(*this, fault));
    world_.schedule(*events_.back(), fault.from, fault.begin_ns);
  }
}

ConnectionNet::~ConnectionNet() {
  for (const SimConnectionPort* port : ports_) ESP_ASSERT(port == nullptr);
}

void ConnectionNet::attach(Rank rank, SimConnectionPort* port) noexcept {
  ESP_ASSERT(ports_[static_cast<std::size_t>(rank)] == nullptr);
  ports_[static_cast<std::size_t>(rank)] = port;
  world_.attach_port(rank);
}

void ConnectionNet::detach(Rank rank) noexcept {
  ports_[static_cast<std::size_t>(rank)] = nullptr;
  world_.detach_port(rank);
}

ConnectionNet::End& ConnectionNet::make_end(Rank rank, rdma::ConnectionId id) {
  ends_.push_back(std::make_unique<End>());
  End& end = *ends_.back();
  end.rank = rank;
  end.id = id;
  end.number = ends_.size();
  return end;
}

ConnectionNet::End* ConnectionNet::find_end(std::uint64_t number) noexcept {
  return number == 0 || number > ends_.size() ? nullptr : ends_[number - 1].get();
}

ConnectionNet::Operation& ConnectionNet::take() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Operation>(*this));
    idle_.push_back(all_.back().get());
  }
  Operation& op = *idle_.back();
  idle_.pop_back();
  op.number = ++counts_.posted;
  return op;
}

void ConnectionNet::give_back(Operation& op) noexcept {
  ESP_ASSERT(!op.scheduled);
  op.source = nullptr;
  op.arrived = op.disowned = op.ghost = op.with_immediate = op.copied = false;
  op.tries = 0;
  op.bytes.clear();
  idle_.push_back(&op);
}

void ConnectionNet::schedule(Operation& op, std::uint64_t time_ns) {
  ESP_ASSERT(!op.scheduled);
  op.scheduled = true;
  world_.schedule(op, op.source->rank, time_ns);
}

// From the sender's local time on. A request to read is a small message.
void ConnectionNet::launch(Operation& op) {
  const End& source = *op.source;
  const World::Price price = world_.price(source.rank, source.peer_rank);
  (void)world_.charge(source.rank, price.overhead_send_ns);
  const bool carries = op.verb == Verb::kSend || op.verb == Verb::kWrite;
  const World::Departure departure =
      world_.depart(source.rank, source.peer_rank, carries ? op.what.bytes : 0);
  op.left_ns = departure.left_ns;
  op.stage = departure.in_lane ? Operation::Stage::kLane : Operation::Stage::kThere;
  if (departure.in_lane) return schedule(op, departure.there_ns);
  arrive(op);
}

// When it is there in fact: its stage becomes kThere, or the sender gives up on it.
void ConnectionNet::arrive(Operation& op) {
  const End& source = *op.source;
  const bool carries = op.verb == Verb::kSend || op.verb == Verb::kWrite;
  const std::uint64_t bytes = carries ? op.what.bytes : 0;
  const World::Price price = world_.price(source.rank, source.peer_rank);
  const std::uint64_t time = op.stage == Operation::Stage::kLane
                                 ? world_.pass_lane(source.rank, source.peer_rank, bytes)
                                 : op.left_ns + static_cast<std::uint64_t>(price.latency_ns);
  const std::uint64_t real = world_.hindered(source.rank, source.peer_rank, time);
  if (real > time + limits_.retry_ns) return give_up(op, time + limits_.retry_ns);
  op.stage = Operation::Stage::kThere;
  schedule(op, real);
}

void ConnectionNet::advance(Operation& op) {
  op.scheduled = false;
  if (op.disowned) return give_back(op);
  End& source = *op.source;
  switch (op.stage) {
    case Operation::Stage::kLane:
      return arrive(op);
    case Operation::Stage::kThere:
      op.arrived = true;
      return execute_in_order(source);
    case Operation::Stage::kGivingUp:
      // A ghost's sender has given up already.
      if (!op.ghost) return end(source, rdma::Fault::kRetryExceeded, true);
      while (!source.ghosts.empty()) {
        Operation& last = *source.ghosts.back();
        source.ghosts.pop_back();
        last.disowned = true;
        if (!last.scheduled) give_back(last);
      }
      return;
    case Operation::Stage::kAcknowledged:
      return complete(op);
  }
}

void ConnectionNet::give_up(Operation& op, std::uint64_t at_ns) {
  op.stage = Operation::Stage::kGivingUp;
  schedule(op, at_ns);
}

void ConnectionNet::execute_in_order(End& source) {
  while (!source.ghosts.empty() && source.ghosts.front()->arrived) {
    Operation& op = *source.ghosts.front();
    const std::uint64_t before = counts_.executed;
    (void)execute(op);
    if (counts_.executed == before) return;  // it waits, or none of them gets through
    source.ghosts.pop_front();
    give_back(op);
  }
  while (source.state == End::State::kReady && source.executed < source.posted.size()) {
    Operation& op = *source.posted[source.executed];
    if (!op.arrived || !execute(op)) return;
    ++source.executed;
    echo(source);
    acknowledge(op);
  }
}

// Somebody is there who answers.
bool ConnectionNet::reachable(const End& source) noexcept {
  const End* target = find_end(source.peer_number);
  if (target == nullptr || target->state != End::State::kReady) return false;
  if (target->peer_number != source.number || world_.crashed(target->rank)) return false;
  const SimConnectionPort* there = port(target->rank);
  return there != nullptr && there->fault_.ok();
}

// What an adapter does wrong that sends again what was only late, and takes it for new.
void ConnectionNet::echo(End& source) {
  const double share = world_.faults().echo;
  if (share <= 0 || !world_.faults_on() || !prng_.chance(share)) return;
  const std::size_t again = 1 + prng_.below(std::min(source.executed, kEchoMax));
  auto& packets = port(source.peer_rank)->idle_packets_;
  for (std::size_t i = source.executed - again; i < source.executed; ++i) {
    Operation& op = *source.posted[i];
    const bool told = op.verb == Verb::kSend || op.with_immediate;
    if (!told || packets.empty()) continue;
    rdma::Packet* packet = packets.front();
    packets.pop_front();
    ++counts_.echoes;
    tell(op, packet);
  }
}

// False: not now, or never; what comes next is scheduled.
bool ConnectionNet::execute(Operation& op) {
  End& source = *op.source;
  if (!reachable(source)) {
    op.arrived = false;
    if (++op.tries >= kSearches) {
      give_up(op, world_.now_ns());
    } else {
      schedule(op, world_.now_ns() + limits_.retry_ns / kSearches);
    }
    return false;
  }
  End& target = *find_end(source.peer_number);
  if (op.verb != Verb::kSend &&
      !port(target.rank)->covers(op.remote.key, op.remote.address, op.what.bytes, true)) {
    end(target, rdma::Fault::kRemoteAccess, true);
    if (op.ghost) {
      op.arrived = false;
      give_up(op, world_.now_ns());
    } else {
      end(source, rdma::Fault::kRemoteAccess, true);
    }
    return false;
  }
  rdma::Packet* packet = nullptr;
  if ((op.verb == Verb::kSend || op.with_immediate) && !find_packet(op, packet)) return false;
  perform(op, packet);
  ++counts_.executed;
  if (op.ghost) ++counts_.ghosts;
  return true;
}

// A packet of the receiver; without one the sender tries again later, and a few times only.
bool ConnectionNet::find_packet(Operation& op, rdma::Packet*& packet) {
  SimConnectionPort& there = *port(find_end(op.source->peer_number)->rank);
  const double share = world_.faults().rnr;
  const bool chance = share > 0 && world_.faults_on() && prng_.chance(share);
  if (!chance && !there.idle_packets_.empty()) {
    packet = there.idle_packets_.front();
    there.idle_packets_.pop_front();
    return true;
  }
  ++counts_.not_ready;
  op.arrived = false;
  if (op.tries++ < limits_.rnr_retries) {
    schedule(op, world_.now_ns() + limits_.rnr_wait_ns);
  } else if (op.ghost) {
    give_up(op, world_.now_ns());
  } else {
    end(*op.source, rdma::Fault::kReceiverNotReady, true);
  }
  return false;
}

void ConnectionNet::perform(Operation& op, rdma::Packet* packet) {
  auto* remote = reinterpret_cast<std::byte*>(op.remote.address);
  switch (op.verb) {
    case Verb::kSend:
      return tell(op, packet);
    case Verb::kWrite:
      if (op.what.bytes > 0) std::memcpy(remote, op.data(), op.what.bytes);
      if (op.with_immediate) tell(op, packet);
      return;
    case Verb::kRead:
      op.bytes.assign(remote, remote + op.what.bytes);
      return;
    case Verb::kAtomic: {
      std::uint64_t value = 0;
      std::memcpy(&value, remote, sizeof value);
      op.bytes.assign(remote, remote + sizeof value);
      if (op.atomic == rdma::Atomic::kFetchAdd) value += op.operand;
      if (op.atomic == rdma::Atomic::kCompareSwap && value == op.compare) value = op.operand;
      std::memcpy(remote, &value, sizeof value);
      return;
    }
  }
}

// A message or a placement has come, with this packet of the receiver.
void ConnectionNet::tell(Operation& op, rdma::Packet* packet) {
  End& target = *find_end(op.source->peer_number);
  SimConnectionPort& there = *port(target.rank);
  if (swallows_ == std::pair{op.source->rank, target.rank}) {
    swallows_ = {kNoRank, kNoRank};
    return there.repost(*packet);
  }
  SimConnectionPort::Completion completion;
  completion.end = &target;
  completion.packet = packet;
  completion.bytes = static_cast<std::uint32_t>(op.what.bytes);
  completion.immediate = op.immediate;
  using Kind = SimConnectionPort::Completion::Kind;
  if (op.verb == Verb::kWrite) {
    completion.kind = Kind::kPlaced;
  } else {
    completion.kind = op.with_immediate ? Kind::kReceivedImmediate : Kind::kReceived;
    ESP_ASSERT(op.what.bytes <= packet->capacity);
    if (op.what.bytes > 0) std::memcpy(packet->data, op.data(), op.what.bytes);
    packet->bytes = completion.bytes;
  }
  there.push(completion);
}

// The answer of the peer's adapter; of a read, with the data, which those behind do not overtake.
void ConnectionNet::acknowledge(Operation& op) {
  End& source = *op.source;
  const World::Price price = world_.price(source.peer_rank, source.rank);
  const bool answers = op.verb == Verb::kRead || op.verb == Verb::kAtomic;
  const double way =
      price.latency_ns + (answers ? static_cast<double>(op.what.bytes) * price.ns_per_byte : 0);
  const std::uint64_t time =
      std::max(world_.now_ns() + static_cast<std::uint64_t>(way), source.answered_ns);
  source.answered_ns = time;
  const std::uint64_t real = world_.hindered(source.peer_rank, source.rank, time);
  if (real > time + limits_.retry_ns) return give_up(op, time + limits_.retry_ns);
  op.stage = Operation::Stage::kAcknowledged;
  schedule(op, real);
}

// Acknowledged: so are those before it.
void ConnectionNet::complete(Operation& op) {
  End& source = *op.source;
  ESP_ASSERT(!source.posted.empty() && source.posted.front() == &op);
  source.posted.pop_front();
  --source.executed;
  ++counts_.acknowledged;
  if ((op.verb == Verb::kRead || op.verb == Verb::kAtomic) && !op.bytes.empty()) {
    std::memcpy(const_cast<void*>(op.what.local), op.bytes.data(), op.bytes.size());
  }
  if (!op.what.signaled) {
    ++source.silent;
    return give_back(op);
  }
  SimConnectionPort::Completion completion;
  completion.kind = SimConnectionPort::Completion::Kind::kCompleted;
  completion.end = &source;
  completion.cookie = op.what.cookie;
  completion.slots = std::exchange(source.silent, 0) + 1;
  give_back(op);
  port(source.rank)->push(completion);
}

// Those of the first operations that have left, as many as chance says, go on without their end.
void ConnectionNet::haunt(End& end) {
  std::size_t could = end.executed;
  while (could < end.posted.size() && end.posted[could]->left_ns <= world_.now_ns()) ++could;
  const std::size_t until = end.executed + prng_.below(could - end.executed + 1);
  for (std::size_t i = end.executed; i < until; ++i) {
    Operation& op = *end.posted[i];
    const bool writes = op.verb == Verb::kSend || op.verb == Verb::kWrite;
    // What nobody waits for any more has no effect worth telling; those after it neither.
    if (!writes || !(op.scheduled || op.arrived)) return;
    if (op.scheduled && op.stage == Operation::Stage::kGivingUp) return;
    if (!op.copied && op.what.bytes > 0) {
      const auto* bytes = static_cast<const std::byte*>(op.what.local);
      op.bytes.assign(bytes, bytes + op.what.bytes);
    }
    op.copied = true;
    op.ghost = true;
    end.ghosts.push_back(&op);
  }
}

void ConnectionNet::end(End& end, rdma::Fault why, bool told) {
  if (end.state == End::State::kFresh) end.state = End::State::kBroken;
  if (end.state != End::State::kReady) return;
  end.state = End::State::kBroken;
  port(end.rank)->lose_packet(takers_[static_cast<std::size_t>(end.rank)]);
  if (told) ++counts_.breaks;
  const bool of_this_side = why == rdma::Fault::kRetryExceeded || why == rdma::Fault::kFlushed;
  if (of_this_side) haunt(end);
  SimConnectionPort* mine = port(end.rank);
  SimConnectionPort::Completion completion;
  completion.end = &end;
  completion.why = why;
  completion.kind = SimConnectionPort::Completion::Kind::kBroken;
  if (told) mine->push(completion);
  completion.kind = SimConnectionPort::Completion::Kind::kFailed;
  // Slots of silent ones were waiting for a completion: this is theirs.
  end.slots -= std::exchange(end.silent, 0);
  for (Operation* op : std::exchange(end.posted, {})) {
    completion.cookie = op->what.cookie;
    completion.slots = 1;
    if (mine->fault_.ok()) mine->push(completion);
    completion.why = rdma::Fault::kFlushed;
    if (op->ghost) continue;
    op->disowned = true;
    if (!op->scheduled) give_back(*op);
  }
  end.executed = 0;
}

void ConnectionNet::break_path(Rank from, Rank to) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    End& mine = *ends_[i];
    const bool meant = mine.rank == from && mine.peer_rank == to;
    if (meant && mine.state == End::State::kReady) end(mine, rdma::Fault::kRetryExceeded, true);
  }
}

void ConnectionNet::overrun(Rank rank) {
  if (port(rank) != nullptr) port(rank)->fail(ESP_ERR_NETWORK);
}

void ConnectionNet::swallow(Rank from, Rank to) {
  swallows_ = {from, to};
}

void ConnectionNet::take_along(Rank rank, std::uint32_t ends) {
  takers_[static_cast<std::size_t>(rank)] = ends;
}

void ConnectionNet::refuse_connects(Rank rank, std::uint32_t times) {
  refusals_[static_cast<std::size_t>(rank)] = times;
}

void ConnectionNet::crowd(Rank rank, std::uint64_t until_ns) {
  crowded_ns_[static_cast<std::size_t>(rank)] = until_ns;
}

}  // namespace espalier::sim
