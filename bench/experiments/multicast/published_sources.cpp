// Broadcasts of several sources: all-to-all, and what of them overlaps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/experiments/multicast/published.hpp"
#include "bench/experiments/simulated.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier::experiments {
namespace {

constexpr std::uint32_t kSourceNodes = 16;
constexpr double kCardSetupNs = 30;  // t_s if the card alone takes it
// Lower latency than k-nomial and ring, all-to-all broadcast on 16 nodes.
constexpr double kPublishedBesideKnomial = 0.87, kPublishedBesideRing = 0.78;
struct PublishedOverlap {
  std::uint32_t nodes;
  double share;
};
constexpr PublishedOverlap kPublishedOverlaps[] = {{2, 0.04}, {4, 0.12}, {8, 0.13}, {16, 0.20}};

std::string lower(double of, double than) {
  return fmt::format("{:+.0f} %", 100 * (of / than - 1));
}

std::string sources_rows(bool at_once, std::span<const std::uint32_t> sources, double& worst) {
  std::string rows;
  for (const double setup_ns : {300.0, kCardSetupNs}) {
    double one = 0;
    for (const std::uint32_t m : sources) {
      const auto take = [&](Way way) {
        return simulated_ns(of_sources(way, kSourceNodes, m, at_once, setup_ns));
      };
      const Broadcasts wanted = of_sources(Way::kMulticast, kSourceNodes, m, at_once, setup_ns);
      const Beside beside = {simulated_ns(wanted), sources_model_ns(wanted)};
      worst = std::max(worst, std::abs(beside.off()));
      if (m == 1) one = beside.simulated;
      const double knomial = take(Way::kKnomial), ring = take(Way::kRing);
      const double pipelined = take(Way::kPipelinedRing);
      rows += fmt::format("| {} | {} |{} {:.2f} | {} | {} | {} | {} | {} | {} |\n",
                          human_time(setup_ns), m, beside.cells(), beside.simulated / (m * one),
                          human_time(knomial), lower(beside.simulated, knomial), human_time(ring),
                          lower(beside.simulated, ring), human_time(pipelined),
                          lower(beside.simulated, pipelined));
    }
  }
  return rows;
}

// So much bandwidth between nodes would the tree and the ring have, if multicast in turn took what
// it takes here and so much less than they.
double implied_bandwidth(double times, double lower) {
  const double multicast = simulated_ns(of_sources(Way::kMulticast, kSourceNodes, 1, false, 300));
  return times * static_cast<double>(kLargeBytes) / (multicast / (1 - lower));
}

}  // namespace

Broadcasts of_sources(Way way, std::uint32_t nodes, std::uint32_t sources, bool at_once,
                      double setup_ns) {
  return {.way = way,
          .nodes = nodes,
          .bytes = kLargeBytes,
          .sources = sources,
          .at_once = at_once,
          .setup_ns = setup_ns};
}

std::string sources_section() {
  constexpr const char* kHead =
      "| t_s | sources | multicast | model | deviation | / (m one) | 2-nomial | multicast beside "
      "it | ring | beside it | ring in pieces | beside it |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  const std::vector<std::uint32_t> sources = powers(1, 16);
  double worst = 0;
  const std::string in_turn = sources_rows(false, sources, worst);
  const std::string at_once = sources_rows(true, sources, worst);
  const double pieces = static_cast<double>(kLargeBytes) / kChunkBytes;
  return fmt::format(
      "## All-to-all broadcast on {} nodes\n\n"
      "*Published*: {:.0f} % lower latency than k-nomial and {:.0f} % lower than ring, near linear "
      "in the number of sources; data in GPU memory, k and the message's size are not in our "
      "source. *Ours*: {} in host memory, t_s = 300 ns, or {:.0f} ns if the card alone takes it. "
      "\"Ring in pieces\": of C = {}. The model in turn is m times one source; at once it is the "
      "port that sends or takes most, and the way. {}\n\n"
      "In turn: each rank waits for one broadcast before it enters the next.\n\n{}{}\n"
      "At once: each rank starts all broadcasts, then waits. By any way each card takes the same "
      "bytes, which is what all of these wait for: multicast has nothing to save but what a tree "
      "or ring leaves idle.\n\n{}{}\n"
      "So the published reductions are not reached with data in host memory and equal cards: here "
      "a tree's messages are as fast as multicast's packets. With k-nomial messages and rings in "
      "pieces out of GPU memory at B_G, which is not in our source, {:.0f} and {:.0f} % in turn "
      "would take B_G = {:.1f} and {:.1f} GB/s by the models, where the card has 12.5.\n\n",
      kSourceNodes, 100 * kPublishedBesideKnomial, 100 * kPublishedBesideRing,
      human_bytes(kLargeBytes), kCardSetupNs, human_bytes(kChunkBytes), aim_text(worst), kHead,
      in_turn, kHead, at_once, 100 * kPublishedBesideKnomial, 100 * kPublishedBesideRing,
      implied_bandwidth(std::log2(kSourceNodes), kPublishedBesideKnomial),
      implied_bandwidth((pieces + kSourceNodes - 2) / pieces, kPublishedBesideRing));
}

std::string overlap_section() {
  std::string rows;
  for (const PublishedOverlap& published : kPublishedOverlaps) {
    const std::uint32_t n = published.nodes;
    rows += fmt::format("| {} | {:.0f} % |", n, 100 * published.share);
    for (const double setup_ns : {300.0, kCardSetupNs}) {
      const double one = simulated_ns(of_sources(Way::kMulticast, n, 1, false, setup_ns));
      rows += fmt::format(" {} |", human_time(one));
      for (const bool at_once : {false, true}) {
        const Broadcasts all = of_sources(Way::kMulticast, n, n, at_once, setup_ns);
        const double together = simulated_ns(all);
        rows +=
            fmt::format(" {:.1f} % | {:.1f} % |", 100 * broadcast_models::overlap(n, one, together),
                        100 * broadcast_models::overlap(n, model_ns(all), sources_model_ns(all)));
      }
    }
    rows += "\n";
  }
  return fmt::format(
      "## What overlaps\n\n"
      "OP = (m T_single - T_multi) / (m T_single), for {} of each of m = n sources. *Published*, "
      "measured on RI2 with a sender that returns when all is posted. *Ours*, simulated, and by "
      "the model of the section before, for both t_s.\n\n"
      "| nodes | published | 300 ns: T_single | in turn | model | at once | model | {:.0f} ns: "
      "T_single | in turn | model | at once | model |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n{}\n"
      "The published figures lie between the two. In turn, a root has the broadcast before its "
      "own when it begins, so nothing overlaps; at once, what a card sends overlaps with what it "
      "takes, and t_s and t_o of one source with the bytes of others.\n\n",
      human_bytes(kLargeBytes), kCardSetupNs, rows);
}

}  // namespace espalier::experiments
