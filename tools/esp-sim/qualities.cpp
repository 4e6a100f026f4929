// What distinguishes scenarios, by name: columns of tables, axes and legends of plots.
#include <fmt/format.h>

#include <algorithm>

#include "core/config_value.hpp"
#include "tools/esp-sim/application_options.hpp"
#include "tools/esp-sim/names.hpp"
#include "tools/esp-sim/options.hpp"

namespace esp_sim {
namespace {

using S = const Scenario&;

// Of what 0 means "the library's choice".
std::string number_or_auto(std::uint64_t value) {
  return value == 0 ? "auto" : espalier::format_size(value);
}

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

// What has no meaning without another option.
std::string work_text(S s) {
  return s.application.overlap == espalier::sim::Overlap::kOff ? "off" : to_text(s.work);
}
std::string consume_text(S s) {
  if (s.application.consuming == espalier::sim::Consuming::kOff) return "off";
  return s.consume + (s.application.merges ? " merged" : "");
}
bool has_groups(S s) {
  return s.application.consuming == espalier::sim::Consuming::kPartial;
}

}  // namespace

const std::vector<Quality>& qualities() {
  static const std::vector<Quality> list = {
      {"machine", "machine", [](S s) { return s.machine; }, nullptr},
      {"operation", "operation",
       [](S s) { return std::string(espalier::collective_name(s.operation)); }, nullptr},
      {"bytes", "message size (bytes)", [](S s) { return espalier::format_size(s.bytes); },
       [](S s) { return as_double(s.bytes); }, true},
      {"ranks", "ranks", [](S s) { return fmt::format("{}", s.ranks); },
       [](S s) { return as_double(s.ranks); }, true},
      {"ranks_per_node", "ranks per node",
       [](S s) { return s.ranks_per_node == 0 ? "full" : fmt::format("{}", s.ranks_per_node); },
       [](S s) { return as_double(s.ranks_per_node); }},
      {"placement", "placement", [](S s) { return name_of(s.placement); }, nullptr},
      {"algorithm", "algorithm", [](S s) { return name_of(s.options.algorithm); }, nullptr},
      {"shape", "shape", [](S s) { return name_of(s.options.shape); }, nullptr},
      {"levels", "levels",
       [](S s) { return s.levels ? name_of(*s.levels) + " levels" : std::string("none"); },
       nullptr},
      {"multicast", "multicast", [](S s) { return name_of(s.multicast); }, nullptr, false, true},
      {"devices", "devices", [](S s) { return name_of(s.staging); }, nullptr, false, true},
      {"device_reduce", "device reduce", [](S s) { return name_of(s.reducer); }, nullptr, false,
       true},
      {"radix", "radix", [](S s) { return number_or_auto(as_unsigned(s.options.radix)); },
       [](S s) { return as_double(as_unsigned(s.options.radix)); }},
      {"segment", "segment (bytes)", [](S s) { return number_or_auto(s.options.segment_bytes); },
       [](S s) { return as_double(s.options.segment_bytes); }, true},
      {"window_send", "send window N",
       [](S s) { return number_or_auto(as_unsigned(s.options.window_send)); },
       [](S s) { return as_double(as_unsigned(s.options.window_send)); }},
      {"window_recv", "receive window M",
       [](S s) { return number_or_auto(as_unsigned(s.options.window_recv)); },
       [](S s) { return as_double(as_unsigned(s.options.window_recv)); }},
      {"eager", "segments without permission", [](S s) { return fmt::format("{}", s.eager); },
       [](S s) { return as_double(s.eager); }},
      {"variant", "variant", [](S s) { return name_of(s.options.variant); }, nullptr},
      {"noise_every", "noise on every k-th rank",
       [](S s) { return s.noise_every == 1 ? "all" : fmt::format("{}", s.noise_every); },
       [](S s) { return as_double(s.noise_every); }},
      {"noise", "noise (% of the processor)", [](S s) { return to_text(s.noise); },
       [](S s) { return 100.0 * s.noise.share(); }},
      {"overlap", "overlap", [](S s) { return name_of(s.application.overlap); }, nullptr, false,
       true},
      {"work", "work", work_text, nullptr, false, true},
      {"consumer", "consumer", [](S s) { return name_of(s.application.consuming); }, nullptr, false,
       true},
      {"consume", "consume", consume_text, nullptr, false, true},
      {"groups", "blocks of a group",
       [](S s) { return has_groups(s) ? fmt::format("{}", s.application.group) : "off"; },
       [](S s) { return has_groups(s) ? as_double(s.application.group) : 0; }},
  };
  return list;
}

std::vector<const Quality*> varying(const std::vector<Scenario>& scenarios) {
  std::vector<const Quality*> some;
  for (const Quality& quality : qualities()) {
    const bool is_same = std::all_of(scenarios.begin(), scenarios.end(), [&](S scenario) {
      return quality.text(scenario) == quality.text(scenarios.front());
    });
    if (!is_same) some.push_back(&quality);
  }
  return some;
}

}  // namespace esp_sim
