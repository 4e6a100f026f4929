#include "tools/esp-sim/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/esp-sim/report.hpp"

namespace esp_sim {
namespace {

using espalier::sim::TransferRecord;
using espalier::sim::WorkRecord;

// Steps shown one by one at either end of a long path.
constexpr std::size_t kShownAtEitherEnd = 20;

bool taken_before(const TransferRecord& a, const TransferRecord& b) {
  return a.taken_ns < b.taken_ns;
}

const std::string& level_name(const espalier::sim::Machine& machine, const Step& step) {
  return machine.levels.at(step.transfer.level).name;
}

struct Totals {
  std::uint64_t sender = 0, queue = 0, network = 0, receiver = 0;

  void add(const Step& step) {
    sender += step.sender_ns;
    queue += step.queue_ns;
    network += step.network_ns;
    receiver += step.receiver_ns;
  }
};

// By rank, in order of time.
using Work = std::vector<std::vector<WorkRecord>>;

std::uint64_t worked_ns(const Work& work, int rank, std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (static_cast<std::size_t>(rank) >= work.size()) return 0;
  const auto& own = work[static_cast<std::size_t>(rank)];
  auto at = std::partition_point(own.begin(), own.end(),
                                 [&](const WorkRecord& w) { return w.end_ns <= begin_ns; });
  std::uint64_t sum = 0;
  for (; at != own.end() && at->begin_ns < end_ns; ++at) {
    sum += std::min(at->end_ns, end_ns) - std::max(at->begin_ns, begin_ns);
  }
  return sum;
}

// What processors worked of the kinds that are not network.
Totals worked_on(const std::vector<Step>& path, const std::vector<WorkRecord>& records) {
  Work work;
  for (const WorkRecord& record : records) {
    const auto rank = static_cast<std::size_t>(record.rank);
    if (rank >= work.size()) work.resize(rank + 1);
    work[rank].push_back(record);
  }
  Totals busy;
  for (const Step& step : path) {
    const TransferRecord& t = step.transfer;
    busy.sender += worked_ns(work, t.from, t.posted_ns - step.sender_ns, t.posted_ns);
    busy.queue += worked_ns(work, t.from, t.posted_ns, t.started_ns);
    busy.receiver += worked_ns(work, t.to, t.arrived_ns, t.taken_ns);
  }
  return busy;
}

std::string line_of(const espalier::sim::Machine& machine, const Step& step) {
  const TransferRecord& t = step.transfer;
  return fmt::format("{:>12}  {:>7} -> {:<7} #{:<5} {:<8} {:>12} {:>12} {:>12} {:>12}\n",
                     time_text(t.taken_ns), t.from, t.to, t.ordinal, level_name(machine, step),
                     time_text(step.sender_ns), time_text(step.queue_ns),
                     time_text(step.network_ns), time_text(step.receiver_ns));
}

// The lane of a level, in words.
std::string lane_text(const espalier::sim::Machine& machine, std::size_t level) {
  const std::uint32_t lane = machine.levels[level].lane;
  if (lane == 0) return "no shared lane";
  const auto& shared = machine.lanes[lane - 1];
  return fmt::format("lane {}, one per {}", shared.name, shared.per);
}

std::string by_level(const std::vector<Step>& path, const espalier::sim::Machine& machine) {
  std::string text;
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    Totals totals;
    std::size_t steps = 0;
    for (const Step& step : path) {
      if (step.transfer.level != level) continue;
      totals.add(step);
      ++steps;
    }
    if (steps == 0) continue;
    text += fmt::format("  {:<8} {:>5} transfers: {} under way, {} posted and not started ({})\n",
                        machine.levels[level].name, steps, time_text(totals.network),
                        time_text(totals.queue), lane_text(machine, level));
  }
  return text;
}

}  // namespace

bool has_ended(const TransferRecord& t) {
  return t.posted_ns <= t.started_ns && t.started_ns <= t.arrived_ns && t.arrived_ns <= t.taken_ns;
}

std::vector<Step> critical_path(const std::vector<TransferRecord>& transfers) {
  // By receiver, in the order in which it handled them.
  std::vector<std::vector<TransferRecord>> taken;
  const TransferRecord* last = nullptr;
  for (const TransferRecord& transfer : transfers) {
    if (!has_ended(transfer)) continue;
    const auto to = static_cast<std::size_t>(transfer.to);
    if (to >= taken.size()) taken.resize(to + 1);
    taken[to].push_back(transfer);
    if (last == nullptr || taken_before(*last, transfer)) last = &transfer;
  }
  std::vector<Step> path;
  if (last == nullptr) return path;
  for (auto& list : taken) std::stable_sort(list.begin(), list.end(), taken_before);

  TransferRecord at = *last;
  while (true) {
    Step step{.transfer = at,
              .sender_ns = at.posted_ns,
              .queue_ns = at.started_ns - at.posted_ns,
              .network_ns = at.arrived_ns - at.started_ns,
              .receiver_ns = at.taken_ns - at.arrived_ns};
    path.push_back(step);
    const auto from = static_cast<std::size_t>(at.from);
    if (from >= taken.size()) break;
    // The last arrival that the sender had handled when it posted.
    const auto& before = taken[from];
    const auto later = std::upper_bound(
        before.begin(), before.end(), at.posted_ns,
        [](std::uint64_t time, const TransferRecord& other) { return time < other.taken_ns; });
    if (later == before.begin()) break;
    at = *(later - 1);
    path.back().sender_ns -= at.taken_ns;
    // Without latency and overhead two ranks could answer each other in no time, without end.
    if (path.size() > transfers.size()) break;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::string explain(const std::vector<Step>& path, const std::vector<WorkRecord>& work,
                    const espalier::sim::Machine& machine, std::uint64_t done_ns) {
  if (path.empty()) return "critical path: no transfer happened\n";
  Totals totals;
  for (const Step& step : path) totals.add(step);
  const Totals busy = worked_on(path, work);
  const std::uint64_t end = path.back().transfer.taken_ns;
  std::string text = fmt::format("critical path: {} transfers, {}\n", path.size(), time_text(end));
  const auto share = [&](const char* what, std::uint64_t ns) {
    const double percent =
        done_ns > 0 ? 100.0 * static_cast<double>(ns) / static_cast<double>(done_ns) : 0.0;
    text += fmt::format("  {:>12}  {:4.1f} %  {}\n", time_text(ns), percent, what);
  };
  share("under way", totals.network);
  share("posted, waiting for a lane or in a detour of the sender", totals.queue - busy.queue);
  share("not yet posted: windows or detours of the sender", totals.sender - busy.sender);
  share("arrived, the receiver in a detour or not there", totals.receiver - busy.receiver);
  share("work of the sender, and detours in it", busy.queue + busy.sender);
  share("work of the receiver, and detours in it", busy.receiver);
  if (done_ns > end) share("after the last transfer", done_ns - end);
  text += by_level(path, machine);
  text += fmt::format("{:>12}  {:>7}    {:<7} {:<6} {:<8} {:>12} {:>12} {:>12} {:>12}\n", "handled",
                      "from", "to", "segm.", "level", "sender", "queue", "network", "receiver");
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_shown = i < kShownAtEitherEnd || i + kShownAtEitherEnd >= path.size();
    if (is_shown) text += line_of(machine, path[i]);
    if (i == kShownAtEitherEnd && !is_shown) {
      text += fmt::format("{:>12}  {} more\n", "...", path.size() - 2 * kShownAtEitherEnd);
    }
  }
  return text;
}

}  // namespace esp_sim
