#include "esp-bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "esp-bench/clock.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

double max_over_ranks(Backend& backend, double value) {
  backend.combine({&value, 1}, Combine::kMax);
  return value;
}

struct Interval {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

// A sample on this rank. The barrier is always the library's default.
Interval run_once(Backend& backend, Operation& operation, const Choice& choice, std::size_t calls,
                  unsigned round) {
  operation.rewrite(calls, round);
  backend.choose({});
  backend.barrier();
  backend.choose(choice);
  const std::int64_t begin = now_ns();
  operation.run(calls);
  const Interval timed{begin, now_ns()};
  operation.end_batch();
  return timed;
}

struct Plan {
  std::size_t batch;    // calls per sample
  std::size_t samples;  // that fit into the budget
};

// The best of three samples, by the slowest rank's clock: {timed part, all of it} in ms. One slow
// try must not shorten the batch of a whole row.
struct Cost {
  double timed_ms;
  double whole_ms;
};
Cost cost_of(Backend& backend, Operation& operation, const Choice& choice, std::size_t batch,
             const Options& options, unsigned& round) {
  Cost best{1e9, 1e9};
  for (int i = 0; i < 3; ++i) {
    const std::int64_t start = now_ns();
    const Interval t = run_once(backend, operation, choice, batch, round++);
    backend.choose({});
    double ms[2] = {static_cast<double>(t.end_ns - t.begin_ns) * 1e-6,
                    static_cast<double>(now_ns() - start) * 1e-6};
    backend.combine(ms, Combine::kMax);
    best = {std::min(best.timed_ms, ms[0]), std::min(best.whole_ms, ms[1])};
    if (ms[1] > options.budget_ms) break;
  }
  return best;
}

// Warm-up: doubles the batch until it fills the ring or a tenth of the budget. All ranks arrive at
// the same plan, because they go by the same numbers.
Plan warm_up(Backend& backend, Operation& operation, const Choice& choice, const Options& options,
             unsigned& round) {
  for (Plan plan{1, 1};; plan.batch = std::min(plan.batch * 2, operation.slots())) {
    const Cost cost = cost_of(backend, operation, choice, plan.batch, options, round);
    const auto fitting =
        static_cast<std::size_t>(options.budget_ms / std::max(cost.whole_ms, 1e-3));
    plan.samples = std::clamp(fitting, options.samples_min, options.samples_max);
    const bool long_enough = cost.timed_ms * 2.0 > options.budget_ms / 10.0;
    if (plan.batch == operation.slots() || long_enough) return plan;
  }
}

// Samples as planned, but no longer than about twice the budget on a machine that became slower.
std::vector<Interval> take_samples(Backend& backend, Operation& operation, const Choice& choice,
                                   const Plan& plan, const Options& options, unsigned& round) {
  const std::size_t part = std::max<std::size_t>(plan.samples / 8, 1);
  const std::int64_t start = now_ns();
  std::vector<Interval> samples;
  samples.reserve(plan.samples);
  while (samples.size() < plan.samples) {
    samples.push_back(run_once(backend, operation, choice, plan.batch, round++));
    if (samples.size() % part != 0 || samples.size() < options.samples_min) continue;
    backend.choose({});
    const double spent_ms = max_over_ranks(backend, static_cast<double>(now_ns() - start) * 1e-6);
    if (spent_ms > 2.0 * options.budget_ms) break;
  }
  return samples;
}

// The samples of all ranks put together: makespan and mean duration of each, in us per call.
struct Combined {
  std::vector<double> makespan_us;
  std::vector<double> mean_us;
};

Combined combine_samples(Backend& backend, const std::vector<Interval>& mine, bool takes_part,
                         bool shared_clock, double messages) {
  constexpr double kNever = -std::numeric_limits<double>::max();
  const std::size_t n = mine.size();
  // A second that all ranks agree on, so that nanoseconds from it are exact in a double.
  const std::int64_t my_second = mine.front().begin_ns / 1'000'000'000;
  const auto second =
      static_cast<std::int64_t>(max_over_ranks(backend, static_cast<double>(my_second)));
  const std::int64_t origin = second * 1'000'000'000;
  // [0, n): -begin, so that one maximum finds the first; [n, 2n): end.
  std::vector<double> edges(2 * n, kNever), durations(n, 0.0);
  for (std::size_t i = 0; takes_part && i < n; ++i) {
    const std::int64_t base = shared_clock ? origin : mine[i].begin_ns;
    edges[i] = -static_cast<double>(mine[i].begin_ns - base);
    edges[n + i] = static_cast<double>(mine[i].end_ns - base);
    durations[i] = static_cast<double>(mine[i].end_ns - mine[i].begin_ns);
  }
  double participants = takes_part ? 1.0 : 0.0;
  backend.combine(edges, Combine::kMax);
  backend.combine(durations, Combine::kSum);
  backend.combine({&participants, 1}, Combine::kSum);
  Combined combined;
  for (std::size_t i = 0; i < n; ++i) {
    combined.makespan_us.push_back((edges[n + i] + edges[i]) / messages * 1e-3);
    combined.mean_us.push_back(durations[i] / participants / messages * 1e-3);
  }
  return combined;
}

}  // namespace

Row refused_row(OpKind kind, std::size_t bytes, const Choice& choice, std::string why) {
  Row row;
  row.kind = kind;
  row.bytes = kind == OpKind::kBarrier ? 0 : bytes;
  row.choice = describe(choice);
  row.refusal = std::move(why);
  return row;
}

Row measure(Backend& backend, BufferMemory& memory, OpKind kind, std::size_t bytes,
            const Choice& choice, const Options& options, bool shared_clock) {
  Operation operation(backend, memory, kind, bytes, options);
  Row row = refused_row(kind, bytes, choice, operation.refusal());
  if (!row.refusal.empty()) return row;
  unsigned round = 1;
  const Plan plan = warm_up(backend, operation, choice, options, round);
  backend.choose({});
  row.refusal = backend.take_refusal();
  if (!row.refusal.empty()) return row;  // The same on all ranks: refusals depend on the call only.
  row.batch = plan.batch;
  const RunDelay delay;
  const std::vector<Interval> mine = take_samples(backend, operation, choice, plan, options, round);
  const double delay_share = delay.share();
  backend.choose({});
  const bool right = operation.verify(plan.batch);
  const double messages = static_cast<double>(plan.batch) * operation.messages_per_call();
  const Combined all =
      combine_samples(backend, mine, operation.takes_part(), shared_clock, messages);
  row.time_us = summarize(all.makespan_us);
  row.mean_rank_us = summarize(all.mean_us).median;
  row.run_delay_share = max_over_ranks(backend, delay_share);
  row.correct = max_over_ranks(backend, right ? 0.0 : 1.0) < 0.5;
  return row;
}

}  // namespace espalier::bench
