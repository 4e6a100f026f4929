// Stands between a job's library and libibverbs (LD_PRELOAD): the device of this process goes when
// the process says so. Soft-RoCE cannot be removed under a process that uses it.
#include <dlfcn.h>
#include <infiniband/verbs.h>

extern "C" {

int device_gone = 0;  // Writer: the process.

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (device_gone != 0) {
    *event = {};
    event->event_type = IBV_EVENT_DEVICE_FATAL;
    return 0;
  }
  using Function = int (*)(ibv_context*, ibv_async_event*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "ibv_get_async_event"));
  return next(context, event);
}

}  // extern "C"
