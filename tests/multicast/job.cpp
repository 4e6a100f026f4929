#include "tests/multicast/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace espalier::multicast::played {

void GroupReport::add(const GroupReport& other) {
  packets += other.packets;
  delivered += other.delivered;
  lost += other.lost;
  again += other.again;
  repairs += other.repairs;
  nacks += other.nacks;
  probes += other.probes;
  deaths += other.deaths;
  ended += other.ended;
  fell_back += other.fell_back;
  overflows += other.overflows;
  virtual_ns += other.virtual_ns;
  repair_ns.merge(other.repair_ns);
}

std::uint64_t tag_of_packet(std::uint32_t source, std::uint32_t number) noexcept {
  std::uint64_t state = (std::uint64_t{source} << 32) + number;
  return splitmix64(state);
}

std::size_t bytes_of_packet(std::uint32_t source, std::uint32_t number, std::size_t most) noexcept {
  return static_cast<std::size_t>(tag_of_packet(number, source) % (most + 1));
}

void fill_packet(std::uint32_t source, std::uint32_t number, std::span<std::byte> bytes) noexcept {
  std::uint64_t state = tag_of_packet(source, number);
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
}

// One member, and what has come to it.
struct GroupJob::Member final : GroupSink {
  Member(GroupJob& in, std::uint32_t number)
      : job(in), me(number), taken(in.scenario_.network.members) {}

  void deliver(Rank source, std::uint64_t tag, std::span<const std::byte> payload) override {
    const auto from = static_cast<std::uint32_t>(source);
    const std::uint32_t number = taken[from]++;
    ++job.report_.delivered;
    std::vector<std::byte> wanted(
        bytes_of_packet(from, number, job.scenario_.network.packet_bytes - kHeaderBytes));
    fill_packet(from, number, wanted);
    if (tag != tag_of_packet(from, number) || !std::ranges::equal(wanted, payload)) {
      job.fail(fmt::format("member {}: packet {} of {} is another", me, number, from));
    }
    if (ended.count(from) > 0) job.fail(fmt::format("member {}: {} had ended", me, from));
  }
  void source_ended(Rank source, std::uint32_t packets) override {
    const auto from = static_cast<std::uint32_t>(source);
    if (job.net_.alive(from) || !ended.insert(from).second || packets != taken[from]) {
      job.fail(fmt::format("member {}: {} ends at {}, after {}", me, from, packets, taken[from]));
    }
  }

  GroupJob& job;
  const std::uint32_t me;
  std::vector<std::uint32_t> taken;  // by source
  std::set<std::uint32_t> ended;     // sources
  std::uint32_t sent = 0;
  std::uint64_t wake_ns = 0, rests_until_ns = 0, stopped_until_ns = 0;
  bool slow = false;
  std::unique_ptr<Group> group;
};

GroupJob::GroupJob(const GroupScenario& scenario, std::uint64_t seed)
    : scenario_(scenario), prng_(seed), net_(scenario.network, prng_.next()) {
  const std::uint32_t number = scenario.network.members;
  members_.reserve(number);
  ranks_.resize(number);
  std::iota(ranks_.begin(), ranks_.end(), 0);
  for (std::uint32_t i = 0; i < number; ++i) {
    Member& member = *members_.emplace_back(std::make_unique<Member>(*this, i));
    GroupOptions options = scenario.group;
    options.rank = static_cast<Rank>(i);
    member.group =
        std::make_unique<Group>(ranks_, net_.port(i), net_.mail(i), net_, member, options);
    net_.connect(i, *member.group);
    member.wake_ns = 1'000 + prng_.below(20'000);
    member.slow = scenario.slow && prng_.chance(0.3);
  }
  draw_fates();
}

GroupJob::~GroupJob() = default;

void GroupJob::fail(std::string what) {
  if (report_.failure.empty()) report_.failure = std::move(what);
}

void GroupJob::draw_fates() {
  const std::uint32_t number = scenario_.network.members;
  std::vector<std::uint32_t> order(number);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i = 0; i < scenario_.deaths && i + 1 < number; ++i) {
    std::swap(order[i], order[i + prng_.below(number - i)]);
    const std::uint64_t at = prng_.below(scenario_.span_ns);
    const std::uint64_t spread = prng_.chance(0.5) ? 20'000 : 1'000'000;
    fates_.push_back({at, order[i], PlayedNetwork::kNone, false, false});
    for (std::uint32_t other = 0; other < number; ++other) {
      if (other == order[i]) continue;
      fates_.push_back({at + 1 + prng_.below(spread), order[i], other, false, false});
    }
  }
  const auto some = [&](bool stop, bool dark) {
    Fate fate;
    fate.at = prng_.below(scenario_.span_ns);
    fate.member = static_cast<std::uint32_t>(prng_.below(number));
    fate.stop = stop;
    fate.dark = dark;
    fates_.push_back(fate);
  };
  if (scenario_.stops) some(true, false);
  if (scenario_.darkens) some(false, true);
  std::ranges::stable_sort(fates_, [](const Fate& a, const Fate& b) { return a.at > b.at; });
}

void GroupJob::meet(const Fate& fate) {
  if (fate.stop) {
    members_[fate.member]->stopped_until_ns = fate.at + prng_.below(20'000'000);
  } else if (fate.dark) {
    net_.darken(fate.member, fate.at + prng_.below(3'000'000));
  } else if (fate.tells == PlayedNetwork::kNone) {
    net_.kill(fate.member);
    ++report_.deaths;
  } else if (net_.alive(fate.tells)) {
    net_.tell(fate.tells, fate.member);
    wake(*members_[fate.tells], fate.at);
  }
}

void GroupJob::wake(Member& member, std::uint64_t at_ns) noexcept {
  member.wake_ns = std::min(member.wake_ns, std::max(at_ns, member.stopped_until_ns));
}

std::uint64_t GroupJob::gap(const Member& member) noexcept {
  return (100 + prng_.below(900)) * (member.slow ? 30 : 1);
}

void GroupJob::send(Member& member) {
  const std::uint64_t now = net_.now_ns();
  if (now < member.rests_until_ns) return;
  for (std::uint64_t burst = 1 + prng_.below(16); burst > 0; --burst) {
    if (member.sent == scenario_.packets[member.me]) return;
    const std::span<std::byte> room = member.group->room();
    if (room.empty()) break;
    const std::size_t bytes = bytes_of_packet(member.me, member.sent, room.size());
    fill_packet(member.me, member.sent, room.first(bytes));
    member.group->publish(bytes, tag_of_packet(member.me, member.sent), burst > 1);
    ++member.sent;
  }
  member.group->flush();
  if (scenario_.pauses && prng_.chance(0.2)) member.rests_until_ns = now + prng_.below(60'000);
  if (scenario_.lulls && prng_.chance(0.05)) member.rests_until_ns = now + prng_.below(1'000'000);
}

void GroupJob::turn(Member& member) {
  if (net_.now_ns() < member.stopped_until_ns) {
    member.wake_ns = member.stopped_until_ns;
    return;
  }
  const bool mail_first = prng_.chance(0.5);
  if (mail_first) net_.deliver_mail(member.me);
  (void)member.group->progress();
  if (!mail_first) net_.deliver_mail(member.me);
  send(member);
  const std::uint64_t now = net_.now_ns(), due = member.group->deadline_ns();
  std::uint64_t next = due == kNever ? kNever : std::max(due, now) + gap(member);
  if (member.sent < scenario_.packets[member.me]) {
    // An arrival opens a window that is shut.
    next = std::min(next, std::max(now, member.rests_until_ns) + 5 * gap(member));
  }
  member.wake_ns = next;
}

bool GroupJob::done() const {
  if (!fates_.empty()) return false;
  return std::ranges::all_of(members_, [this](const auto& member) {
    if (!net_.alive(member->me)) return true;
    if (member->sent < scenario_.packets[member->me] || !member->group->drained()) return false;
    // It gets quiet, too.
    if (member->group->deadline_ns() != kNever) return false;
    for (std::uint32_t source = 0; source < members_.size(); ++source) {
      if (!net_.alive(source) && member->ended.count(source) == 0) return false;
    }
    return true;
  });
}

std::string GroupJob::waiting() const {
  std::string text;
  for (const auto& member : members_) {
    if (!net_.alive(member->me)) {
      text += fmt::format(" {}: dead;", member->me);
      continue;
    }
    const Group::Late late = member->group->late();
    text += fmt::format(" {}: sent {} of {}, {}, late {}, taken {}, {} ended;", member->me,
                        member->sent, scenario_.packets[member->me],
                        member->group->drained() ? "drained" : "not drained", late.rank,
                        fmt::join(member->taken, " "), member->ended.size());
  }
  return text;
}

GroupReport GroupJob::run() {
  std::uint64_t turns = 0;
  while (report_.failure.empty() && !done()) {
    Member* next = nullptr;
    for (const auto& member : members_) {
      if (!net_.alive(member->me)) continue;
      if (next == nullptr || member->wake_ns < next->wake_ns) next = member.get();
    }
    const std::uint64_t turn_ns = next == nullptr ? kNever : next->wake_ns;
    const std::uint64_t fate_ns = fates_.empty() ? kNever : fates_.back().at;
    const std::uint64_t first = std::min({turn_ns, fate_ns, net_.next_ns()});
    if (first > kEnd || ++turns > 20'000'000) {
      fail("it does not end:" + waiting());
    } else if (first == fate_ns) {
      const Fate fate = fates_.back();
      fates_.pop_back();
      net_.move_to(fate.at);
      meet(fate);
    } else if (first == turn_ns) {
      net_.move_to(turn_ns);
      turn(*next);
    } else {
      const std::uint32_t to = net_.step();
      if (to != PlayedNetwork::kNone) wake(*members_[to], net_.now_ns() + gap(*members_[to]));
    }
    if (!net_.failure().empty()) fail(net_.failure());
  }
  if (report_.failure.empty()) check_end();
  report_.virtual_ns = net_.now_ns();
  report_.overflows = net_.counts().overflows;
  report_.packets = net_.counts().data;
  report_.lost = net_.counts().lost;
  return report_;
}

// As far as any survivor was handed them, the packets of the dead are there.
void GroupJob::check_dead_source(std::uint32_t source) {
  std::set<std::uint32_t> held;
  std::uint32_t end = ~std::uint32_t{0};
  for (const auto& member : members_) {
    if (!net_.alive(member->me)) continue;
    const auto& handed = net_.handed(member->me, source);
    held.insert(handed.begin(), handed.end());
    if (end == ~std::uint32_t{0}) end = member->taken[source];
    if (end != member->taken[source]) fail(fmt::format("survivors disagree about {}", source));
  }
  std::uint32_t prefix = 0;
  while (held.count(scenario_.group.first.value + prefix) > 0) ++prefix;
  if (end < prefix) fail(fmt::format("{} of {} ends at {}, {} are held", source, end, prefix, end));
  if (end > members_[source]->sent) fail(fmt::format("{} has sent less than {}", source, end));
}

void GroupJob::check_traffic() {
  const bool quiet = !scenario_.slow && !scenario_.stops && scenario_.deaths == 0 &&
                     scenario_.network.faults.mail_refuses == 0;
  const std::uint64_t extra = report_.repairs + 2 * report_.again;
  if (quiet && extra > 2 * net_.counts().lost + 16) {
    fail(fmt::format("{} repairs and {} repetitions for {} lost copies", report_.repairs,
                     report_.again, net_.counts().lost));
  }
}

void GroupJob::check_end() {
  for (std::uint32_t i = 0; i < members_.size(); ++i) {
    Member& member = *members_[i];
    const GroupCounts& counts = member.group->counts();
    report_.again += counts.packets_again;
    report_.repairs += counts.repairs_sent;
    report_.nacks += counts.nacks_sent;
    report_.probes += counts.probes_sent + counts.mail_probes_sent;
    report_.fell_back += member.group->falls_back() ? 1 : 0;
    report_.repair_ns.merge(member.group->repair_ns());
    if (!net_.alive(i)) {
      ++report_.ended;
      check_dead_source(i);
      continue;
    }
    if (counts.forbidden > 0) fail(fmt::format("member {} refuses what is forbidden", i));
    if (counts.no_memory > 0) fail(fmt::format("member {} has no memory for repairs", i));
    for (std::uint32_t source = 0; source < members_.size(); ++source) {
      const bool lacks = member.taken[source] != scenario_.packets[source];
      if (source != i && net_.alive(source) && lacks) {
        fail(fmt::format("member {} has {} packets of {}", i, member.taken[source], source));
      }
    }
  }
  check_traffic();
}

}  // namespace espalier::multicast::played
