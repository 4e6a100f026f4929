// What a scenario says about itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/datatype.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

std::string OpSpec::describe() const {
  if (flow()) {
    return fmt::format("message of {} bytes from member {} to {}, channel {}{}", count, root, peer,
                       channel, shares ? "; on devices" : "");
  }
  const esp_coll_options& o = options;
  const char* place = !in_place ? "" : out_of_place_too ? ", in place at some" : ", in place";
  std::string text = fmt::format(
      "{} of {} {}, {}, root {}{}; algorithm {}, shape {}, radix {}, segment {} B, windows {}/{}, "
      "variant {}",
      collective_name(collective), count, type_name(type), ordered ? "ordered" : op_name(op), root,
      place, algorithm_name(o.algorithm), static_cast<int>(o.shape), o.radix, o.segment_bytes,
      o.window_send, o.window_recv, static_cast<int>(o.variant));
  if (pattern != nullptr && !shares) {
    text += fmt::format("; elements of {} in {} bytes at some", pattern->elements(),
                        pattern->extent_bytes());
  }
  if (shares) text += combines ? "; on devices, which combine" : "; on devices";
  for (const Neighbors& near : graph)
    text += fmt::format("; from {}", fmt::join(near.sources, " "));
  if (counts.empty()) return text;
  constexpr std::size_t kShown = 64;
  constexpr const char* kGaps[] = {"", ", with gaps", ", scattered"};
  text += fmt::format("; counts {}{}",
                      fmt::join(std::span(counts).first(std::min(counts.size(), kShown)), " "),
                      counts.size() > kShown ? " ..." : "");
  return text + kGaps[static_cast<std::size_t>(gaps)];
}

const char* Scenario::stage_name() const noexcept {
  switch (stage) {
    case StageKind::kSim:
      return "simulated";
    case StageKind::kShm:
      if (!pulls) return "shared memory";
      return pulls_allowed.empty() ? "shared memory with pulls"
                                   : "shared memory with pulls until they are refused";
    case StageKind::kDatagrams:
      return "simulated datagrams";
    case StageKind::kConnections:
      return "simulated connections";
    case StageKind::kRdma:
      return "simulated connections and datagrams";
  }
  return "?";
}

std::string Scenario::describe() const {
  std::string text =
      fmt::format("{} ranks, {}, {} placement, {}{}, faults {}, noise {}\n", ranks, stage_name(),
                  placement_name(placement), board ? "board" : "no board",
                  start_in_callbacks ? ", starts in callbacks" : "", sim::to_text(world.faults),
                  sim::to_text(world.noise));
  if (has_datagrams()) {
    text += fmt::format(
        "  packets of {} bytes, {} to send, {} to receive, {} sends at a time, first number {:#x}, "
        "{} ghosts\n",
        port.packet_bytes, port.send_packets, port.receive_packets, port.send_depth, first_sequence,
        ghosts);
  }
  if (has_connections()) {
    text += fmt::format(
        "  packets of {} bytes, {} to send, {} to receive, {} operations at a time, window {}, {} "
        "completions at a time, places from {} bytes, read from {}, registered from {}{}\n",
        adapter.packet_bytes, connections.send_packets, adapter.receive_depth, adapter.send_depth,
        connections.window, connections.poll_budget, connections.place_from_bytes,
        connections.pull_from_bytes, connections.memory.register_from_bytes,
        odd_ranks_copy ? " by even ranks" : "");
  }
  if (moves) {
    text += fmt::format("  moves take up to {} ns, {:.1f} refused, {:.1f} at once",
                        moves->latest_ns, moves->refused, moves->at_once);
    text += moves->breaks_at == kNoRank ? std::string("\n")
                                        : fmt::format("; rank {}'s fails after {}\n",
                                                      moves->breaks_at, moves->breaks_after);
  }
  if (devices) {
    text +=
        fmt::format("  devices: {:.1f} of places nameless, {:.1f} not opened, {} ranks open none\n",
                    devices->nameless, devices->refused, std::ranges::count(devices->opens, false));
  }
  if (accesses > 0) text += fmt::format("  {} accesses each, {:.2f} taken back\n", accesses, whims);
  if (stage == StageKind::kRdma) {
    text += fmt::format(
        "  {} connections for a rank's sends, adapters have {}, {} pairs of ranks have none\n",
        connections_max, adapter.connections, apart.size());
  }
  for (std::size_t t = 0; t < teams.size(); ++t) {
    const TeamNodes* nodes = layout(t);
    text += fmt::format(
        "  team {}: {} members, {} nodes followed, {} levels inside, {} of switches\n", t,
        teams[t].size(), nodes != nullptr ? nodes->count() : 0,
        nodes != nullptr ? nodes->inner.size() : 0, nodes != nullptr ? nodes->outer.size() : 0);
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    text += fmt::format("  op {} on team {}: {}{}\n", i, ops[i].team, ops[i].describe(),
                        entries[i][0].after_all ? ", after all others" : "");
  }
  if (deviation) {
    text += fmt::format("  member {} calls op {} as: {}\n", deviation->member, deviation->op,
                        deviation->call.describe());
  }
  if (departure)
    text += fmt::format("  rank {} leaves at {} ns\n", departure->rank, departure->at_ns);
  return text;
}

}  // namespace espalier::swarm
