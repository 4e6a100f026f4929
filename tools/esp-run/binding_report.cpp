#include "binding_report.hpp"

#include <fmt/format.h>

#include <string_view>

namespace esp_run {

std::string binding_report(const JobPlan& plan) {
  std::string text;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const BindingPlace* place = plan.place_of(rank);
    const std::string where = place != nullptr ? "bound to " + place->name : "not bound";
    const std::string cpus = place != nullptr ? place->cpus : all_cpus(plan.topology.get());
    text += fmt::format("esp-run: rank {} on {}: {}, CPU{} {}\n", rank,
                        plan.node_names[static_cast<std::size_t>(plan.node_of(rank))], where,
                        cpus.find_first_of(",-") == std::string::npos ? "" : "s", cpus);
  }
  return text;
}

std::string crowding_note(const JobPlan& plan) {
  const Binding binding = plan.options.binding;
  const bool is_for_one = binding == Binding::kCore || binding == Binding::kHwthread;
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  if (!is_for_one || ranks <= plan.places.size()) return {};
  return fmt::format("--bind {0}: {1} ranks on {2} {0}{3}: some ranks share one",
                     binding_name(binding), ranks, plan.places.size(),
                     plan.places.size() == 1 ? "" : "s");
}

}  // namespace esp_run
