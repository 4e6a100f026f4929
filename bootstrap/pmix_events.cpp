#include "bootstrap/pmix_events.hpp"

#include <pmix_common.h>

#include <array>
#include <semaphore>

namespace espalier::pmix {
namespace {

DeathLatch* latch_in(const pmix_info_t* infos, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) {
      return static_cast<DeathLatch*>(infos[i].value.data.ptr);
    }
  }
  return nullptr;
}

const pmix_proc_t* affected_in(const pmix_info_t* infos, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && infos[i].value.type == PMIX_PROC) {
      return infos[i].value.data.proc;
    }
  }
  return nullptr;
}

void on_death(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[],
              std::size_t info_count, pmix_info_t*, std::size_t,
              pmix_event_notification_cbfunc_fn_t done, void* done_context) {
  DeathLatch* latch = latch_in(infos, info_count);
  const pmix_proc_t* affected = affected_in(infos, info_count);
  if (latch != nullptr && affected != nullptr && affected->rank <= PMIX_RANK_VALID) {
    latch->latch(static_cast<Rank>(affected->rank));
  }
  // Other handlers, if the program has any, are to see the event too.
  if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, done_context);
}

void on_deregistered(pmix_status_t, void* gone) {
  static_cast<std::binary_semaphore*>(gone)->release();
}

}  // namespace

std::optional<std::size_t> register_for_deaths(DeathLatch& latch) {
  std::array codes{PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC};
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, &latch, PMIX_POINTER);
  // Without a callback the call waits and returns the registration or a (negative) error.
  const pmix_status_t result =
      PMIx_Register_event_handler(codes.data(), codes.size(), &info, 1, on_death, nullptr, nullptr);
  PMIX_INFO_DESTRUCT(&info);
  if (result < 0) return std::nullopt;
  return static_cast<std::size_t>(result);
}

void deregister(std::size_t registration) {
  // Waits for the confirmation: a handler that still runs uses the latch.
  std::binary_semaphore gone(0);
  const pmix_status_t code = PMIx_Deregister_event_handler(registration, on_deregistered, &gone);
  if (code == PMIX_SUCCESS) gone.acquire();
}

}  // namespace espalier::pmix
