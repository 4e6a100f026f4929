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

constexpr double kRunSeconds = 200e-6;   // of a batch: long against the clock and a barrier's skew
constexpr std::size_t kFirstRounds = 9;  // then the field is thinned out
struct Rounds {
  std::size_t least, most;
};

class Races {
 public:
  Races(esp_team* team, Collective collective, std::uint64_t bytes)
      : team_(team), call_(team, collective, bytes) {}

  // Seconds, equal on all.
  double run(std::vector<Runner>& runners, double seconds, Rounds rounds);

 private:
  void check(esp_status status) const {
    if (status == ESP_OK) return;
    throw std::runtime_error(fmt::format("{}: {}", esp_status_text(status), esp_team_error(team_)));
  }
  double run_once(Runner& runner, std::size_t calls);
  void warm_up(std::vector<Runner>& runners, double seconds);
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
  call_.rewrite(std::min(calls, call_.slots()), round_++);
  check(esp_barrier(team_));
  const double begin = esp_time();
  for (std::size_t slot = 0; slot < calls && !runner.out; ++slot) {
    const esp_status status = call_.run(slot % call_.slots(), rules ? nullptr : &runner.options);
    if (!rules && (status == ESP_ERR_ARGUMENT || status == ESP_ERR_UNSUPPORTED)) {
      runner.out = true;
    } else {
      check(status);
    }
  }
  return (esp_time() - begin) / static_cast<double>(calls);
}

// Makes the plans, finds how long a batch is, and leaves out what the library refuses or what is
// hopeless. The first try does not count where there is time for more, and of the others the best:
// one disturbance must not decide.
void Races::warm_up(std::vector<Runner>& runners, double seconds) {
  constexpr double kHopeless = 4;
  constexpr double kNever = std::numeric_limits<double>::max();
  const double start = esp_time();
  const std::size_t count = runners.size();
  std::vector<double> best(count, kNever);
  for (int tries = 0; tries < 4; ++tries) {
    std::vector<double> values(count + 1, kNever);
    for (std::size_t k = 0; k < count; ++k) {
      if (!runners[k].out) values[k] = run_once(runners[k], 1);
      if (runners[k].out) values[k] = kNever;  // refused
    }
    values[count] = esp_time() - start;
    agree(values);
    if (tries == 1) best.assign(count, kNever);
    for (std::size_t k = 0; k < count; ++k) best[k] = std::min(best[k], values[k]);
    if (values[count] > seconds) break;
  }
  const double fastest = *std::min_element(best.begin(), best.end());
  for (std::size_t k = 1; k < count; ++k) {
    if (best[k] > kHopeless * fastest) runners[k].out = true;
  }
  const double fitting = std::min(kRunSeconds / std::max(best[0], 1e-9), 1e3);
  batch_ = std::max<std::size_t>(static_cast<std::size_t>(fitting), 1);
}

double Races::run(std::vector<Runner>& runners, double seconds, Rounds rounds) {
  const double start = esp_time();
  warm_up(runners, seconds / 3);
  const std::size_t count = runners.size();
  std::vector<double> values(count + 1, 0.0);
  for (std::size_t done = 0; done < rounds.most;) {
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
    if (values[count] > seconds && done >= rounds.least) break;
  }
  return values[count];
}

std::vector<Runner> runners_of(const std::vector<esp_coll_options>& candidates) {
  std::vector<Runner> runners;
  for (const esp_coll_options& options : candidates) {
    const auto same = [&](const Runner& other) { return is_same(other.options, options); };
    if (std::none_of(runners.begin(), runners.end(), same)) runners.push_back({options, {}, false});
  }
  return runners;
}

// The rules, the fastest two, and these in variations; of few: the fastest one's variations.
std::vector<esp_coll_options> finalists_of(Collective collective, int ranks, std::uint64_t bytes,
                                           const std::vector<Runner>& first, bool few) {
  std::vector<std::size_t> order = fastest_named(first);
  order.resize(std::min<std::size_t>(order.size(), few ? 1 : 2));
  std::vector<esp_coll_options> finalists = {ESP_COLL_OPTIONS_INIT};
  for (const std::size_t k : order) finalists.push_back(first[k].options);
  std::vector<esp_coll_options> bases = finalists;
  if (few) {
    const bool named = !order.empty() && first[order[0]].median() < first[0].median();
    bases = {finalists[named ? 1 : 0]};
  }
  for (const esp_coll_options& base : bases) {
    const auto more = variations(collective, ranks, bytes, base);
    finalists.insert(finalists.end(), more.begin(), more.end());
  }
  return finalists;
}

}  // namespace

Measured measure(esp_team* team, Collective collective, std::uint64_t bytes, double seconds) {
  const int ranks = esp_team_size(team);
  Races races(team, collective, bytes);
  std::vector<Runner> first = runners_of(first_candidates(collective, ranks));
  const double spent = races.run(first, 0.4 * seconds, {5, kFirstRounds});
  const bool late = spent > 0.8 * seconds;
  std::vector<Runner> last = runners_of(finalists_of(collective, ranks, bytes, first, late));
  races.run(last, 0.4 * seconds, {5, 25});

  const Verdict verdict = judge(last);
  Measured measured{last[0].options, last[0].median(), {}, 0};
  if (verdict.next) {
    measured.next = short_name(last[*verdict.next].options);
    measured.next_us = last[*verdict.next].median();
  }
  if (verdict.chosen == 0) return measured;
  const esp_coll_options& winner = last[verdict.chosen].options;
  std::vector<Runner> pair = runners_of({ESP_COLL_OPTIONS_INIT, winner});
  races.run(pair, 0.2 * seconds, {9, 50});
  if (judge(pair).chosen == 1) {
    if (verdict.next == 0) measured.next_us = pair[0].median();
    return {winner, pair[1].median(), measured.next, measured.next_us};
  }
  return {pair[0].options, pair[0].median(), short_name(winner), last[verdict.chosen].median()};
}

}  // namespace esp_tune
