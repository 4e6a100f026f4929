#include "tests/multicast/repair_times.hpp"

#include <fmt/format.h>

#include <numeric>

#include "tests/multicast/network.hpp"

namespace espalier::multicast::played {
namespace {

constexpr std::uint32_t kMembers = 32, kPackets = 200;
constexpr std::uint64_t kLatency = 5'000, kLook = 200, kReorder = 20'000, kGather = 5'000;

struct Nothing final : GroupSink {
  void deliver(Rank, std::uint64_t, std::span<const std::byte>) override { ++delivered; }
  void source_ended(Rank, std::uint32_t) override {}
  std::uint32_t delivered = 0;
};

// Member 0 sends, all look every kLook, and one packet is lost at one other member.
struct SingleLoss {
  explicit SingleLoss(std::uint64_t seed)
      : prng(seed), net(network(), seed), sinks(kMembers), ranks(kMembers) {
    std::iota(ranks.begin(), ranks.end(), 0);
    GroupOptions options;
    options.epoch = 1;
    options.group = 7;
    options.ranks = kMembers;
    options.gather_ns = kGather;
    options.ask.reorder_ns = kReorder;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      options.rank = static_cast<Rank>(i);
      groups.push_back(
          std::make_unique<Group>(ranks, net.port(i), net.mail(i), net, sinks[i], options));
      net.connect(i, *groups[i]);
    }
  }
  static NetworkOptions network() {
    NetworkOptions options;
    options.members = kMembers;
    options.receive_depth = 256;
    options.latency_ns = options.mail_ns = kLatency - 100;
    return options;
  }
  bool done() const {
    for (std::uint32_t i = 1; i < kMembers; ++i) {
      if (sinks[i].delivered < kPackets) return false;
    }
    return groups[0]->drained();
  }
  void run() {
    victim = 1 + static_cast<std::uint32_t>(prng.below(kMembers - 1));
    const auto lost_at = static_cast<std::uint32_t>(prng.below(kPackets - 1));
    std::uint32_t sent = 0;
    for (std::uint64_t turn = 0; !done() && turn < 100'000; ++turn) {
      if (sent < kPackets && !groups[0]->room().empty()) {
        if (sent == lost_at) net.lose_one(victim);
        groups[0]->publish(100, sent++);
      }
      const std::uint64_t until = net.now_ns() + kLook;
      while (net.next_ns() <= until) (void)net.step();
      net.move_to(until);
      for (std::uint32_t i = 0; i < kMembers; ++i) {
        net.deliver_mail(i);
        (void)groups[i]->progress();
      }
    }
  }

  Prng prng;
  PlayedNetwork net;
  std::vector<Nothing> sinks;
  std::vector<Rank> ranks;
  std::vector<std::unique_ptr<Group>> groups;
  std::uint32_t victim = 0;
};

}  // namespace

bool repair_times(std::uint64_t losses) {
  Histogram times;
  bool right = true;
  for (std::uint64_t seed = 1; seed <= losses; ++seed) {
    SingleLoss job(seed);
    job.run();
    const Histogram& one = job.groups[job.victim]->repair_ns();
    std::uint64_t repairs = 0, again = 0;
    for (const auto& group : job.groups) {
      repairs += group->counts().repairs_sent;
      again += group->counts().packets_again;
    }
    if (job.done() && one.count() == 1 && repairs == 1 && again == 0) {
      times.merge(one);
      continue;
    }
    fmt::print("seed {}: {}, {} repaired, {} repairs sent, {} repetitions\n", seed,
               job.done() ? "done" : "not done", one.count(), repairs, again);
    right = false;
  }
  // As a member sees it, which looks now and then.
  constexpr std::uint64_t kRoundTrip = 2 * (kLatency + kLook);
  constexpr std::uint64_t kLimit = 2 * kRoundTrip + kReorder;
  fmt::print(
      "{} losses, round trip {} ns, reorder window {} ns: repaired after {} ns at least, 50 % {}, "
      "90 % {}, 99 % {}, at most {} ns; limit {} ns\n",
      losses, kRoundTrip, kReorder, times.min(), times.percentile(0.5), times.percentile(0.9),
      times.percentile(0.99), times.max(), kLimit);
  return right && times.max() < kLimit;
}

}  // namespace espalier::multicast::played
