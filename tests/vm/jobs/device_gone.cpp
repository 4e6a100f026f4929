// Stands between a job's library and libibverbs (LD_PRELOAD): the device of this process goes when
// the process says so, which Soft-RoCE does not while a process uses it; the device that is named
// in REFUSED_DEVICE makes no queue pairs; all ports are of PLAYED_LINK_LAYER (a number of verbs.h);
// after INLINE_POSTS posts of inline data no more of them are taken.
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

decltype(ibv_context_ops::post_send) g_post_send = nullptr;
int g_inline_posts =
    0;  // that may follow. Writer: the process, which posts in one thread at a time

int post_send(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** refused) {
  if ((first->send_flags & IBV_SEND_INLINE) != 0 && --g_inline_posts < 0) {
    *refused = first;
    return EINVAL;
  }
  return g_post_send(queue_pair, first, refused);
}

void limit_inline_posts(ibv_context& context, const char* posts) {
  if (context.ops.post_send == post_send) return;
  g_inline_posts = std::atoi(posts);
  g_post_send = context.ops.post_send;
  context.ops.post_send = post_send;
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
  const char* posts = std::getenv("INLINE_POSTS");
  if (posts != nullptr) limit_inline_posts(*domain->context, posts);
  return next(domain, wanted);
}

}  // extern "C"
