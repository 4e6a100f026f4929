// Multicast, binomial trees and rings on the simulator, beside the figures that Chu et al. (TPDS)
// have published, and beside their models.
#include "bench/experiments/multicast/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "bench/experiments/page_program.hpp"
#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {

std::vector<std::uint32_t> powers(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = first; n <= last; n *= 2) all.push_back(n);
  return all;
}

std::string Beside::cells() const {
  return fmt::format(" {} | {} | {:+.1f} % |", human_time(simulated), human_time(model),
                     100 * off());
}

std::string aim_text(double worst) {
  return fmt::format("The aim is a deviation within {:.0f} %; the largest here is {:.1f} %{}.",
                     100 * kMostDeviation, 100 * worst,
                     worst > kMostDeviation ? ": **missed**" : "");
}

namespace {

constexpr std::uint64_t kSizes[] = {8, 16 << 10, kLargeBytes};

// ---- latency against the number of nodes ----

constexpr Way kWays[] = {Way::kRing, Way::kKnomial, Way::kMulticast};

// `growth`: by way, from 4 nodes to the last.
std::string latency_rows(std::uint64_t bytes, std::span<const std::uint32_t> nodes, double& worst,
                         std::vector<double>& growth) {
  std::string rows;
  std::vector<double> first;
  for (const std::uint32_t n : nodes) {
    rows += fmt::format("| {} |", n);
    growth.clear();
    if (n <= 4) first.clear();
    for (const Way way : kWays) {
      const Broadcasts wanted = {.way = way, .nodes = n, .bytes = bytes};
      const Beside beside = {simulated_ns(wanted), model_ns(wanted)};
      worst = std::max(worst, std::abs(beside.off()));
      if (n <= 4) first.push_back(beside.simulated);
      if (n >= 4) growth.push_back(beside.simulated / first[growth.size()]);
      rows += beside.cells();
    }
    rows += "\n";
  }
  return rows;
}

std::string latency_section() {
  double worst = 0;
  std::string tables, grown;
  for (const std::uint64_t bytes : kSizes) {
    std::vector<double> growth;
    tables += fmt::format(
        "### {}\n\n"
        "| nodes | ring | model | deviation | 2-nomial | model | deviation | multicast | model | "
        "deviation |\n|---|---|---|---|---|---|---|---|---|---|\n{}\n",
        human_bytes(bytes), latency_rows(bytes, powers(2, 1024), worst, growth));
    const Broadcasts chosen = {.way = Way::kChosen, .nodes = 16, .bytes = bytes};
    const Broadcasts multicast = {.nodes = 16, .bytes = bytes};
    grown += fmt::format("| {} | {:.0f} | {:.1f} | {:.2f} | {} | {} |\n", human_bytes(bytes),
                         growth[0], growth[1], growth[2], human_time(simulated_ns(multicast)),
                         human_time(simulated_ns(chosen)));
  }
  return fmt::format(
      "## Latency against the number of nodes\n\n"
      "*Published*: a ring is linear, a k-nomial tree logarithmic, multicast flat. *Ours*: 2 to "
      "1024 nodes; ring and tree send the message whole. How many times as long as 4 nodes 1024 "
      "nodes take (linear would be 341, logarithmic 5, flat 1); and what 16 nodes take by "
      "multicast, and if the library may choose (`auto`):\n\n"
      "| message | ring | 2-nomial | multicast | 16 nodes, multicast | 16 nodes, chosen |\n"
      "|---|---|---|---|---|---|\n{}\n"
      "What multicast grows by is t_o(n), for each packet. Where a packet's t_s is as long as its "
      "bytes take, as assumed here, a long pipeline from node to node is faster than multicast: of "
      "2 MiB that is chosen. {} The simulator charges a packet what the model says, so this is "
      "about plans and engine: they add nothing to it. Of one message, the model's t_s is both "
      "processors and the way. Between two nodes the library sends a message, not a packet to a "
      "group.\n\n{}",
      grown, aim_text(worst), tables);
}

std::string introduction() {
  return fmt::format(
      "# Multicast, beside published figures\n\n"
      "Made by `esp-multicast-published`. **Simulated**, but for what is called published: figures "
      "of Chu et al., TPDS, measured there on RI2 (up to 16 nodes, EDR InfiniBand). Ours: the "
      "library's plans and engine on RI2's nodes and cards (`net/sim/machines/ri2.machine`), one "
      "process each, as many as are asked for, 32 to a switch at the same price; data in host "
      "memory, groups without loss. Model: the published forms "
      "(`coll/choice/broadcast_models.hpp`) with 100 Gbit/s, U = 4 KiB, a = 20 (published), t_s = "
      "1.2 us of a message and 300 ns of a packet (assumed). Times in ns, us and ms, until the "
      "last "
      "rank is done.\n\n");
}

// ---- the test ----

int quick() {
  int missed = 0;
  const auto expect = [&](bool holds, const std::string& what) {
    if (holds) return;
    ++missed;
    fmt::print(stderr, "missed: {}\n", what);
  };
  const std::vector<std::uint32_t> nodes = {2, 4, 64};
  for (const std::uint64_t bytes : kSizes) {
    double worst = 0;
    std::vector<double> growth;
    (void)latency_rows(bytes, nodes, worst, growth);
    expect(worst <= kMostDeviation, fmt::format("{} bytes: {:.3f} off", bytes, worst));
    expect(growth[0] > 20.5 && growth[0] < 21.5, "a ring is linear");
    expect(growth[1] > 2.9 && growth[1] < 3.1, "a tree is logarithmic");
    expect(growth[2] < 1.25, "multicast is flat");
  }
  for (const bool at_once : {false, true}) {
    const Broadcasts four = of_sources(Way::kMulticast, 4, 4, at_once, 300);
    const double off = simulated_ns(four) / sources_model_ns(four) - 1;
    expect(std::abs(off) <= kMostDeviation, fmt::format("four sources: {:+.3f} off", off));
  }
  const std::vector<double> x = {1, 2, 3}, y = {5, 7, 9};
  const Line line = fit_line(x, y);
  expect(std::abs(line.base - 3) < 1e-9 && std::abs(line.slope - 2) < 1e-9, "a line is fitted");
  const Fitted fitted = fit_protocol(1e3 / 20, std::vector<std::uint32_t>{2, 8, 32}, 256 << 10);
  expect(fitted.a() > 10 && fitted.a() < 22, fmt::format("a = {:.1f}", fitted.a()));
  expect(fitted.worst <= kMostDeviation, fmt::format("t_o: {:.3f} off", fitted.worst));
  return missed == 0 ? 0 : 1;
}

std::string page() {
  return introduction() + latency_section() + sources_section() + overlap_section() + fit_section();
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  return run_page_program(argc, argv,
                          {.name = "esp-multicast-published",
                           .about = "Multicast on the simulator beside published figures",
                           .page = page,
                           .quick = quick,
                           .quick_about = "few nodes; whether the aims are met"});
}
