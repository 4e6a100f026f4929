#include "bootstrap/launcher_env.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bootstrap/config_from_env.hpp"

namespace espalier {
namespace {

constexpr const char* kStoreVariable = "PMIX_MCA_gds";
// Holds the process id of the rank that joined; it tells the rank itself from its children.
constexpr const char* kJoinedVariable = "ESP_JOINED_BY_PROCESS";

int number_in(const char* variable) {
  const std::string text = environment_value(variable).value_or("");
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && number > 0 ? number : 0;
}

// Settings of the user (PMIX_MCA_...) stay; what the launcher wrote for this one process goes.
bool is_address_of_launcher(std::string_view variable) {
  return variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_");
}

}  // namespace

LauncherEnvironment read_launcher_environment() {
  LauncherEnvironment result;
  const int joined_by = number_in(kJoinedVariable);
  result.has_pmix = environment_value("PMIX_NAMESPACE").has_value();
  result.joined_before = !result.has_pmix && joined_by == getpid();
  result.is_child_of_rank = joined_by != 0 && joined_by != getpid();
  result.is_open_mpi = environment_value("OMPI_COMM_WORLD_SIZE").has_value();
  // Set by srun for the tasks of a step, not by sbatch or salloc for the script around it.
  result.slurm_tasks = number_in("SLURM_STEP_NUM_TASKS");
  result.pmi_size = number_in("PMI_SIZE");
  return result;
}

std::optional<RankStatePlace> take_rank_state_place() {
  const std::optional<std::string> text = environment_value(RankStatePlace::kVariable);
  if (!text) return std::nullopt;
  unsetenv(RankStatePlace::kVariable);
  RankStatePlace place;
  const char* const end = text->data() + text->size();
  auto read = std::from_chars(text->data(), end, place.descriptor);
  if (read.ec != std::errc() || read.ptr == end) return std::nullopt;
  read = std::from_chars(read.ptr + 1, end, place.index);
  if (read.ec != std::errc() || read.ptr == end) return std::nullopt;
  read = std::from_chars(read.ptr + 1, end, place.nonce, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return place;
}

PmixStorePreference::PmixStorePreference()
    : was_set_(environment_value(kStoreVariable).has_value()) {
  if (!was_set_) setenv(kStoreVariable, "hash", 1);
}

PmixStorePreference::~PmixStorePreference() {
  if (!was_set_) unsetenv(kStoreVariable);
}

void hide_launcher_from_children() {
  for (const std::string& assignment : environment_snapshot()) {
    const std::string name = assignment.substr(0, assignment.find('='));
    if (is_address_of_launcher(name)) unsetenv(name.c_str());
  }
  setenv(kJoinedVariable, std::to_string(getpid()).c_str(), 1);
}

}  // namespace espalier
