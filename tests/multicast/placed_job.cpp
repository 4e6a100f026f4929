#include "tests/multicast/placed_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

namespace espalier::multicast::played {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xA7}, kPoison{0xEE};

std::byte segment_byte(std::uint32_t segment, std::uint64_t at) noexcept {
  std::uint64_t state = (std::uint64_t{segment} << 40) + at / 8;
  return static_cast<std::byte>(splitmix64(state) >> at % 8 * 8);
}

}  // namespace

void PlacedReport::add(const PlacedReport& other) {
  segments += other.segments;
  packets += other.packets;
  placed += other.placed;
  misplaced += other.misplaced;
  dropped += other.dropped;
  repairs += other.repairs;
  flushes += other.flushes;
  whole += other.whole;
  lost += other.lost;
  deaths += other.deaths;
  redirects += other.redirects;
  strayed += other.strayed;
  patches += other.patches;
  virtual_ns += other.virtual_ns;
}

bool PlacedScenario::faultless() const noexcept {
  const LaneFaults& faults = network.faults;
  return faults.loss == 0 && faults.repeat == 0 && faults.late == 0 && faults.loss_of_many == 0 &&
         faults.foreign == 0 && faults.breaks == 0 && deaths == 0 && !source_dies &&
         !adapter_fails && unregistered == 0 && redirects == 0;
}

// Memory of a segment between guards: in use, then poisoned.
struct PlacedJob::Buffer {
  Buffer(PlacingPort& to, std::uint64_t bytes, bool registered, bool away = false) : port(to) {
    all.assign(kGuard + bytes + kGuard, std::byte{0});
    std::fill_n(all.begin(), kGuard, kGuardByte);
    std::fill_n(all.end() - kGuard, kGuard, kGuardByte);
    std::byte* const begin = away ? away_address(all.data() + kGuard) : all.data() + kGuard;
    if (registered) region = *port.enroll(begin, bytes);
    if (away) beside.assign(bytes, kPoison);
    memory = {begin, region.local_key, registered, away ? beside.data() : nullptr};
  }
  std::span<std::byte> bytes() { return std::span(all).subspan(kGuard, all.size() - 2 * kGuard); }
  bool holds(std::uint32_t segment) {
    std::uint64_t at = 0;
    return std::ranges::all_of(bytes(),
                               [&](std::byte is) { return is == segment_byte(segment, at++); });
  }
  void poison() {
    if (memory.registered) port.withdraw(region);
    std::ranges::fill(beside, kPoison);
    std::ranges::fill(bytes(), kPoison);
    poisoned = true;
  }
  bool untouched() {
    const auto guards = [](std::span<const std::byte> bytes) {
      return std::ranges::all_of(bytes, [](std::byte is) { return is == kGuardByte; });
    };
    return guards(std::span(all).first(kGuard)) && guards(std::span(all).last(kGuard)) &&
           (!poisoned || (is_poison(bytes()) && is_poison(beside)));
  }
  static bool is_poison(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte is) { return is == kPoison; });
  }
  void apply(const PlacedPatch& patch) {
    std::byte* const here = beside.data() + (patch.fetches ? patch.to : patch.from);
    std::byte* const there = bytes().data() + (patch.fetches ? patch.from : patch.to);
    std::memcpy(patch.fetches ? here : there, patch.fetches ? there : here, patch.bytes);
  }

  PlacingPort& port;
  std::vector<std::byte> all, beside;
  rdma::Region region;
  PlacedMemory memory;
  bool poisoned = false;
};

struct PlacedJob::Source final : PlacedSourceUser {
  Source(PlacedJob& in, const PlacedOptions& options)
      : job(in), half(in.ranks_, in.net_.port(0), in.net_.stream(), *this, options) {}
  void finished(std::uint64_t cookie) noexcept override {
    if (cookie != done++) job.fail("segments are finished in another order");
    buffers[cookie]->poison();
    for (const auto& receiver : job.receivers_) check(receiver.get(), cookie);
  }
  void check(const Receiver* receiver, std::uint64_t cookie);

  PlacedJob& job;
  PlacedSource half;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::uint64_t done = 0;
};

struct PlacedJob::Receiver final : PlacedSinkUser {
  Receiver(PlacedJob& in, std::uint32_t number, const PlacedOptions& options)
      : job(in),
        me(number),
        half(in.ranks_, in.net_.port(number), in.net_.mail(number), in.net_, *this, options) {}

  PlacedMemory announced(Sequence segment, std::uint64_t bytes) noexcept override {
    const std::uint32_t number = segment.value - job.scenario_.placed.first.value;
    if (number != sizes.size() || bytes != job.scenario_.segments[number]) {
      job.fail(fmt::format("member {}: segment {} is another", me, number));
    }
    sizes.push_back(bytes);
    if (!job.prng_.chance(job.scenario_.hesitates)) return memory_for(number);
    waiting[number] = job.net_.now_ns() + job.prng_.below(100'000);
    return {};
  }
  void whole(Sequence segment) noexcept override {
    const std::uint32_t number = segment.value - job.scenario_.placed.first.value;
    if (number != over++ || live.count(number) == 0) {
      return job.fail(fmt::format("member {}: segment {} is whole out of turn", me, number));
    }
    if (!dropped.contains(number) && !live[number]->holds(number)) {
      job.fail(fmt::format("member {}: segment {} has wrong bytes", me, number));
    }
    ++whole_count;
    retire(number);
  }
  void lost(Sequence segment) noexcept override {
    const std::uint32_t number = segment.value - job.scenario_.placed.first.value;
    if (number != over++ || job.net_.alive(0)) {
      job.fail(fmt::format("member {}: segment {} is lost", me, number));
    }
    ++lost_count;
    if (live.count(number) > 0) retire(number);
    waiting.erase(number);
  }
  Posted patch(Sequence segment, const PlacedPatch& patch) noexcept override {
    const std::uint32_t number = segment.value - job.scenario_.placed.first.value;
    if (patching.until != 0) job.fail(fmt::format("member {}: two copies at a time", me));
    if (job.prng_.chance(0.1)) return Posted::kRetry;
    ++job.report_.patches;
    if (job.prng_.chance(0.2)) {
      live[number]->apply(patch);
      return Posted::kDone;
    }
    patching = {number, job.net_.now_ns() + 1 + job.prng_.below(job.scenario_.patch_ns + 1), patch};
    return Posted::kPending;
  }
  void end_patch() {
    if (patching.until == 0 || patching.until > job.net_.now_ns()) return;
    patching.until = 0;
    live[patching.number]->apply(patching.what);
    half.patched();
  }
  PlacedMemory memory_for(std::uint32_t number, bool may_be_away = true) {
    const bool registered = !job.prng_.chance(job.scenario_.unregistered);
    const bool away = may_be_away && job.prng_.chance(job.scenario_.away);
    live[number] = std::make_unique<Buffer>(job.net_.port(me), sizes[number], registered, away);
    return live[number]->memory;
  }
  void retire(std::uint32_t number) {
    if (patching.number == number) patching.until = 0;
    live[number]->poison();
    old.push_back(std::move(live[number]));
    live.erase(number);
  }
  void give_what_waits() {
    for (auto at = waiting.begin(); at != waiting.end();) {
      if (at->second > job.net_.now_ns()) {
        ++at;
        continue;
      }
      const std::uint32_t number = at->first;
      at = waiting.erase(at);
      half.give(job.scenario_.placed.first + number, memory_for(number));
    }
  }
  void redirect_some() {
    if (live.empty() || !job.prng_.chance(job.scenario_.redirects / 20)) return;
    const std::uint32_t number = live.begin()->first;
    if (patching.number == number) patching.until = 0;
    std::unique_ptr<Buffer> was = std::move(live[number]);
    const PlacedMemory memory = memory_for(number, false);
    if (was->memory.beside != nullptr) dropped.insert(number);
    if (!half.redirect(job.scenario_.placed.first + number, memory)) {
      job.fail(fmt::format("member {}: segment {} cannot be redirected", me, number));
    }
    was->poison();
    old.push_back(std::move(was));
    ++job.report_.redirects;
  }

  PlacedJob& job;
  const std::uint32_t me;
  PlacedSink half;
  std::vector<std::uint64_t> sizes;
  std::map<std::uint32_t, std::unique_ptr<Buffer>> live;
  std::map<std::uint32_t, std::uint64_t> waiting;  // until when
  std::set<std::uint32_t> dropped;                 // what had been in memory of a device
  struct {
    std::uint32_t number = 0;
    std::uint64_t until = 0;  // 0: no copy is pending
    PlacedPatch what;
  } patching;
  std::vector<std::unique_ptr<Buffer>> old;
  std::uint32_t over = 0;
  std::uint64_t whole_count = 0, lost_count = 0;
};

void PlacedJob::Source::check(const Receiver* receiver, std::uint64_t cookie) {
  if (receiver == nullptr || !job.net_.alive(receiver->me)) return;
  if (receiver->over <= cookie) {
    job.fail(fmt::format("segment {} is finished before member {} has it", cookie, receiver->me));
  }
}

PlacedJob::PlacedJob(const PlacedScenario& scenario, std::uint64_t seed)
    : scenario_(scenario),
      prng_(seed),
      net_(scenario.network, prng_.next()),
      ranks_(scenario.network.members),
      wake_ns_(scenario.network.members) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
  PlacedOptions options = scenario.placed;
  options.rank = 0;
  source_ = std::make_unique<Source>(*this, options);
  receivers_.resize(ranks_.size());
  for (std::uint32_t i = 1; i < ranks_.size(); ++i) {
    options.rank = static_cast<Rank>(i);
    receivers_[i] = std::make_unique<Receiver>(*this, i, options);
  }
  for (std::uint64_t& at : wake_ns_) at = 1'000 + prng_.below(5'000);
  draw_fates();
}

PlacedJob::~PlacedJob() = default;

void PlacedJob::draw_fates() {
  const std::uint32_t number = scenario_.network.members;
  const auto dies = [&](std::uint32_t member) {
    const std::uint64_t at = prng_.below(scenario_.span_ns);
    fates_.push_back({at, member, PlacedNetwork::kNone, false});
    for (std::uint32_t other = 0; other < number; ++other) {
      if (other != member) fates_.push_back({at + 1 + prng_.below(100'000), member, other, false});
    }
  };
  if (scenario_.source_dies) dies(0);
  for (std::uint32_t i = 0; i < scenario_.deaths && i + 1 < number; ++i) dies(1 + i);
  if (scenario_.adapter_fails) {
    const auto member = static_cast<std::uint32_t>(prng_.below(number));
    fates_.push_back({prng_.below(scenario_.span_ns), member, PlacedNetwork::kNone, true});
  }
  std::ranges::stable_sort(fates_, [](const Fate& a, const Fate& b) { return a.at > b.at; });
}

void PlacedJob::meet(const Fate& fate) {
  if (fate.adapter) {
    net_.fail_port(fate.member);
  } else if (fate.tells == PlacedNetwork::kNone) {
    net_.kill(fate.member);
    ++report_.deaths;
  } else if (net_.alive(fate.tells)) {
    tell(fate.tells, fate.member);
  }
}

void PlacedJob::tell(std::uint32_t member, std::uint32_t of) {
  if (member == 0) {
    source_->half.member_lost(static_cast<Rank>(of));
  } else {
    receivers_[member]->half.member_lost(static_cast<Rank>(of));
  }
  wake_ns_[member] = net_.now_ns();
}

void PlacedJob::turn_source() {
  Source& source = *source_;
  LaneNews news;
  while (net_.take_news(0, news)) source.half.mail_arrived(news.from, news.bytes);
  while (source.half.open() && source.buffers.size() < scenario_.segments.size()) {
    const auto number = static_cast<std::uint32_t>(source.buffers.size());
    auto buffer = std::make_unique<Buffer>(net_.port(0), scenario_.segments[number], true);
    std::uint64_t at = 0;
    for (std::byte& byte : buffer->bytes()) byte = segment_byte(number, at++);
    source.half.start(buffer->memory.begin, buffer->memory.key, buffer->bytes().size(), number);
    source.buffers.push_back(std::move(buffer));
  }
  (void)source.half.progress();
}

void PlacedJob::turn_receiver(Receiver& receiver) {
  LaneNews news;
  if (prng_.chance(0.5)) (void)receiver.half.progress();
  while (net_.take_news(receiver.me, news)) {
    if (news.is_end) {
      receiver.half.source_ended();
    } else if (news.from == kNoRank) {
      receiver.half.stream_arrived(news.bytes);
    } else {
      receiver.half.mail_arrived(news.from, news.bytes);
    }
  }
  receiver.give_what_waits();
  receiver.end_patch();
  receiver.redirect_some();
  (void)receiver.half.progress();
}

void PlacedJob::turn(std::uint32_t member) {
  std::uint64_t due = kNever;
  if (member == 0) {
    turn_source();
    due = source_->half.deadline_ns();
    if (source_->buffers.size() < scenario_.segments.size() && source_->half.open()) due = 0;
  } else {
    Receiver& receiver = *receivers_[member];
    turn_receiver(receiver);
    due = receiver.half.deadline_ns();
    for (const auto& [number, until] : receiver.waiting) due = std::min(due, until);
    if (receiver.patching.until != 0) due = std::min(due, receiver.patching.until);
    // Nobody else wakes who may cancel.
    if (scenario_.redirects > 0 && !receiver.live.empty()) due = 0;
  }
  wake_ns_[member] = due == kNever ? kNever : std::max(due, net_.now_ns()) + 100 + prng_.below(900);
}

bool PlacedJob::done() const {
  if (!fates_.empty()) return false;
  if (net_.alive(0) && (source_->done < scenario_.segments.size() || !source_->half.idle())) {
    return false;
  }
  return std::ranges::all_of(receivers_, [&](const auto& receiver) {
    if (receiver == nullptr || !net_.alive(receiver->me)) return true;
    if (!receiver->half.idle()) return false;
    return !net_.alive(0) || receiver->over == scenario_.segments.size();
  });
}

PlacedReport PlacedJob::run() {
  std::uint64_t turns = 0;
  // After the end late packets still come, and must not be written anywhere.
  while (net_.failure().empty() && (!done() || net_.next_ns() != kNever)) {
    std::uint32_t next = 0;
    std::uint64_t turn_ns = kNever;
    for (std::uint32_t i = 0; i < wake_ns_.size(); ++i) {
      if (!net_.alive(i) || wake_ns_[i] >= turn_ns) continue;
      next = i;
      turn_ns = wake_ns_[i];
    }
    const std::uint64_t fate_ns = fates_.empty() ? kNever : fates_.back().at;
    const std::uint64_t first = std::min({turn_ns, fate_ns, net_.next_ns()});
    if (first > kEnd || ++turns > 5'000'000) {
      std::string overs;
      for (const auto& receiver : receivers_) {
        if (receiver != nullptr) overs += fmt::format(" {}", receiver->over);
      }
      fail(fmt::format("it does not end: {} of {} finished, whole at{}", source_->done,
                       scenario_.segments.size(), overs));
    } else if (first == fate_ns) {
      const Fate fate = fates_.back();
      fates_.pop_back();
      net_.move_to(fate.at);
      meet(fate);
    } else if (first == turn_ns) {
      net_.move_to(turn_ns);
      turn(next);
    } else {
      const std::uint32_t to = net_.step();
      if (to == PlacedNetwork::kNone) continue;
      wake_ns_[to] = std::min(wake_ns_[to], net_.now_ns() + 100 + prng_.below(900));
    }
  }
  if (net_.failure().empty()) check_end();
  report_.failure = net_.failure();
  report_.virtual_ns = net_.now_ns();
  return report_;
}

void PlacedJob::check_end() {
  report_.segments = source_->buffers.size();
  report_.packets = source_->half.counts().packets;
  if (report_.packets != net_.cast() && net_.alive(0) && !scenario_.adapter_fails) {
    fail(fmt::format("{} packets left, {} were sent", net_.cast(), report_.packets));
  }
  for (auto& buffer : source_->buffers) {
    if (!buffer->untouched()) fail("the source's memory was written to");
  }
  for (const auto& receiver : receivers_) {
    if (receiver == nullptr) continue;
    const PlacedCounts& counts = receiver->half.counts();
    report_.placed += counts.placed;
    report_.misplaced += counts.misplaced;
    report_.dropped += counts.dropped;
    report_.repairs += counts.repairs;
    report_.flushes += counts.flushes;
    report_.strayed += counts.strayed;
    report_.whole += receiver->whole_count;
    report_.lost += receiver->lost_count;
    for (auto& buffer : receiver->old) {
      if (!buffer->untouched()) fail(fmt::format("member {}: memory was written to", receiver->me));
    }
    if (!net_.alive(receiver->me)) continue;
    if (!receiver->live.empty()) fail(fmt::format("member {} keeps memory", receiver->me));
    if (counts.refused + receiver->half.mail_counts().refused > 0 && net_.alive(0) &&
        scenario_.deaths == 0) {
      fail(fmt::format("member {} refuses messages", receiver->me));
    }
    const std::uint64_t copied =
        counts.misplaced + counts.strayed + counts.repairs + counts.flushes;
    if (scenario_.faultless() && copied > 0) {
      fail(fmt::format("member {} has copied without a reason", receiver->me));
    }
  }
}

}  // namespace espalier::multicast::played
