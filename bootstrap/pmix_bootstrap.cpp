#include "bootstrap/pmix_bootstrap.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "bootstrap/abort_process.hpp"
#include "bootstrap/pmix_client.hpp"
#include "bootstrap/pmix_events.hpp"
#include "bootstrap/pmix_exchange.hpp"
#include "core/open_files.hpp"

namespace espalier {
namespace {

std::string_view launcher_name(std::string_view job, const LauncherEnvironment& environment) {
  if (job.starts_with("esp-run")) return "pmix (esp-run)";
  if (job.starts_with("slurm")) return "pmix (slurm)";
  return environment.is_open_mpi ? "pmix (open mpi)" : "pmix";
}

Error cannot_join(pmix_status_t code) {
  Error result = pmix::failure("PMIx_Init", code);
  result.text +=
      "; PMIX_NAMESPACE is set, so a PMIx launcher started this process or one of its ancestors, "
      "but the launcher does not answer. If it has ended, unset the PMIX_ variables to run alone";
  // A PMIx client opens a dozen files and more, and does not say which of them it could not.
  constexpr rlim_t kFilesOfClient = 32;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kFilesOfClient) {
    result.text += open_files_hint(EMFILE);
  }
  return result;
}

Error joined_and_left() {
  return error(ESP_ERR_STATE,
               "this process has left its PMIx job, and a job cannot be joined twice one after the "
               "other; open the second one before closing the first");
}

}  // namespace

PmixBootstrap::PmixBootstrap(const pmix_proc_t& self, int size,
                             const LauncherEnvironment& environment)
    : self_(self),
      size_(size),
      name_(launcher_name(self.nspace, environment)),
      node_name_(pmix::launcher_text(self, PMIX_HOSTNAME).value_or("")),
      ranks_on_node_(static_cast<int>(
          pmix::launcher_number(pmix::whole_job(self), PMIX_LOCAL_SIZE).value_or(0))),
      node_rank_(
          static_cast<int>(pmix::launcher_number(self, PMIX_LOCAL_RANK).value_or(self.rank))),
      pid_(getpid()),
      deaths_(size),
      registration_(pmix::register_for_deaths(deaths_)) {}

Result<std::unique_ptr<Bootstrap>> PmixBootstrap::create(const LauncherEnvironment& environment) {
  if (environment.joined_before && PMIx_Initialized() == 0) return joined_and_left();
  pmix_proc_t self;
  {
    const PmixStorePreference hash_store;
    const pmix_status_t code = PMIx_Init(&self, nullptr, 0);
    // Nothing of PMIx may be called after this, not even PMIx_Finalize: it crashes.
    if (code != PMIX_SUCCESS) return cannot_join(code);
  }
  hide_launcher_from_children();

  const std::optional<std::uint32_t> size =
      pmix::launcher_number(pmix::whole_job(self), PMIX_JOB_SIZE);
  if (!size || self.rank >= *size) {
    PMIx_Finalize(nullptr, 0);
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the launcher gave rank {} but no job size above it", self.rank));
  }
  return std::unique_ptr<Bootstrap>(new PmixBootstrap(self, static_cast<int>(*size), environment));
}

PmixBootstrap::~PmixBootstrap() {
  if (is_usable() && registration_) pmix::deregister(*registration_);
}

bool PmixBootstrap::is_usable() const {
  return !closed_ && getpid() == pid_;
}

Outcome PmixBootstrap::check_usable(std::string_view call) const {
  if (is_usable()) return Unit{};
  return error(ESP_ERR_STATE, closed_
                                  ? fmt::format("{} after the job was left", call)
                                  : fmt::format("{} in a forked child of rank {}", call, rank()));
}

Result<std::vector<std::vector<std::byte>>> PmixBootstrap::exchange(
    std::span<const std::byte> card) {
  if (Outcome usable = check_usable("exchange"); !usable) return usable.error();
  Result<pmix::Cards> cards = pmix::exchange_cards(self_, size_, card);
  if (!cards) return name_the_dead(cards.error());
  return cards;
}

Outcome PmixBootstrap::barrier() {
  if (Outcome usable = check_usable("barrier"); !usable) return usable;
  const Result<pmix::FenceEnd> end = pmix::fence(self_, pmix::Fence::kBarrier);
  if (!end) return end.error();
  if (end.value() == pmix::FenceEnd::kComplete) return Unit{};
  return name_the_dead(error(ESP_ERR_PEER_DIED, "a rank ended while others waited in a barrier"));
}

Error PmixBootstrap::name_the_dead(Error failure) {
  constexpr std::chrono::milliseconds kReportLimit(500);
  const bool is_nameless =
      failure.status.code() == ESP_ERR_PEER_DIED && failure.status.rank() == kNoRank;
  if (!is_nameless || !registration_) return failure;
  if (const std::optional<Rank> dead = deaths_.first_within(kReportLimit)) {
    failure.status = Status(ESP_ERR_PEER_DIED, *dead);
    failure.text += fmt::format("; rank {} died", *dead);
  }
  return failure;
}

void PmixBootstrap::abort(int exit_code, std::string_view message) {
  print_abort_message(rank(), message);
  if (is_usable()) {
    PMIx_Abort(clamp_exit_code(exit_code), std::string(message).c_str(), nullptr, 0);
  }
  abort_process(exit_code);
}

std::vector<Rank> PmixBootstrap::poll_deaths() {
  return deaths_.take();
}

Outcome PmixBootstrap::close() {
  if (Outcome usable = check_usable("close"); !usable) return usable;
  if (registration_) pmix::deregister(*registration_);
  closed_ = true;
  const pmix_status_t code = PMIx_Finalize(nullptr, 0);
  if (code != PMIX_SUCCESS) return pmix::failure("PMIx_Finalize", code);
  return Unit{};
}

}  // namespace espalier
