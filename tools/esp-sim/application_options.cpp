#include "tools/esp-sim/application_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "core/config_value.hpp"
#include "net/sim/duration.hpp"
#include "net/sim/machine_values.hpp"
#include "tools/esp-sim/names.hpp"

namespace esp_sim {
namespace {

using espalier::error;
using espalier::Outcome;
using espalier::Result;
using espalier::Unit;
using espalier::sim::Consuming;
using espalier::sim::Overlap;

constexpr std::uint32_t kGroupMax = 1u << 24;
constexpr double kTimesMax = 1e6;

template <typename Enum>
Enum enum_at(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

bool overlaps(const Scenario& scenario) {
  return scenario.application.overlap != Overlap::kOff;
}
bool groups(const Scenario& scenario) {
  return scenario.application.consuming == Consuming::kPartial;
}
bool consumes(const Scenario& scenario) {
  return scenario.application.consuming != Consuming::kOff;
}

// As product(), of those scenarios alone to which the option means something.
template <typename Value, typename Set>
std::vector<Scenario> product_where(const std::vector<Scenario>& scenarios,
                                    bool (*means_something)(const Scenario&),
                                    const std::vector<Value>& values, Set set) {
  std::vector<Scenario> all;
  for (const Scenario& scenario : scenarios) {
    if (!means_something(scenario)) {
      all.push_back(scenario);
      continue;
    }
    const std::vector<Scenario> some = product(std::vector{scenario}, values, set);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// An option without those that give it a meaning.
Outcome check_meaning(const ApplicationAxes& axes, const std::vector<Scenario>& scenarios) {
  const auto any = [&](bool (*is)(const Scenario&)) {
    return std::any_of(scenarios.begin(), scenarios.end(), is);
  };
  const auto refuse = [](const char* text) { return error(ESP_ERR_ARGUMENT, text); };
  if (!axes.works.empty() && !any(overlaps)) {
    return refuse("--work: nothing is computed without --overlap none, thread or shared");
  }
  if (any(consumes) && axes.consume.empty()) {
    return refuse("--consumer needs --consume RATE, as 2GB/s: how fast it goes through its bytes");
  }
  if (!any(consumes) && (!axes.consume.empty() || axes.merges)) {
    return refuse("--consume and --merge: there is no consumer without --consumer");
  }
  if (!axes.groups.empty() && !any(groups)) {
    return refuse("--groups: only --consumer partial works on groups");
  }
  return Unit{};
}

Outcome apply_works(const ApplicationAxes& axes, std::vector<Scenario>& scenarios) {
  std::vector<Computation> works;
  for (const std::string& text : axes.works) {
    auto work = parse_work(text);
    if (!work) return work.error();
    works.push_back(work.value());
  }
  if (works.empty()) works.emplace_back();
  scenarios = product_where(scenarios, overlaps, works,
                            [](Scenario& s, const Computation& work) { s.work = work; });
  return Unit{};
}

Outcome apply_consumer(const ApplicationAxes& axes, std::vector<Scenario>& scenarios) {
  if (axes.consume.empty()) return Unit{};
  const auto rate = parse_rate(axes.consume);
  if (!rate) return rate.error();
  for (Scenario& scenario : scenarios) {
    if (!consumes(scenario)) continue;
    scenario.consume = axes.consume;
    scenario.application.ns_per_byte = rate.value();
    scenario.application.merges = axes.merges;
  }
  const auto sizes = axes.groups.empty() ? std::vector<std::uint32_t>{1} : axes.groups;
  scenarios = product_where(scenarios, groups, sizes,
                            [](Scenario& s, std::uint32_t size) { s.application.group = size; });
  return Unit{};
}

}  // namespace

void add_application_options(CLI::App& app, ApplicationAxes& axes) {
  const std::string group = "Application beside the operation (lists: all combinations are run)";
  const auto list = [&](CLI::Option* option) { option->delimiter(',')->group(group); };
  list(app.add_option("--overlap", axes.overlaps,
                      "each rank starts the operation, computes, and waits. none: no progress "
                      "meanwhile; thread: by a thread on another core; shared: on the same core")
           ->check(CLI::IsMember(overlap_names())));
  list(app.add_option("--work", axes.works,
                      "how long it computes: 100us, or 1x: as long as the operation alone takes"));
  list(app.add_option("--consumer", axes.consumers,
                      "works on what the operation delivers, on a core that is not the library's: "
                      "after its end, or on groups of blocks as they land")
           ->check(CLI::IsMember(consumer_names())));
  app.add_option("--consume", axes.consume, "bytes per second that the consumer works on, as 2GB/s")
      ->group(group);
  app.add_flag("--merge", axes.merges,
               "it merges: n blocks together cost log2(n) times their bytes")
      ->group(group);
  list(app.add_option("--groups", axes.groups, "blocks of a group, of --consumer partial")
           ->check(CLI::Range(1u, kGroupMax)));
}

Outcome apply(const ApplicationAxes& axes, std::vector<Scenario>& scenarios) {
  using Text = const std::string&;
  scenarios = product(scenarios, axes.overlaps, [](Scenario& s, Text v) {
    s.application.overlap = enum_at<Overlap>(overlap_names(), v);
  });
  scenarios = product(scenarios, axes.consumers, [](Scenario& s, Text v) {
    s.application.consuming = enum_at<Consuming>(consumer_names(), v);
  });
  if (Outcome outcome = check_meaning(axes, scenarios); !outcome) return outcome;
  if (Outcome outcome = apply_works(axes, scenarios); !outcome) return outcome;
  return apply_consumer(axes, scenarios);
}

Outcome check_application(const Scenario& scenario) {
  if (!scenario.application.any()) return Unit{};
  const auto refuse = [](const char* text) { return error(ESP_ERR_ARGUMENT, text); };
  const bool has_chance = scenario.noise.share() > 0 || scenario.faults.any();
  if (has_chance) {
    return refuse(
        "--overlap and --consumer are without --noise and --faults: these are about the one core "
        "of a rank that the library has");
  }
  if (scenario.calls > 1)
    return refuse("--overlap and --consumer are about one call, not --repeat");
  const bool shares = scenario.application.overlap == Overlap::kNone ||
                      scenario.application.overlap == Overlap::kShared;
  if (consumes(scenario) && shares) {
    return refuse(
        "--consumer needs a core that is not the library's: --overlap off or thread beside it");
  }
  if (consumes(scenario) && scenario.operation == espalier::Collective::kBarrier) {
    return refuse("--consumer: a barrier delivers nothing");
  }
  return Unit{};
}

Result<Computation> parse_work(std::string_view text) {
  Computation work;
  const bool is_factor = !text.empty() && text.back() == 'x';
  const auto factor =
      is_factor ? espalier::parse_number(text.substr(0, text.size() - 1)) : std::optional<double>();
  const auto time = espalier::sim::parse_duration(text);
  if (factor && *factor >= 0 && *factor <= kTimesMax) {
    work.times = *factor;
  } else if (!is_factor && time) {
    work.is_relative = false;
    work.ns = *time;
  } else {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("--work: \"{}\" is neither a time, as 100us, nor a multiple of the "
                             "operation's, as 1.5x",
                             text));
  }
  return work;
}

std::string to_text(const Computation& work) {
  return work.is_relative ? fmt::format("{}x", work.times)
                          : espalier::sim::format_duration(work.ns);
}

Result<double> parse_rate(std::string_view text) {
  const std::size_t unit = text.find_first_of("BkMGT");
  std::string spaced(text);
  if (unit != std::string_view::npos && unit > 0) spaced.insert(unit, " ");
  const auto rate = espalier::sim::parse_ns_per_byte(spaced);
  if (rate) return *rate;
  return error(ESP_ERR_ARGUMENT,
               fmt::format("--consume: \"{}\" is not a rate, as 2GB/s or 500MB/s", text));
}

}  // namespace esp_sim
