#include "tools/esp-tune/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tools/esp-tune/call.hpp"
#include "tools/esp-tune/candidates.hpp"
#include "tools/esp-tune/race.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;

constexpr double kRunSeconds = 200e-6;  // of a batch: long against the clock and a barrier's skew
constexpr std::size_t kRoundsMin = 5, kFirstRounds = 9, kFinalRounds = 25;
constexpr std::size_t kFinalists = 2;

class Races {
 public:
  Races(esp_team* team, Collective collective, std::uint64_t bytes)
      : team_(team), call_(team, collective, bytes) {}

  void run(std::vector<Runner>& runners, double seconds, std::size_t rounds);

 private:
  void check(esp_status status) const {
    if (status == ESP_OK) return;
    throw std::runtime_error(fmt::format("{}: {}", esp_status_text(status), esp_team_error(team_)));
  }
  double run_once(Runner& runner, std::size_t calls);
  void warm_up(std::vector<Runner>& runners);
  // Times become those of the slowest rank.
  void agree(std::vector<double>& values) const {
    check(esp_allreduce(team_, ESP_IN_PLACE, values.data(), values.size(), ESP_DOUBLE, ESP_MAX));
  }

  esp_team* team_;
  Call call_;
  std::size_t batch_ = 1;
  unsigned round_ = 0;
};

// Seconds of a call, on this rank.
double Races::run_once(Runner& runner, std::size_t calls) {
  const bool rules = is_rules(runner.options);
  call_.rewrite(calls, round_++);
  check(esp_barrier(team_));
  const double begin = esp_time();
  for (std::size_t slot = 0; slot < calls && !runner.out; ++slot) {
    const esp_status status = call_.run(slot, rules ? nullptr : &runner.options);
    if (!rules && (status == ESP_ERR_ARGUMENT || status == ESP_ERR_UNSUPPORTED)) {
      runner.out = true;
    } else {
      check(status);
    }
  }
  return (esp_time() - begin) / static_cast<double>(calls);
}

// Makes the plans, finds how long a batch is, and leaves out what the library refuses or what is
// hopeless. The best of three: one disturbance must not decide.
void Races::warm_up(std::vector<Runner>& runners) {
  constexpr double kHopeless = 4;
  constexpr double kNever = std::numeric_limits<double>::max();
  std::vector<double> best(runners.size(), kNever);
  for (std::size_t k = 0; k < runners.size(); ++k) {
    run_once(runners[k], 1);
    for (int i = 0; i < 3 && !runners[k].out; ++i) {
      best[k] = std::min(best[k], run_once(runners[k], 1));
    }
  }
  agree(best);
  const double fastest = *std::min_element(best.begin(), best.end());
  for (std::size_t k = 1; k < runners.size(); ++k) {
    if (best[k] > kHopeless * fastest) runners[k].out = true;
  }
  const double fitting = std::min(kRunSeconds / std::max(best[0], 1e-9), 1e3);
  batch_ = std::clamp<std::size_t>(static_cast<std::size_t>(fitting), 1, call_.slots());
}

void Races::run(std::vector<Runner>& runners, double seconds, std::size_t rounds) {
  const double start = esp_time();
  warm_up(runners);
  const std::size_t count = runners.size();
  for (std::size_t done = 0; done < rounds;) {
    std::vector<double> values(count + 1, 0.0);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t turn = (k + done) % count;
      if (!runners[turn].out) values[turn] = run_once(runners[turn], batch_);
    }
    values[count] = esp_time() - start;
    agree(values);
    for (std::size_t k = 0; k < count; ++k) {
      if (!runners[k].out) runners[k].us.push_back(values[k] * 1e6);
    }
    if (++done >= 3) drop_slow(runners, done < kFirstRounds ? 2.0 : 1.3);
    if (values[count] > seconds && done >= kRoundsMin) return;
    if (values[count] > 4 * seconds && done >= 3) return;
  }
}

std::vector<Runner> runners_of(const std::vector<esp_coll_options>& candidates) {
  std::vector<Runner> runners;
  for (const esp_coll_options& options : candidates) {
    const auto same = [&](const Runner& other) { return is_same(other.options, options); };
    if (std::none_of(runners.begin(), runners.end(), same)) runners.push_back({options, {}, false});
  }
  return runners;
}

}  // namespace

Measured measure(esp_team* team, Collective collective, std::uint64_t bytes, double seconds) {
  const int ranks = esp_team_size(team);
  Races races(team, collective, bytes);
  std::vector<Runner> first = runners_of(first_candidates(collective, ranks));
  races.run(first, seconds / 2, kFirstRounds);

  // What wins a race of many may have been lucky: the final counts alone.
  std::vector<esp_coll_options> finalists = {ESP_COLL_OPTIONS_INIT};
  const std::vector<std::size_t> order = fastest_named(first);
  for (std::size_t k = 0; k < std::min(order.size(), kFinalists); ++k) {
    finalists.push_back(first[order[k]].options);
  }
  const std::size_t plain = finalists.size();
  for (std::size_t k = 0; k < plain; ++k) {
    const auto more = variations(collective, ranks, bytes, finalists[k]);
    finalists.insert(finalists.end(), more.begin(), more.end());
  }
  std::vector<Runner> last = runners_of(finalists);
  races.run(last, seconds / 2, kFinalRounds);

  const Verdict verdict = judge(last);
  const Runner& chosen = last[verdict.chosen];
  Measured measured{chosen.options, chosen.median(), {}, 0};
  if (verdict.next) {
    measured.next = short_name(last[*verdict.next].options);
    measured.next_us = last[*verdict.next].median();
  }
  return measured;
}

}  // namespace esp_tune
