// What a launcher wrote into the environment, and the changes that joining its job needs there.
//
// Besides config_from_env.cpp, which reads it, the only place that touches the environment: PMIx
// hands over its address that way. Joining a job changes the environment of the process, so open
// jobs before starting threads that read it. Path: setup.
#pragma once

#include <optional>
#include <string>

#include "core/rank_state.hpp"

namespace espalier {

struct LauncherEnvironment {
  bool has_pmix = false;          // A PMIx launcher started this process.
  bool joined_before = false;     // This very process has opened its PMIx job already.
  bool is_child_of_rank = false;  // An ancestor was a rank and took the launcher's address away.
  bool is_open_mpi = false;       // The PMIx launcher is Open MPI's mpirun.
  int slurm_tasks = 0;            // Tasks of the srun that started this process; 0: no srun.
  int pmi_size = 0;               // Ranks according to an older PMI (MPICH, Intel MPI); 0: none.
};

LauncherEnvironment read_launcher_environment();

// Where the launcher keeps this rank's state, once: it is not for children of this process.
std::optional<RankStatePlace> take_rank_state_place();

// While alive, makes the libpmix that is about to initialise keep its data in the "hash" store: the
// default store (ds21) loses cards now and then and leaves large files. A choice made by the user
// wins.
class PmixStorePreference {
 public:
  PmixStorePreference();
  ~PmixStorePreference();
  PmixStorePreference(const PmixStorePreference&) = delete;
  PmixStorePreference& operator=(const PmixStorePreference&) = delete;

 private:
  bool was_set_;
};

// Takes the launcher's address out of the environment and leaves a mark. A program started by this
// process would otherwise join the job as the same rank and upset the launcher's accounting; so it
// is a job of its own.
void hide_launcher_from_children();

}  // namespace espalier
