#include "bootstrap/launcher_env.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace espalier {
namespace {

constexpr const char* kStoreVariable = "PMIX_MCA_gds";
// Holds the process id of the rank that joined; it tells the rank itself from its children.
constexpr const char* kJoinedVariable = "ESP_JOINED_BY_PROCESS";

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  const std::string_view view(text);
  int number = 0;
  const auto [end, code] = std::from_chars(view.data(), view.data() + view.size(), number);
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
  result.has_pmix = std::getenv("PMIX_NAMESPACE") != nullptr;
  result.joined_before = !result.has_pmix && joined_by == getpid();
  result.is_child_of_rank = joined_by != 0 && joined_by != getpid();
  result.is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  // Set by srun for the tasks of a step, not by sbatch or salloc for the script around it.
  result.slurm_tasks = number_in("SLURM_STEP_NUM_TASKS");
  result.pmi_size = number_in("PMI_SIZE");
  return result;
}

PmixStorePreference::PmixStorePreference() : was_set_(std::getenv(kStoreVariable) != nullptr) {
  if (!was_set_) setenv(kStoreVariable, "hash", 1);
}

PmixStorePreference::~PmixStorePreference() {
  if (!was_set_) unsetenv(kStoreVariable);
}

void hide_launcher_from_children() {
  std::vector<std::string> names;  // Collected first: unsetenv moves the entries of environ.
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view assignment(*entry);
    const std::string_view name = assignment.substr(0, assignment.find('='));
    if (is_address_of_launcher(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  setenv(kJoinedVariable, std::to_string(getpid()).c_str(), 1);
}

}  // namespace espalier
