// Stands between a job's library and libibverbs (LD_PRELOAD): the device of this process goes when
// the process says so, which Soft-RoCE does not while a process uses it; the device that is named
// in REFUSED_DEVICE makes no queue pairs.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

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

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const char* refused = std::getenv("REFUSED_DEVICE");
  if (refused != nullptr && std::strcmp(domain->context->device->name, refused) == 0) {
    errno = ENOMEM;
    return nullptr;
  }
  using Function = ibv_qp* (*)(ibv_pd*, ibv_qp_init_attr*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "ibv_create_qp"));
  return next(domain, wanted);
}

}  // extern "C"
