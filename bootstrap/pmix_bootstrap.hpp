// The bootstrap of a rank of a PMIx launcher: esp-run, Open MPI's mpirun, srun --mpi=pmix.
//
// Takes little from PMIx: rank, size, the exchange of one card, fences, abort, reports of deaths.
// What the launchers disagree about (see docs/launching.md) travels in the cards. PMIx is one per
// process: objects of the same process share one membership. After a fork the child must not use
// it, and every function says so. Path: setup.
#pragma once

#include <pmix.h>
#include <sys/types.h>

#include <optional>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/death_latch.hpp"
#include "bootstrap/launcher_env.hpp"

namespace espalier {

class PmixBootstrap final : public Bootstrap {
 public:
  // Joins the launcher's job, then takes its address out of the environment.
  static Result<std::unique_ptr<Bootstrap>> create(const LauncherEnvironment& environment);
  // Leaves without a word when close() was not called: the launcher counts that as a failure.
  ~PmixBootstrap() override;

  int rank() const noexcept override { return static_cast<int>(self_.rank); }
  int size() const noexcept override { return size_; }
  std::string_view name() const noexcept override { return name_; }
  std::string job_id() const override { return self_.nspace; }
  std::string node_name() const override { return node_name_; }
  int ranks_on_node() const noexcept override { return ranks_on_node_; }
  int node_rank() const noexcept override { return node_rank_; }
  Result<std::vector<std::vector<std::byte>>> exchange(std::span<const std::byte> card) override;
  Outcome barrier() override;
  [[noreturn]] void abort(int exit_code, std::string_view message) override;
  std::vector<Rank> poll_deaths() override;
  Outcome close() override;

 private:
  PmixBootstrap(const pmix_proc_t& self, int size, const LauncherEnvironment& environment);

  // An error in a forked child and after close().
  Outcome check_usable(std::string_view call) const;
  bool is_usable() const;
  // Adds the rank that the launcher reports, if it reports deaths, to an error that names none.
  Error name_the_dead(Error failure);

  const pmix_proc_t self_;
  const int size_;
  const std::string_view name_;
  const std::string node_name_;
  const int ranks_on_node_, node_rank_;
  const pid_t pid_;
  DeathLatch deaths_;
  std::optional<std::size_t> registration_;  // Of the handler that fills deaths_.
  bool closed_ = false;
};

}  // namespace espalier
