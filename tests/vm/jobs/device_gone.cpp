// Stands between a job's library and libibverbs (LD_PRELOAD): the device of this process goes when
// the process says so, which Soft-RoCE does not while a process uses it; the device that is named
// in REFUSED_DEVICE makes no queue pairs; all ports are of PLAYED_LINK_LAYER (a number of verbs.h).
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

// The driver's.
decltype(verbs_context::query_port) g_query_port = nullptr;

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* told, std::size_t bytes) {
  const int failure = g_query_port(context, port, told, bytes);
  told->link_layer = static_cast<std::uint8_t>(std::atoi(std::getenv("PLAYED_LINK_LAYER")));
  return failure;
}

}  // namespace

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

ibv_context* ibv_open_device(ibv_device* device) {
  using Function = ibv_context* (*)(ibv_device*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "ibv_open_device"));
  ibv_context* opened = next(device);
  if (opened == nullptr || std::getenv("PLAYED_LINK_LAYER") == nullptr) return opened;
  verbs_context* table = verbs_get_ctx(opened);
  if (table->query_port != query_port) g_query_port = table->query_port;
  table->query_port = query_port;
  return opened;
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
