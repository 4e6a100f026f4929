// Bootstrap: how the processes of a job find each other before any transport works.
//
// An interface without data. Implementations: PmixBootstrap (any PMIx launcher: esp-run, mpirun,
// srun --mpi=pmix), UserBootstrap (callbacks of a runtime), SingletonBootstrap. open_bootstrap()
// chooses. Cards are opaque here: what is in them is the business of the composition root. Threads:
// all functions on the thread that opened it; death events may arrive on any thread and are only
// latched. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier {

struct Config;

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // "pmix (esp-run)", "pmix (slurm)", "user", "singleton": for people.
  virtual std::string_view name() const noexcept = 0;
  // An identifier equal on all ranks and different between jobs (namespace of the launcher, or
  // drawn by rank 0).
  virtual std::string job_id() const = 0;
  // The launcher's name for this (possibly emulated) node; empty when it has none.
  virtual std::string node_name() const { return {}; }
  // How many ranks the launcher has put on this node; 0: it does not say.
  virtual int ranks_on_node() const noexcept { return 0; }
  // This rank's number among those; the rank where the launcher does not say.
  virtual int node_rank() const noexcept { return rank(); }
  // Exchanges one binary card per rank (sizes may differ); result in rank order. Called once,
  // first.
  virtual Result<std::vector<std::vector<std::byte>>> exchange(std::span<const std::byte> card) = 0;
  virtual Outcome barrier() = 0;
  // Does not return.
  [[noreturn]] virtual void abort(int exit_code, std::string_view message) = 0;
  // Ranks whose death the launcher reported since the last call (empty where it reports none). Any
  // thread may latch, the owner polls.
  virtual std::vector<Rank> poll_deaths() { return {}; }
  // Leaves the job in an orderly way; nothing else may be called after it.
  virtual Outcome close() = 0;
};

// Chooses: `user` when given, PMIx when the environment was made by a PMIx launcher, else a
// singleton; an error when the environment shows a parallel launcher without usable PMIx (srun
// --mpi=none, mpiexec of another MPI), naming the remedy.
Result<std::unique_ptr<Bootstrap>> open_bootstrap(const esp_bootstrap* user, const Config& config);

}  // namespace espalier
