// Collectives of GPU memory on the simulator, beside the figures that Luo et al. (HPDC 2018) and
// Chu et al. (TPDS) have published.
#include "bench/experiments/devices/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/experiments/page_program.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier::experiments {
namespace {

using sim::Staging;
using Reducer = sim::Reducer;
namespace models = broadcast_models;

constexpr std::uint64_t kChunkBytes = 512 << 10;  // C

std::string piece_text(const BestRun& run) {
  return run.piece_bytes == 0 ? "chosen" : human_bytes(run.piece_bytes);
}

// ---- PSG: broadcast and reduce, with and without overlap ----

struct WithAndWithout {
  double binomial, whole;  // staged as a whole
  BestRun host, device;    // in pieces; who reduces

  double best() const { return std::min(host.ns, device.ns); }
};

WithAndWithout compare(const sim::Machine& psg, Collective collective, std::uint64_t bytes) {
  GpuCall call = {.collective = collective, .bytes = bytes, .staging = Staging::kWhole};
  call.plan = Plan::kBinomial;
  const double binomial = simulated_ns(psg, call);
  const double whole = best_in_pieces(psg, call).ns;
  call.staging = Staging::kPieces;
  const BestRun host = best_in_pieces(psg, call);
  if (collective == Collective::kBcast) return {binomial, whole, host, host};
  call.reducer = Reducer::kDevice;
  return {binomial, whole, host, best_in_pieces(psg, call)};
}

std::string broadcast_rows(const sim::Machine& psg) {
  std::string rows;
  for (const std::uint64_t bytes : kSizes) {
    const WithAndWithout t = compare(psg, Collective::kBcast, bytes);
    rows += fmt::format("| {} | {} | {} | {} | {} | {:.1f} | {:.1f} |\n", human_bytes(bytes),
                        human_time(t.binomial), human_time(t.whole), human_time(t.host.ns),
                        piece_text(t.host), t.binomial / t.best(), t.whole / t.best());
  }
  return rows;
}

std::string reduce_rows(const sim::Machine& psg) {
  std::string rows;
  for (const std::uint64_t bytes : kSizes) {
    const WithAndWithout t = compare(psg, Collective::kReduce, bytes);
    rows += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.1f} |\n",
                        human_bytes(bytes), human_time(t.binomial), human_time(t.whole),
                        human_time(t.host.ns), piece_text(t.host), human_time(t.device.ns),
                        piece_text(t.device), t.binomial / t.best(), t.whole / t.best());
  }
  return rows;
}

std::string overlap_section(const sim::Machine& psg) {
  const WithAndWithout large = compare(psg, Collective::kReduce, 16 << 20);
  return fmt::format(
      "## With and without overlap: 32 GPUs on 8 nodes\n\n"
      "*Published* (Luo et al., PSG: K40, FDR InfiniBand): 2 to 3 times faster than MVAPICH2 and "
      "Open MPI in broadcasts, almost 10 times in reductions; the sizes of the messages and how "
      "the others copy are not in our source. *Ours*: \"whole\" copies all to the host, runs the "
      "operation there and copies the result to the device, each after the other; once with a "
      "binomial tree over ranks that sends messages as they are, as simple libraries do, and once "
      "with the library's best plan. \"Pieces\" are plans that copy piece by piece while others "
      "travel: as the library chooses, or chains of leaders and of members (the tree of the paper) "
      "with the best of five lengths of pieces. The last columns are how many times as long "
      "\"whole\" takes.\n\n"
      "### Broadcast\n\n"
      "| message | whole, binomial | whole, best | in pieces | of | binomial / ours | best / ours "
      "|\n|---|---|---|---|---|---|---|\n{}\n"
      "### Reduce\n\n"
      "| message | whole, binomial | whole, best | in pieces, the host reduces | of | the device "
      "reduces | of | binomial / ours | best / ours |\n|---|---|---|---|---|---|---|---|---|\n{}\n"
      "- From 1 MiB on, where there are pieces enough to fill a pipeline, the factors over the "
      "binomial tree are like the published ones. Of a reduction of 16 MiB, {:.1f} of it is the "
      "better plan between copies as a whole, {:.1f} that copies overlap, and {:.1f} that the "
      "device reduces; which of these the published figures have, our source does not say.\n"
      "- A core reduces {:.0f} GB/s of each operand, so with two operands {:.1f} GB/s of the "
      "message, less than card ({:.0f} GB/s) and lanes ({:.0f} GB/s): where the host reduces, that "
      "is what all waits for, and the copies' overlap saves little. Where the "
      "device reduces it is as in calls of the library (`docs/devices.md`): a kernel reads what "
      "was "
      "received over the lane and the own operand where it lies; its result goes to the host, but "
      "at the root.\n"
      "- Below 1 MiB the 8 us of each copy on the way decide, and copies as a whole are as good, "
      "unless the device reduces.\n\n",
      broadcast_rows(psg), reduce_rows(psg), large.binomial / large.whole,
      large.whole / large.host.ns, large.host.ns / large.device.ns, 1 / psg.reduce_ns_per_byte,
      0.5 / psg.reduce_ns_per_byte, 1 / psg.lanes[0].ns_per_byte,
      1 / psg.device.to_host_ns_per_byte);
}

// ---- RI2: multicast, copied chunk by chunk ----

constexpr std::uint32_t kRi2Nodes = 16;

models::Model model_of(const sim::Machine& ri2) {
  const sim::Level& level = ri2.levels[0];
  models::Model model;
  model.setup = 1e-9 * (level.overhead_send_ns + level.latency_ns + level.overhead_recv_ns);
  model.bandwidth = 1e9 / ri2.lanes[0].ns_per_byte;
  model.stage_bandwidth = 1e9 / ri2.device.to_host_ns_per_byte;
  model.chunk_bytes = static_cast<double>(kChunkBytes);
  model.packet_bytes = static_cast<double>(ri2.multicast.packet_bytes);
  model.group_fit = 1e3 / ri2.multicast.growth_ns;
  return model;
}

// What the models leave out: of a message that comes into memory of a GPU, the last copy.
double to_device_ns(const sim::Machine& ri2, std::uint64_t bytes) {
  const sim::DeviceCost& device = ri2.device;
  return device.post_ns + device.latency_ns +
         static_cast<double>(bytes) * device.to_device_ns_per_byte;
}

// The published form, a chunk's packets at t_s of a packet, with the way once and both copies.
double multicast_model_ns(const sim::Machine& ri2, std::uint64_t bytes) {
  models::Model model = model_of(ri2);
  const double way_ns = 1e9 * model.setup;
  const std::uint64_t chunk = std::min(bytes, kChunkBytes);
  model.setup = 1e-9 * ri2.multicast.setup_ns;
  model.chunk_bytes = static_cast<double>(chunk);
  return 1e9 * models::multicast(model, kRi2Nodes, static_cast<double>(bytes)) + way_ns +
         ri2.device.post_ns + ri2.device.latency_ns + to_device_ns(ri2, chunk);
}

double on_ri2(const sim::Machine& ri2, std::uint64_t bytes, Plan plan, Staging staging) {
  return simulated_ns(ri2, {.bytes = bytes,
                            .plan = plan,
                            .piece_bytes = kChunkBytes,
                            .staging = staging,
                            .ranks = kRi2Nodes,
                            .per_node = 1});
}

std::string streaming_rows(const sim::Machine& ri2, double& worst) {
  std::string rows;
  for (const std::uint64_t bytes : kSizes) {
    const double streamed = on_ri2(ri2, bytes, Plan::kMulticast, Staging::kPieces);
    const double model = multicast_model_ns(ri2, bytes);
    worst = std::max(worst, std::abs(streamed / model - 1));
    const double whole = on_ri2(ri2, bytes, Plan::kMulticast, Staging::kWhole);
    const double tree = on_ri2(ri2, bytes, Plan::kBinomial, Staging::kWhole);
    rows += fmt::format(
        "| {} | {} | {} | {:+.1f} % | {} | {:+.0f} % | {} | {:+.0f} % |\n", human_bytes(bytes),
        human_time(streamed), human_time(model), 100 * (streamed / model - 1), human_time(whole),
        100 * (streamed / whole - 1), human_time(tree), 100 * (streamed / tree - 1));
  }
  return rows;
}

std::string streaming_section(const sim::Machine& ri2) {
  double worst = 0;
  const std::string rows = streaming_rows(ri2, worst);
  return fmt::format(
      "## Streaming broadcast by multicast: 16 GPUs on 16 nodes\n\n"
      "*Published* (Chu et al., RI2): the root copies chunk by chunk to the host, and each chunk "
      "is sent to all while the next is copied: 40 to 88 % lower latency than trees, rings and "
      "multicast that the adapter reads from memory of GPUs, at a bandwidth that is not in our "
      "source. *Ours*: RI2's cards, groups and lanes ({:.0f} GB/s), C = 512 KiB. Model: C / B_H2D "
      "+ (M / U) (t_s + t_o(n) + U / B_H), the published form, with what it leaves out: the way "
      "once, what a copy takes beside its bytes, and the last chunk's copy to the device. The "
      "largest deviation is {:.1f} %. Beside it the same multicast and a binomial tree, both "
      "between two copies as a whole.\n\n"
      "| message | streamed | model | deviation | whole, multicast | streamed beside it | whole, "
      "binomial | streamed beside it |\n|---|---|---|---|---|---|---|---|\n{}\n"
      "Up to a chunk there is nothing to overlap. Of long messages the copies are hidden but for a "
      "chunk at either end, and what remains is the port.\n\n",
      1 / ri2.device.to_host_ns_per_byte, 100 * worst, rows);
}

std::string introduction() {
  return "# Memory of GPUs, beside published figures\n\n"
         "Made by `esp-gpu-published`. **Simulated**, but for what is called published: Luo et "
         "al., HPDC 2018, and Chu et al., TPDS. Ours: the library's plans and engine on the "
         "sources' "
         "machines (`net/sim/machines/psg.machine`, `ri2.machine`), a process and a GPU each, with "
         "a PCIe lane in either direction (section `[device]`: bandwidths, latency of a copy, "
         "launch, rate of reduction, lanes between devices, most of them assumed). No device was "
         "at "
         "hand for any figure here. Times in us and ms, until the last rank is done.\n\n";
}

// ---- the test ----

void expect_overlap(const Expect& expect) {
  const sim::Machine psg = machine_or_exit("psg");
  const WithAndWithout bcast = compare(psg, Collective::kBcast, 4 << 20);
  expect(bcast.binomial / bcast.best() > 2, "a broadcast is 2 times faster");
  expect(bcast.whole > bcast.best(), "a broadcast overlaps");
  const WithAndWithout reduce = compare(psg, Collective::kReduce, 16 << 20);
  expect(reduce.binomial / reduce.best() > 8, "a reduction is almost 10 times faster");
  expect(reduce.device.ns < reduce.host.ns, "the device reduces faster");
}

void expect_streaming(const Expect& expect) {
  const sim::Machine ri2 = machine_or_exit("ri2");
  const std::uint64_t bytes = 4 << 20;
  const double streamed = on_ri2(ri2, bytes, Plan::kMulticast, Staging::kPieces);
  const double off = streamed / multicast_model_ns(ri2, bytes) - 1;
  expect(std::abs(off) < 0.1, fmt::format("streaming is {:+.3f} off its model", off));
}

int quick() {
  int missed = 0;
  const auto expect = [&](bool holds, const std::string& what) {
    if (holds) return;
    ++missed;
    fmt::print(stderr, "missed: {}\n", what);
  };
  expect_overlap(expect);
  expect_streaming(expect);
  expect_nodes(expect);
  return missed == 0 ? 0 : 1;
}

std::string page() {
  const sim::Machine psg = machine_or_exit("psg"), ri2 = machine_or_exit("ri2");
  return introduction() + overlap_section(psg) + streaming_section(ri2) +
         leaders_section(psg, ri2) + one_node_section(machine_or_exit("dgx-h100"));
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  return run_page_program(
      argc, argv,
      {.name = "esp-gpu-published",
       .about = "Collectives of GPU memory on the simulator beside published figures",
       .page = page,
       .quick = quick,
       .quick_about = "a few sizes; whether what the page says holds"});
}
