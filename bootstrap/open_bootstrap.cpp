// The choice among the bootstraps, and the explanation when a launcher does not fit. Path: setup.
#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launcher_env.hpp"
#include "bootstrap/pmix_bootstrap.hpp"
#include "bootstrap/singleton_bootstrap.hpp"
#include "bootstrap/user_bootstrap.hpp"
#include "core/config.hpp"

namespace espalier {
namespace {

// Without this check each process would silently become a job of one rank.
Outcome check_for_launcher_without_pmix(const LauncherEnvironment& environment) {
  // srun --mpi=pmi2 sets PMI_SIZE as well, so Slurm comes first. Its variables reach the programs
  // that a rank starts, which are jobs of their own.
  if (environment.slurm_tasks > 1 && !environment.is_child_of_rank) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("srun started {} tasks without PMIx, so they cannot find each other; "
                             "use 'srun --mpi=pmix' ('srun --mpi=list' shows whether it is "
                             "installed) or 'esp-run' within the allocation",
                             environment.slurm_tasks));
  }
  if (environment.slurm_tasks == 0 && environment.pmi_size > 1) {
    return error(
        ESP_ERR_BOOTSTRAP,
        fmt::format("a launcher that speaks PMI-1 or PMI-2 (mpiexec of MPICH or Intel MPI) "
                    "started {} processes, and this library needs PMIx; start them with "
                    "'esp-run -n {}', Open MPI's 'mpirun' or 'srun --mpi=pmix'",
                    environment.pmi_size, environment.pmi_size));
  }
  return Unit{};
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_bootstrap(const esp_bootstrap* user, const Config& config) {
  if (user != nullptr) return UserBootstrap::create(*user);
  if (config.bootstrap == BootstrapKind::kSingleton) return SingletonBootstrap::create();
  const LauncherEnvironment environment = read_launcher_environment();
  if (environment.has_pmix || environment.joined_before) return PmixBootstrap::create(environment);
  if (config.bootstrap == BootstrapKind::kPmix) {
    return error(ESP_ERR_BOOTSTRAP,
                 "BOOTSTRAP=pmix was asked for, but no PMIx launcher started this process "
                 "(PMIX_NAMESPACE is not set)");
  }
  if (Outcome fits = check_for_launcher_without_pmix(environment); !fits) return fits.error();
  return SingletonBootstrap::create();
}

}  // namespace espalier
