// Devices of a node that read each other's memory, beside the way through the host.
#include <fmt/format.h>

#include "bench/experiments/devices/published.hpp"

namespace espalier::experiments {
namespace {

using sim::Staging;

// ---- leaders, or all GPUs by themselves ----

sim::Machine psg_with_groups(const sim::Machine& psg, const sim::Machine& ri2) {
  sim::Machine machine = psg;
  machine.multicast = ri2.multicast;
  return machine;
}

// Which no K40 has: 40 GB/s each way, as two links of a P100.
sim::Machine with_nvlink(const sim::Machine& psg) {
  sim::Machine machine = psg;
  sim::PeerCost& peer = machine.device.peer;
  peer.own_lanes = true;
  peer.ns_per_byte = peer.across_ns_per_byte = 1.0 / 40;
  return machine;
}

// Of a leader's card, to send a message to eight.
double port_ns(const sim::Machine& machine, std::uint64_t bytes) {
  return machine.multicast.extra_ns(bytes, 8) +
         static_cast<double>(bytes) * machine.lanes[0].ns_per_byte;
}

struct Stage {
  double each, host, pcie, sockets, nvlink;
};

Stage stage_of(const sim::Machine& machine, std::uint64_t bytes) {
  Stage stage = {};
  GpuCall call = {.bytes = bytes, .plan = Plan::kMulticast};
  stage.host = simulated_ns(machine, call);
  call.staging = Staging::kShared;
  stage.pcie = simulated_ns(machine, call);
  stage.nvlink = simulated_ns(with_nvlink(machine), call);
  call.leaders = MulticastLeaders::kSocket;
  stage.sockets = simulated_ns(machine, call);
  call = {.bytes = bytes, .plan = Plan::kMulticast, .per_node = 1};
  stage.each = simulated_ns(without_nodes(machine, 4), call);
  return stage;
}

std::string stage_rows(const sim::Machine& machine) {
  std::string rows;
  for (const std::uint64_t bytes : kSizes) {
    const Stage s = stage_of(machine, bytes);
    rows += fmt::format("| {} | {} |", human_bytes(bytes), human_time(s.each));
    for (const double ns : {s.host, s.pcie, s.sockets, s.nvlink}) {
      rows += fmt::format(" {} | {:+.0f} % |", human_time(ns), 100 * (ns / s.each - 1));
    }
    rows += "\n";
  }
  return rows;
}

// ---- one node ----

// Of either way the best that is known here.
struct Shared {
  double host, shared;
};

Shared in_one_node(const sim::Machine& dgx, Collective collective, std::uint64_t bytes) {
  GpuCall call = {.collective = collective, .bytes = bytes, .ranks = 8, .per_node = 8};
  const double host = best_in_pieces(dgx, call).ns;
  call.staging = Staging::kShared;
  return {host, best_in_pieces(dgx, call).ns};
}

std::string one_node_rows(const sim::Machine& dgx) {
  std::string rows;
  for (const std::uint64_t bytes : kSizes) {
    rows += fmt::format("| {} |", human_bytes(bytes));
    for (const Collective collective : {Collective::kBcast, Collective::kAllgather}) {
      const std::uint64_t blocks = collective == Collective::kBcast ? 1 : 7;
      const Shared t = in_one_node(dgx, collective, bytes);
      rows +=
          fmt::format(" {} | {} | {:.1f} | {:.0f} GB/s |", human_time(t.host), human_time(t.shared),
                      t.host / t.shared, static_cast<double>(blocks * bytes) / t.shared);
    }
    rows += "\n";
  }
  return rows;
}

}  // namespace

std::string leaders_section(const sim::Machine& psg, const sim::Machine& ri2) {
  return fmt::format(
      "## Leaders, and the stage inside the node: 32 GPUs on 8 nodes\n\n"
      "*Published* (Chu et al., 88 GPUs of CSCS, whose nodes are not in our source): one leader "
      "per adapter or socket is in the group, and the others copy from its GPU; that takes 48, 64 "
      "and 16 % less than three other ways, which our source does not name. *Ours*: PSG's nodes "
      "with the groups of RI2, in chunks of 512 KiB: all GPUs in the group; or a leader of each "
      "node, whose chunks the others copy to their GPUs from its memory of the host, over lanes of "
      "their own; or from its GPU (`PlanRequest::shares`): over PCIe ({:.0f} GB/s below one "
      "bridge, "
      "{:.0f} GB/s across sockets, on the lanes between devices and host), the same with a leader "
      "of each socket, and over NVLink, which no K40 has (40 GB/s each way, as two links of a "
      "P100). Bandwidths and latencies of all three are assumed.\n\n"
      "| message | each GPU in the group | leaders, host | beside it | leaders, PCIe | beside it | "
      "leaders of sockets, PCIe | beside it | leaders, NVLink | beside it |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n{}\n"
      "- Here a card takes a message once for each of its 4 GPUs if all are in the group; whether "
      "the published adapters do is not in our source. With leaders it takes it once, with those "
      "of sockets twice.\n"
      "- Over PCIe the three others read through the one lane out of the leader's GPU, two of them "
      "across sockets, and hardly gain over all GPUs in the group. A leader of each socket has one "
      "reader, below its own bridge, and is as good as copies from memory of the host, where each "
      "reader has a lane of its own and nothing here bounds what they read together.\n"
      "- Over NVLink what remains of long messages is the port's time, {:.1f} ms of 64 MiB.\n\n",
      1 / psg.device.peer.ns_per_byte, 1 / psg.device.peer.across_ns_per_byte,
      stage_rows(psg_with_groups(psg, ri2)), port_ns(psg_with_groups(psg, ri2), 64 << 20) / 1e6);
}

std::string one_node_section(const sim::Machine& dgx) {
  return fmt::format(
      "## One node: 8 GPUs with NVLink\n\n"
      "*Published* (NVIDIA): 8 H100, any two of which switches join at the full speed of their "
      "links, 900 GB/s in both directions together. *Ours* (`dgx-h100.machine`): {:.0f} GB/s a "
      "direction, {:.0f} GB/s between device and host, {:.0f} us for what a copy takes beside its "
      "bytes; all three assumed. Through the host: pieces, as above. Shared: devices read each "
      "other. Of either the better of what the library chooses and of the best of five lengths of "
      "pieces: of broadcasts by chains, of allgathers as chosen (a message is the block of a GPU). "
      "GB/s: bytes that a GPU gets from others by the time.\n\n"
      "| message | broadcast, host | shared | host / shared | shared | allgather, host | shared | "
      "host / shared | shared |\n|---|---|---|---|---|---|---|---|---|\n{}\n"
      "Through the host a processor copies all that a rank reads of another, once, at {:.0f} GB/s, "
      "and that is what decides. Devices that read each other leave to processors what a copy "
      "takes to post, {:.1f} us: with pieces of 64 KiB, as the library chooses, no more than "
      "{:.0f} GB/s, whatever the links carry. In the model a lane carries one copy after the "
      "other, "
      "and a reader's copies are in order, so readers that meet at an owner lose time; and an "
      "allgather's own block goes to the output by way of the host.\n",
      1 / dgx.device.peer.ns_per_byte, 1 / dgx.device.to_host_ns_per_byte,
      dgx.device.peer.latency_ns / 1e3, one_node_rows(dgx),
      1 / dgx.levels[static_cast<std::size_t>(dgx.find_level("socket"))].ns_per_byte,
      dgx.device.post_ns / 1e3, (64 << 10) / dgx.device.post_ns);
}

void expect_nodes(const Expect& expect) {
  const sim::Machine groups = psg_with_groups(machine_or_exit("psg"), machine_or_exit("ri2"));
  const Stage stage = stage_of(groups, 4 << 20);
  expect(stage.host < stage.each, "leaders are faster than all");
  expect(stage.sockets < stage.pcie, "over PCIe a leader of each socket is better");
  expect(stage.nvlink < stage.each, "NVLink carries what a leader has");
  const sim::Machine dgx = machine_or_exit("dgx-h100");
  for (const Collective collective : {Collective::kBcast, Collective::kAllgather}) {
    const Shared t = in_one_node(dgx, collective, 16 << 20);
    expect(t.shared < t.host, "devices that read each other are faster");
  }
}

}  // namespace espalier::experiments
