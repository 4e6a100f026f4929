// Broadcasts by reliable multicast groups in simulation: how near the published model they are, and
// what losses cost.
//
//   esp-multicast-simulated [--large] [--markdown FILE | --check FILE] | --quick
//
// --check ends with 1 if the file does not begin with what --markdown would write without --large.
// --quick runs few nodes, and ends with 1 where an aim is missed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "bench/experiments/multicast/group_broadcast.hpp"
#include "bench/experiments/simulated.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier::experiments {
namespace {

constexpr double kLoss = 1e-4;
constexpr double kMostDeviation = 0.10, kMostRatio = 1.5;
constexpr std::uint64_t kSeeds = 5;

GroupBroadcastResult run_group(const GroupBroadcast& wanted) {
  GroupBroadcastResult result = run_broadcast(wanted);
  if (result.failure.empty()) return result;
  fmt::print(stderr, "{} nodes, seed {}: {}\n", wanted.nodes, wanted.seed, result.failure);
  std::exit(1);
}

// ---- beside the model ----

// t_s is what the card takes for a packet's header; posting to the card goes on beside it.
double card_model_ns(std::uint32_t nodes, const GroupBroadcast& wanted) {
  const auto payload = static_cast<double>(wanted.packet_bytes - multicast::kHeaderBytes);
  broadcast_models::Model model;
  model.bandwidth = 12.5e9;
  model.setup = multicast::kHeaderBytes / model.bandwidth;
  model.packet_bytes = payload;
  model.group_fit = std::numeric_limits<double>::infinity();
  return 1e9 * broadcast_models::multicast(model, nodes, static_cast<double>(wanted.bytes));
}

double deviation(std::uint32_t nodes) {
  GroupBroadcast wanted;
  wanted.nodes = nodes;
  const double model = card_model_ns(nodes, wanted);
  return static_cast<double>(run_group(wanted).all_ns) / model - 1;
}

std::string model_table() {
  GroupBroadcast wanted;
  double worst = 0;
  std::string rows;
  for (std::uint32_t nodes = 2; nodes <= 64; nodes *= 2) {
    wanted.nodes = nodes;
    const GroupBroadcastResult result = run_group(wanted);
    const double model = card_model_ns(nodes, wanted);
    const double off = static_cast<double>(result.all_ns) / model - 1;
    worst = std::max(worst, std::abs(off));
    rows += fmt::format("| {} | {} | {} | {:+.1f} % | {} |\n", nodes,
                        human_time(static_cast<double>(result.all_ns)), human_time(model),
                        100 * off, human_time(static_cast<double>(result.known_ns)));
  }
  return fmt::format(
      "## Without loss, beside the model\n\n"
      "The model's multicast form, M / U (t_s + t_o(n) + U / B), with t_o = 0: what is simulated "
      "has no cost of a packet that grows with the group. B is the card's 12.5 GB/s, U the {} "
      "bytes of payload in a packet of {}, and t_s what the card takes for the other {}. The "
      "processor's 0.3 us for posting a packet are not in it: they pass while the card sends the "
      "packet before. The aim is a deviation within {:.0f} %; the largest here is {:.1f} %{}.\n\n"
      "| nodes | all have it | model | deviation | the source knows |\n|---|---|---|---|---|\n{}\n",
      wanted.packet_bytes - multicast::kHeaderBytes, wanted.packet_bytes, multicast::kHeaderBytes,
      100 * kMostDeviation, 100 * worst, worst > kMostDeviation ? ": **missed**" : "", rows);
}

// ---- with losses ----

struct LossKind {
  const char* name;
  double loss, branch_loss;
};
constexpr LossKind kLossKinds[] = {
    {"both", kLoss, kLoss}, {"members", kLoss, 0}, {"links", 0, kLoss}};

// Of several seeds.
struct Lossy {
  std::vector<double> ratios;  // sorted
  std::uint64_t seeds = 0, losses = 0, questions = 0, repairs = 0, again = 0;
  std::uint64_t most_at_source = 0, most_packets = 0, most_mail = 0;
  Histogram repair_ns;

  void add(const GroupBroadcastResult& result, std::uint64_t without_ns) {
    ++seeds;
    ratios.push_back(static_cast<double>(result.all_ns) / static_cast<double>(without_ns));
    std::ranges::sort(ratios);
    losses += result.losses;
    questions += result.questions;
    repairs += result.repairs;
    again += result.again;
    most_at_source = std::max(most_at_source, result.source_questions);
    most_packets = std::max(most_packets, result.group_packets);
    most_mail = std::max(most_mail, result.source_mail);
    repair_ns.merge(result.repair_ns);
  }
  double mean(std::uint64_t sum) const {
    return static_cast<double>(sum) / static_cast<double>(seeds);
  }
  double median() const { return ratios[ratios.size() / 2]; }
};

Lossy run_lossy(GroupBroadcast wanted, const LossKind& kind, std::uint64_t seeds,
                std::uint64_t without_ns) {
  Lossy lossy;
  wanted.loss = kind.loss;
  wanted.branch_loss = kind.branch_loss;
  for (wanted.seed = 1; wanted.seed <= seeds; ++wanted.seed) {
    lossy.add(run_group(wanted), without_ns);
  }
  return lossy;
}

std::string percentile(const Histogram& times, double share) {
  return times.count() == 0 ? "-" : human_time(static_cast<double>(times.percentile(share)));
}

constexpr std::string_view kLossHead =
    "| nodes | losses of | lost copies | all have it, without loss | ratio: median, worst | "
    "packets of the source's card to all, most | its mail, most | questions at the source, most | "
    "log2 n | questions of all | repairs by mail | sent to all again | repair time: median, 99 %, "
    "longest |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

struct Aims {
  double worst_ratio = 0, worst_median = 0;
  bool many_questions = false;
  double longest_repair_ns = 0;
};

std::string loss_rows(GroupBroadcast wanted, std::span<const LossKind> kinds, std::uint64_t seeds,
                      Aims& aims) {
  const GroupBroadcastResult without = run_group(wanted);
  const double logarithm = std::log2(wanted.nodes);
  std::string rows = fmt::format("| {} | - | 0 | {} | 1 | {} | {} | 0 | {:.0f} | 0 | 0 | 0 | - |\n",
                                 wanted.nodes, human_time(static_cast<double>(without.all_ns)),
                                 without.group_packets, without.source_mail, logarithm);
  for (const LossKind& kind : kinds) {
    const Lossy lossy = run_lossy(wanted, kind, seeds, without.all_ns);
    aims.worst_ratio = std::max(aims.worst_ratio, lossy.ratios.back());
    aims.worst_median = std::max(aims.worst_median, lossy.median());
    aims.many_questions |= static_cast<double>(lossy.most_at_source) > logarithm;
    aims.longest_repair_ns =
        std::max(aims.longest_repair_ns, static_cast<double>(lossy.repair_ns.max()));
    rows += fmt::format(
        "| {} | {} | {:.1f} | {} | {:.2f}, {:.2f} | {} | {} | {} | {:.0f} | {:.1f} | {:.1f} | "
        "{:.1f} | {}, {}, {} |\n",
        wanted.nodes, kind.name, lossy.mean(lossy.losses),
        human_time(static_cast<double>(without.all_ns)), lossy.median(), lossy.ratios.back(),
        lossy.most_packets, lossy.most_mail, lossy.most_at_source, logarithm,
        lossy.mean(lossy.questions), lossy.mean(lossy.repairs), lossy.mean(lossy.again),
        percentile(lossy.repair_ns, 0.5), percentile(lossy.repair_ns, 0.99),
        percentile(lossy.repair_ns, 1));
  }
  return rows;
}

std::string verdict(const Aims& aims) {
  return fmt::format(
      "The aims: less than {} times the time without loss: {}, {:.2f} at worst and {:.2f} in the "
      "worst median. Questions at the source in O(log n): at most log2 n of them, {}. A loss "
      "repaired "
      "within 1 ms: {}, {} at most.\n\n",
      kMostRatio, aims.worst_ratio < kMostRatio ? "met" : "**missed**", aims.worst_ratio,
      aims.worst_median, aims.many_questions ? "**missed**" : "met",
      aims.longest_repair_ns < 1e6 ? "met" : "**missed**", human_time(aims.longest_repair_ns));
}

std::string loss_table() {
  Aims aims, untuned;
  std::string rows, defaults;
  GroupBroadcast wanted;
  for (const std::uint32_t nodes : {64U, 512U, 4096U}) {
    wanted.nodes = nodes;
    rows += loss_rows(wanted, kLossKinds, kSeeds, aims);
  }
  wanted.tuned = false;
  for (const std::uint32_t nodes : {64U, 512U}) {
    wanted.nodes = nodes;
    defaults += loss_rows(wanted, kLossKinds, kSeeds, untuned);
  }
  return fmt::format(
      "## With losses\n\n"
      "A share of {} of the copies is lost: at each *member* by itself, on each *link* down to a "
      "group of switches, a switch or a card for all behind it, or both. Figures of {} seeds: the "
      "mean, where nothing else is said. Lost copies include probes. The stricter aim for repairs, "
      "two round trips and the time until a loss is asked for, some 7 us, is missed by the median: "
      "packets alone take nine tenths of each processor's time.\n\n{}{}{}\n"
      "The same with the times that `GroupOptions` has for networks that reorder and are slow to "
      "answer: 20 us until a loss is asked for, 200 us until a probe, and 1 ms until a question is "
      "repeated.\n\n{}{}{}\n",
      kLoss, kSeeds, verdict(aims), kLossHead, rows, verdict(untuned), kLossHead, defaults);
}

std::string large_table() {
  Aims aims;
  GroupBroadcast wanted;
  wanted.nodes = 65536;
  wanted.receive_packets = 30;
  const std::uint32_t window = multicast::Group::window_for(wanted.receive_packets, 1);
  const std::string rows = loss_rows(wanted, {kLossKinds, 1}, 1, aims);
  return fmt::format(
      "## 65,536 nodes\n\n"
      "One seed, and {} packets for arrivals at each member, so that all fit into the memory of "
      "the machine that simulates: a window of {}, which acknowledgements through the tree do not "
      "keep open. {}{}{}",
      wanted.receive_packets, window, verdict(aims), kLossHead, rows);
}

std::string introduction() {
  return fmt::format(
      "# Reliable multicast in simulation\n\n"
      "Simulated; made by `esp-multicast-simulated`. A broadcast of {} from one source by "
      "`net/multicast` (`docs/multicast.md`), one member per node, until the last one has the last "
      "byte; every byte is compared. Packets go over `SimGroupPort`, mail takes a device transfer "
      "for each message. Nodes, cards and prices are those of RI2 (`net/sim/machines/ri2.machine`: "
      "100 Gbit/s, latency 0.6 us, 0.3 us of a processor for each message sent or taken), 32 to a "
      "switch and 32 switches to a group, all links at the same price. The window is 128 packets. "
      "Times were chosen for this network: 1 us until a loss is asked for, 8 us until a probe, 60 "
      "us "
      "until a question is repeated.\n\n",
      human_bytes(1 << 20));
}

// ---- the test ----

int quick() {
  int missed = 0;
  const auto expect = [&](bool holds, const std::string& what) {
    if (holds) return;
    ++missed;
    fmt::print(stderr, "missed: {}\n", what);
  };
  for (const std::uint32_t nodes : {2U, 16U}) {
    const double off = deviation(nodes);
    expect(std::abs(off) <= kMostDeviation, fmt::format("{} nodes: {:+.3f} off", nodes, off));
  }
  GroupBroadcast wanted;
  wanted.nodes = 48;
  const GroupBroadcastResult without = run_group(wanted);
  expect(without.questions == 0 && without.losses == 0, "no loss, no question");
  wanted.loss = wanted.branch_loss = 1e-3;
  const GroupBroadcastResult lossy = run_group(wanted);
  expect(lossy.losses > 0 && lossy.questions > 0, "losses are asked for");
  expect(lossy.repairs + lossy.again > 0, "and repaired");
  expect(lossy.repairs <= 2 * lossy.losses, "repairs are as many as losses");
  expect(lossy.all_ns > without.all_ns, "losses take time");
  expect(lossy.all_ns < 2 * without.all_ns, "not twice the time");
  expect(run_group(wanted).unseed == lossy.unseed, "the same seed, the same run");
  wanted.seed = 2;
  expect(run_group(wanted).unseed != lossy.unseed, "another seed, another run");
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  CLI::App app("Broadcasts by reliable multicast groups in simulation");
  std::string markdown, checked;
  bool large = false, fast = false;
  app.add_option("--markdown", markdown, "write the page to this file instead of printing it");
  app.add_option("--check", checked, "whether this file is the page");
  app.add_flag("--large", large, "65,536 nodes as well: some minutes and 13 GiB");
  app.add_flag("--quick", fast, "few nodes; whether the aims are met");
  CLI11_PARSE(app, argc, argv);
  if (fast) return quick();
  const std::string page = introduction() + model_table() + loss_table();
  if (!checked.empty()) {
    if (read_file(checked).starts_with(page)) return 0;
    fmt::print(stderr, "{} is not what esp-multicast-simulated --markdown writes\n", checked);
    return 1;
  }
  const std::string all = large ? page + large_table() : page;
  if (!markdown.empty()) return write_file(markdown, all) ? 0 : 1;
  fmt::print("{}", all);
  return 0;
}
