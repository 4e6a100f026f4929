// What the published models say of multicast beside rings and k-nomial trees, on the published
// machine.
// Nothing is measured or simulated here; the forms are in coll/choice/broadcast_models.hpp.
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "bench/experiments/page_program.hpp"
#include "bench/experiments/simulated.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier::experiments {
namespace {

namespace models = broadcast_models;

constexpr double kBytes = 2 << 20;
constexpr std::uint64_t kNodes[] = {2, 4, 8, 16, 32, 64};
constexpr std::uint64_t kMostNodes = 4096;
constexpr double kGbit = 1e9 / 8, kGbyte = 1e9;

// RI2, as printed, with data in host memory; t_s is assumed.
models::Model published() {
  models::Model model;
  model.setup = 0.3e-6;
  model.bandwidth = 100 * kGbit;
  model.chunk_bytes = 512 << 10;
  model.packet_bytes = 4 << 10;
  model.group_fit = 20;
  return model;
}

struct Overlap {
  std::uint64_t nodes;
  double share;
};
constexpr Overlap kOverlaps[] = {{2, 0.04}, {4, 0.12}, {8, 0.13}, {16, 0.20}};

std::string time_of(double seconds) {
  return human_time(seconds * 1e9);
}

std::string introduction() {
  return fmt::format(
      "# Models of multicast\n\n"
      "Computed from formulas; nothing here is measured or simulated. Made by "
      "`esp-multicast-models`; the formulas are in `coll/choice/broadcast_models.hpp`, their "
      "source "
      "is Chu et al., TPDS.\n\n"
      "A broadcast of {} to n nodes of RI2, one process each. As published: chunks of C = {}, "
      "packets of U = {}, B_H = 100 Gbit/s, a = 15 to 20. Assumed: t_s = {}, what posting to a "
      "card "
      "takes (`net/sim/machines/ri2.machine`), of messages and packets alike.\n\n",
      human_bytes(static_cast<std::uint64_t>(kBytes)), human_bytes(512 << 10), human_bytes(4 << 10),
      time_of(published().setup));
}

std::string host_table() {
  std::string text =
      "## Data in host memory\n\n"
      "The ring grows linearly, the tree with the logarithm, and multicast hardly: with t_o(n) = "
      "ln(n) / a alone. \"Best k\" counts all k - 1 messages of a round, which leave one card; the "
      "published form counts one, and would always choose k = n.\n\n"
      "| nodes | ring | ring, pipelined | 2-nomial | 2-nomial, pipelined | best k-nomial | "
      "multicast, a = 20 | multicast, a = 15 |\n"
      "|---|---|---|---|---|---|---|---|\n";
  const models::Model model = published();
  models::Model slow = model;
  slow.group_fit = 15;
  for (const std::uint64_t n : kNodes) {
    const models::Best best = models::best_knomial(model, n, kBytes);
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} (k = {}) | {} | {} |\n", n,
        time_of(models::ring(model, n, kBytes)), time_of(models::pipelined_ring(model, n, kBytes)),
        time_of(models::knomial(model, n, 2, kBytes)),
        time_of(models::pipelined_knomial(model, n, 2, kBytes)), time_of(best.seconds), best.k,
        time_of(models::multicast(model, n, kBytes)), time_of(models::multicast(slow, n, kBytes)));
  }
  return text + "\n";
}

std::string staged_table() {
  std::string text =
      "## Data in an accelerator's memory, staged through the host\n\n"
      "Ring and tree wait for the whole message to be in host memory, multicast for the first "
      "chunk. B_H2D is printed as 8 Gbit/s, about a tenth of what such a bus does: probably 8 GB/s "
      "is "
      "meant. Both are shown.\n\n"
      "| nodes | B_H2D | ring | 2-nomial | multicast |\n|---|---|---|---|---|\n";
  for (const double stage : {8 * kGbit, 8 * kGbyte}) {
    models::Model model = published();
    model.stage_bandwidth = stage;
    for (const std::uint64_t n : kNodes) {
      text += fmt::format(
          "| {} | {} | {} | {} | {} |\n", n, stage < kGbyte * 2 ? "8 Gbit/s, as printed" : "8 GB/s",
          time_of(models::ring(model, n, kBytes)), time_of(models::knomial(model, n, 2, kBytes)),
          time_of(models::multicast(model, n, kBytes)));
    }
  }
  return text + "\n";
}

// The smallest number of nodes from which multicast takes less than the pipelined ring as well.
std::uint64_t pays_beside_rings_from(const models::Model& model) {
  std::uint64_t n = models::multicast_pays_from(model, kBytes, kMostNodes);
  while (n != 0 &&
         models::multicast(model, n, kBytes) >= models::pipelined_ring(model, n, kBytes)) {
    n = n < kMostNodes ? n + 1 : 0;
  }
  return n;
}

std::string crossings_table() {
  std::string text = fmt::format(
      "## From how many nodes multicast pays\n\n"
      "The smallest number of nodes, up to {}, at which multicast takes less than the best "
      "k-nomial "
      "tree, and less than a pipelined ring as well; data in host memory. What a packet costs on "
      "top "
      "decides: the tree sends one message where multicast sends {} packets.\n\n"
      "| t_s | beside trees, a = 20 | a = 15 | beside rings, too, a = 20 | a = 15 |\n"
      "|---|---|---|---|---|\n",
      kMostNodes, kBytes / published().packet_bytes);
  for (const double setup_us : {0.1, 0.2, 0.3, 0.5, 0.8, 1.2}) {
    std::uint64_t from[2][2] = {};
    for (const int fit : {0, 1}) {
      models::Model model = published();
      model.setup = setup_us * 1e-6;
      model.group_fit = fit == 0 ? 20 : 15;
      from[0][fit] = models::multicast_pays_from(model, kBytes, kMostNodes);
      from[1][fit] = pays_beside_rings_from(model);
    }
    text += fmt::format("| {} |", time_of(setup_us * 1e-6));
    for (const auto& beside : from) {
      for (const std::uint64_t n : beside) text += n == 0 ? " never |" : fmt::format(" {} |", n);
    }
    text += "\n";
  }
  return text + "\n";
}

std::string sources_table() {
  std::string text =
      "## Several sources at once\n\n"
      "(1 - OP) m times what one source takes, OP as published for these numbers of nodes; data in "
      "host memory, a = 20.\n\n"
      "| nodes | OP | one source | 2 sources | 4 sources |\n|---|---|---|---|---|\n";
  for (const Overlap& overlap : kOverlaps) {
    const double single = models::multicast(published(), overlap.nodes, kBytes);
    text += fmt::format("| {} | {:.0f} % | {} | {} | {} |\n", overlap.nodes, 100 * overlap.share,
                        time_of(single), time_of(models::concurrent(2, single, overlap.share)),
                        time_of(models::concurrent(4, single, overlap.share)));
  }
  return text;
}

std::string page() {
  return introduction() + host_table() + staged_table() + crossings_table() + sources_table();
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  return run_page_program(argc, argv,
                          {.name = "esp-multicast-models",
                           .about = "What published models say of multicast beside rings and trees",
                           .page = page});
}
