#include "pmix_upcalls.hpp"

#include <cstdlib>
#include <utility>

namespace esp_run {
namespace {

// Written once before libpmix starts its threads, read by them.
Mailbox* the_mailbox = nullptr;

Frame frame_about(FrameKind kind, const pmix_proc_t* process) {
  Frame frame;
  frame.kind = kind;
  frame.rank = static_cast<std::int32_t>(process->rank);
  return frame;
}

pmix_status_t on_connected(const pmix_proc_t* process, void*, pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t, void*) {
  the_mailbox->put({frame_about(FrameKind::kConnected, process)});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* process, void*, pmix_op_cbfunc_t, void*) {
  the_mailbox->put({frame_about(FrameKind::kFinalized, process)});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* process, void*, int status, const char message[],
                       pmix_proc_t*, std::size_t, pmix_op_cbfunc_t done, void* context) {
  Frame frame = frame_about(FrameKind::kAbort, process);
  frame.status = status;
  if (message != nullptr) frame.payload = message;
  the_mailbox->put({std::move(frame)});
  // The rank may leave by itself; whoever does not is ended by the root.
  if (done != nullptr) done(PMIX_SUCCESS, context);
  return PMIX_SUCCESS;
}

// Whether a local participant died before all of them had called.
FenceStatus local_status(const pmix_info_t infos[], std::size_t info_count) {
  for (std::size_t i = 0; i < info_count; ++i) {
    if (!PMIX_CHECK_KEY(&infos[i], PMIX_LOCAL_COLLECTIVE_STATUS)) continue;
    const bool is_complete = infos[i].value.data.status == PMIX_SUCCESS;
    return is_complete ? FenceStatus::kComplete : FenceStatus::kPartial;
  }
  return FenceStatus::kComplete;
}

pmix_status_t on_fence(const pmix_proc_t processes[], std::size_t process_count,
                       const pmix_info_t infos[], std::size_t info_count, char* data,
                       std::size_t bytes, pmix_modex_cbfunc_t answer, void* context) {
  std::vector<std::int32_t> ranks;
  for (std::size_t i = 0; i < process_count; ++i) {
    if (processes[i].rank == PMIX_RANK_WILDCARD) {
      ranks.clear();
      break;
    }
    ranks.push_back(static_cast<std::int32_t>(processes[i].rank));
  }
  Upcall upcall{.answer = answer, .context = context};
  upcall.frame.kind = FrameKind::kFence;
  upcall.frame.status = static_cast<std::int32_t>(local_status(infos, info_count));
  upcall.frame.payload = pack_fence(ranks, data, bytes);
  // PMIx 4 leaves the data to its host (pmix_server_fence of 4.2.2 unloads its buffer into it and
  // forgets it); whether later ones do was not checked, and a leak is better than a double free.
  if constexpr (PMIX_VERSION_MAJOR == 4) std::free(data);
  the_mailbox->put(std::move(upcall));
  return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t* process, const pmix_info_t*, std::size_t,
                        pmix_modex_cbfunc_t answer, void* context) {
  // No node holds data of "all ranks".
  if (process->rank > PMIX_RANK_VALID) return PMIX_ERR_NOT_FOUND;
  the_mailbox->put({frame_about(FrameKind::kLookup, process), answer, context});
  return PMIX_SUCCESS;
}

// Deaths are reported to everybody on the node; nothing needs to be remembered per registration.
pmix_status_t on_register_events(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t,
                                 pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

}  // namespace

pmix_server_module_t pmix_upcalls(Mailbox& mailbox) {
  the_mailbox = &mailbox;
  pmix_server_module_t module{};
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_lookup;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  return module;
}

}  // namespace esp_run
