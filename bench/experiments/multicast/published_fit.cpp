// t_o(n), fitted to broadcasts by the protocol of net/multicast.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bench/experiments/multicast/group_broadcast.hpp"
#include "bench/experiments/multicast/published.hpp"
#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {

Line fit_line(std::span<const double> x, std::span<const double> y) {
  const auto count = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  Line line;
  line.slope = (count * sxy - sx * sy) / (count * sxx - sx * sx);
  line.base = (sy - line.slope * sx) / count;
  return line;
}

Fitted fit_protocol(double growth_ns, std::span<const std::uint32_t> nodes, std::uint64_t bytes) {
  GroupBroadcast wanted;
  wanted.bytes = bytes;
  wanted.growth_ns = growth_ns;
  const std::uint64_t payload = wanted.packet_bytes - multicast::kHeaderBytes;
  const auto packets = static_cast<double>((bytes + payload - 1) / payload);
  std::vector<double> x, y;
  Fitted fitted;
  for (const std::uint32_t n : nodes) {
    wanted.nodes = n;
    const GroupBroadcastResult result = run_broadcast(wanted);
    if (!result.failure.empty()) {
      fmt::print(stderr, "{} nodes: {}\n", n, result.failure);
      std::exit(1);
    }
    x.push_back(std::log(static_cast<double>(n)));
    y.push_back(static_cast<double>(result.all_ns) / packets);
    fitted.times_ns.push_back(static_cast<double>(result.all_ns));
  }
  fitted.line = fit_line(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double model = fitted.line.base + fitted.line.slope * x[i];
    fitted.worst = std::max(fitted.worst, std::abs(y[i] / model - 1));
  }
  return fitted;
}

std::string fit_section() {
  constexpr std::uint64_t kBytes = 1 << 20;
  const std::vector<std::uint32_t> nodes = powers(2, 256);
  std::string rows, head, rule;
  double worst = 0;
  for (const std::uint32_t n : nodes) {
    head += fmt::format(" {} |", n);
    rule += "---|";
  }
  for (const double a : {0.0, 20.0, 15.0}) {
    const Fitted fitted = fit_protocol(a > 0 ? 1e3 / a : 0, nodes, kBytes);
    worst = std::max(worst, fitted.worst);
    std::string cells;
    for (const double ns : fitted.times_ns) cells += fmt::format(" {} |", human_time(ns));
    rows += fmt::format("| {} |{} {:.1f} | {} | {:.0f} ns | {:.1f} % |\n",
                        a > 0 ? fmt::format("a = {:.0f}", a) : "0", cells, fitted.a(),
                        a > 0 ? fmt::format("{:+.1f} %", 100 * (fitted.a() / a - 1)) : "-",
                        fitted.line.base, 100 * fitted.worst);
  }
  return fmt::format(
      "## What a packet costs with the number of nodes\n\n"
      "*Published*: t_o(n) = ln(n) / a microseconds, 15 <= a <= 20 by a fit. *Ours*: a broadcast "
      "of "
      "{} by the protocol itself (`net/multicast`, as in `multicast_simulated.md`) in networks "
      "that take nothing for a group, or t_o(n) with a = 20 or 15 for each packet. a is fitted by "
      "least squares to the times, of a packet, over ln(n), with what does not grow. {} With a "
      "network that takes nothing, a is what windows and acknowledgements cost.\n\n"
      "| the network's t_o |{} fitted a | beside the network's | what does not grow | largest "
      "deviation of a time |\n"
      "|---|{}---|---|---|---|\n{}",
      human_bytes(kBytes), aim_text(worst), head, rule, rows);
}

}  // namespace espalier::experiments
