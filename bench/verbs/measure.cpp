#include "verbs/measure.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "esp-bench/statistics.hpp"
#include "verbs/talk.hpp"

namespace espalier::bench {

nlohmann::json counted(const Tally& before, const Tally& after, double segments) {
  const auto per_segment = [&](std::uint64_t was, std::uint64_t is) {
    return static_cast<double>(is - was) / segments;
  };
  const rdma::PortCounts &was = before.port, &is = after.port;
  return {{"doorbells", per_segment(was.doorbells, is.doorbells)},
          {"sends", per_segment(was.sends, is.sends)},
          {"send_completions", per_segment(was.send_completions, is.send_completions)},
          {"arrivals", per_segment(was.arrivals, is.arrivals)},
          {"refills", per_segment(was.refills, is.refills)},
          {"looks", per_segment(was.looks, is.looks)},
          {"packets", per_segment(before.packets_sent, after.packets_sent)},
          {"answers", per_segment(before.answers, after.answers)},
          {"repeated", per_segment(before.repeated, after.repeated)},
          {"copied_bytes", per_segment(before.copied_bytes, after.copied_bytes)},
          {"registrations", per_segment(before.registrations, after.registrations)},
          {"placed", per_segment(before.placed, after.placed)}};
}

nlohmann::json begin_row(End& end, const Task& task, const char* kind) {
  const char* over = end.connections() != nullptr ? "rc" : "ud";
  const bool known = task.memory == Memory::kRegistered && end.connections() != nullptr;
  return {{"task", kind},
          {"over", over},
          {"bytes", task.bytes},
          {"iterations", task.iterations},
          {"memory", known                            ? "registered"
                     : task.memory == Memory::kCached ? "cached"
                                                      : "copied"}};
}

nlohmann::json measure_latency(End& end, const Task& task) {
  Talk talk(end);
  Buffer out(end, task.bytes, task.memory), in(end, task.bytes, task.memory);
  const std::uint32_t warm_up = std::min(task.iterations / 4 + 1, 100U);
  const std::uint32_t rounds = task.iterations + warm_up;
  std::vector<std::uint64_t> times(rounds + 1);
  Receive receive;
  Sending send;
  Tally before;
  SegmentId next = talk.segment(Talk::next_flow(), kData);
  talk.receive(next, 1, receive, in.at(0), task.bytes);
  times[0] = end.now_ns();
  for (std::uint32_t i = 0; i < rounds; ++i) {
    if (i == warm_up) before = end.tally();
    stamp(out.at(0), task.bytes, i);
    const SegmentId current = std::exchange(next, talk.segment(Talk::next_flow(), kData));
    if (end.rank() == 0) talk.send(current, send, out.at(0), task.bytes);
    talk.wait(receive);
    require(stamped(in.at(0), task.bytes, i), "a message is damaged");
    if (i + 1 < rounds) talk.receive(next, 1, receive, in.at(0), task.bytes);
    if (end.rank() == 1) talk.send(current, send, out.at(0), task.bytes);
    talk.wait(send);
    times[i + 1] = end.now_ns();
  }
  const Tally after = end.tally();
  std::vector<double> half_us;
  for (std::uint32_t i = warm_up; i < rounds; ++i) {
    half_us.push_back(static_cast<double>(times[i + 1] - times[i]) * 0.5e-3);
  }
  const Tally there_before = talk.tell(kResult, before), there_after = talk.tell(kResult, after);
  const Summary summary = summarize(std::move(half_us));
  nlohmann::json result = begin_row(end, task, "latency");
  result["median_us"] = summary.median;
  result["p99_us"] = summary.p99;
  result["min_us"] = summary.min;
  result["first_us"] = static_cast<double>(times[1] - times[0]) * 1e-3;
  // Each side sends one segment per round.
  result["per_segment"] = counted(before, after, task.iterations);
  result["per_segment_peer"] = counted(there_before, there_after, task.iterations);
  return result;
}

namespace {

// `count` segments from rank 0 to rank 1, in the places of `ring` in turn.
void stream(End& end, Talk& talk, const Task& task, Buffer& ring, std::uint32_t count) {
  SegmentId segment = talk.segment(Talk::next_flow(), kData);
  segment.total = count;
  if (end.rank() == 0) {
    std::vector<Sending> ops(task.window);
    for (; segment.ordinal < count; ++segment.ordinal) {
      const std::uint32_t slot = segment.ordinal % task.window;
      talk.wait(ops[slot]);
      stamp(ring.at(slot * task.bytes), task.bytes, segment.ordinal);
      talk.send(segment, ops[slot], ring.at(slot * task.bytes), task.bytes);
    }
    for (const Sending& op : ops) talk.wait(op);
    return;
  }
  std::vector<Receive> ops(task.window);
  std::uint32_t posted = 0;
  for (std::uint32_t taken = 0; taken < count; ++taken) {
    for (; posted < std::min(count, taken + task.window); ++posted) {
      const std::uint32_t slot = posted % task.window;
      segment.ordinal = posted;
      talk.receive(segment, task.window, ops[slot], ring.at(slot * task.bytes), task.bytes);
    }
    const std::uint32_t slot = taken % task.window;
    talk.wait(ops[slot]);
    require(stamped(ring.at(slot * task.bytes), task.bytes, taken), "a segment is damaged");
  }
}

}  // namespace

nlohmann::json measure_bandwidth(End& end, const Task& task) {
  Talk talk(end);
  Buffer ring(end, task.bytes * task.window, task.memory);
  talk.connect();
  stream(end, talk, task, ring, task.window);  // the cache of registrations knows its places now
  (void)talk.tell(kReady, 0);
  const Tally before = end.tally();
  const std::uint64_t begin_ns = end.now_ns();
  stream(end, talk, task, ring, task.iterations);
  (void)talk.tell(kReady, 0);
  const double seconds = static_cast<double>(end.now_ns() - begin_ns) * 1e-9;
  const Tally after = end.tally();
  const Tally there_before = talk.tell(kResult, before), there_after = talk.tell(kResult, after);
  nlohmann::json result = begin_row(end, task, "bandwidth");
  result["window"] = task.window;
  result["mib_per_s"] = static_cast<double>(task.bytes) * task.iterations / seconds / (1 << 20);
  result["per_segment"] = counted(before, after, task.iterations);
  result["per_segment_peer"] = counted(there_before, there_after, task.iterations);
  return result;
}

}  // namespace espalier::bench
