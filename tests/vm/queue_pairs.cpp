#include "tests/vm/queue_pairs.hpp"

#include <dlfcn.h>
#include <endian.h>
#include <infiniband/verbs.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

struct rdma_event_channel;

namespace {

espalier::test::QueuePairWatch* g_watch = nullptr;
struct Watched {
  ibv_qp* queue_pair;
  espalier::test::QueuePairFacts asked;
};
std::vector<Watched> g_watched;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::uint32_t bytes_of(ibv_mtu mtu) {
  return 128U << static_cast<unsigned>(mtu);
}

std::uint8_t code_of(espalier::verbs::LinkLayer link) {
  using enum espalier::verbs::LinkLayer;
  return link == kInfiniband ? IBV_LINK_LAYER_INFINIBAND
         : link == kEthernet ? IBV_LINK_LAYER_ETHERNET
                             : IBV_LINK_LAYER_UNSPECIFIED;
}

ibv_transport_type code_of(espalier::verbs::Transport transport) {
  using enum espalier::verbs::Transport;
  return transport == kInfiniband ? IBV_TRANSPORT_IB
         : transport == kIwarp    ? IBV_TRANSPORT_IWARP
                                  : IBV_TRANSPORT_UNSPECIFIED;
}

// Ports are asked through a table that belongs to the open device: the driver's function in it.
decltype(verbs_context::query_port) g_query_port = nullptr;

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* told, std::size_t bytes) {
  const int failure = g_query_port(context, port, told, bytes);
  if (failure != 0 || g_watch == nullptr) return failure;
  if (g_watch->link) told->link_layer = code_of(*g_watch->link);
  if (g_watch->lid != 0) told->lid = g_watch->lid;
  if (g_watch->wants_grh) told->flags = *g_watch->wants_grh ? IBV_QPF_GRH_REQUIRED : 0;
  if (!g_watch->partitions.empty()) {
    told->pkey_tbl_len = static_cast<std::uint16_t>(g_watch->partitions.size());
  }
  return 0;
}

// Requests are posted through such a table, too.
decltype(ibv_context_ops::post_send) g_post_send = nullptr;

// Whether this request is refused.
bool meets_its_fate(espalier::test::InlineFate& fate, const ibv_send_wr& request) {
  const bool inlined = (request.send_flags & IBV_SEND_INLINE) != 0 && request.num_sge > 0;
  if (!inlined && fate.refused > 0) fate.read_from.push_back(request.sg_list->addr);
  if (!inlined || fate.refusal == espalier::test::InlineFate::Refusal::kNone) return false;
  const bool taken = fate.taken < fate.taken_max;
  ++(taken ? fate.taken : fate.refused);
  return !taken;
}

// As drivers do: what stands before the request that is refused is posted.
int refuse(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr& last, ibv_send_wr** refused) {
  ibv_send_wr* rest = std::exchange(last.next, nullptr);
  const int failure = g_post_send(queue_pair, first, refused);
  last.next = rest;
  if (failure != 0) return failure;
  *refused = rest;
  return EINVAL;
}

// The device fails a request whose memory nobody has registered.
int post_send(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** refused) {
  constexpr std::uint32_t kNobodysKey = 0xfedcba98;
  if (g_watch == nullptr) return g_post_send(queue_pair, first, refused);
  espalier::test::InlineFate& fate =
      queue_pair->qp_type == IBV_QPT_RC ? g_watch->connections_inline : g_watch->datagrams_inline;
  std::vector<std::pair<ibv_send_wr*, std::uint32_t>> failing;
  ibv_send_wr* last = nullptr;
  for (ibv_send_wr* request = first; request != nullptr; request = request->next) {
    if (meets_its_fate(fate, *request)) {
      if (fate.refusal == espalier::test::InlineFate::Refusal::kAtPost) {
        if (last != nullptr) return refuse(queue_pair, first, *last, refused);
        *refused = request;
        return EINVAL;
      }
      failing.emplace_back(request, std::exchange(request->sg_list->lkey, kNobodysKey));
      request->send_flags &= ~unsigned{IBV_SEND_INLINE};
    }
    last = request;
  }
  const int failure = g_post_send(queue_pair, first, refused);
  for (const auto& [request, key] : failing) {
    request->sg_list->lkey = key;
    request->send_flags |= IBV_SEND_INLINE;
  }
  return failure;
}

void play_post_send(ibv_context& context) {
  if (context.ops.post_send == post_send) return;
  g_post_send = context.ops.post_send;
  context.ops.post_send = post_send;
}

}  // namespace

// Before the library's, because the program's own symbols come first.
extern "C" ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const bool watched = g_watch != nullptr && wanted->qp_type == IBV_QPT_RC;
  if (watched) {
    g_watch->inline_asked.push_back(wanted->cap.max_inline_data);
    if (wanted->cap.max_inline_data > g_watch->inline_max) {
      if (g_watch->inline_errno != 0) errno = g_watch->inline_errno;
      return nullptr;
    }
  }
  ibv_qp* made = next<decltype(ibv_create_qp)>("ibv_create_qp")(domain, wanted);
  if (g_watch != nullptr && made != nullptr) play_post_send(*made->context);
  if (watched && made != nullptr) g_watched.push_back({made, {}});
  return made;
}

extern "C" int ibv_destroy_qp(ibv_qp* queue_pair) {
  std::erase_if(g_watched, [&](const Watched& one) { return one.queue_pair == queue_pair; });
  return next<decltype(ibv_destroy_qp)>("ibv_destroy_qp")(queue_pair);
}

extern "C" int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* wanted, int mask) {
  for (Watched& one : g_watched) {
    if (one.queue_pair != queue_pair) continue;
    if ((mask & IBV_QP_PATH_MTU) != 0) one.asked.mtu_bytes = bytes_of(wanted->path_mtu);
    if ((mask & IBV_QP_AV) != 0) {
      one.asked.service_level = wanted->ah_attr.sl;
      one.asked.traffic_class = wanted->ah_attr.grh.traffic_class;
    }
    if ((mask & IBV_QP_TIMEOUT) != 0) one.asked.ack_timeout = wanted->timeout;
    if ((mask & IBV_QP_RETRY_CNT) != 0) one.asked.retries = wanted->retry_cnt;
    if ((mask & IBV_QP_RNR_RETRY) != 0) one.asked.not_ready_retries = wanted->rnr_retry;
  }
  if (g_watch != nullptr && !g_watch->partitions.empty() && (mask & IBV_QP_PKEY_INDEX) != 0) {
    g_watch->partitions_used.push_back(wanted->pkey_index);
    wanted->pkey_index = 0;
  }
  return next<decltype(ibv_modify_qp)>("ibv_modify_qp")(queue_pair, wanted, mask);
}

extern "C" ibv_device** ibv_get_device_list(int* count) {
  ibv_device** all = next<decltype(ibv_get_device_list)>("ibv_get_device_list")(count);
  for (ibv_device** one = all; g_watch != nullptr && g_watch->transport && *one != nullptr; ++one) {
    (*one)->transport_type = code_of(*g_watch->transport);
  }
  return all;
}

extern "C" ibv_fork_status ibv_is_fork_initialized() {
  if (g_watch != nullptr && g_watch->forks_matter) {
    return *g_watch->forks_matter ? IBV_FORK_DISABLED : IBV_FORK_UNNEEDED;
  }
  return next<decltype(ibv_is_fork_initialized)>("ibv_is_fork_initialized")();
}

extern "C" int ibv_fork_init() {
  if (g_watch == nullptr) return next<decltype(ibv_fork_init)>("ibv_fork_init")();
  g_watch->calls += 'f';
  return 0;
}

extern "C" ibv_context* ibv_open_device(ibv_device* device) {
  if (g_watch != nullptr) g_watch->calls += 'o';
  ibv_context* opened = next<decltype(ibv_open_device)>("ibv_open_device")(device);
  verbs_context* table = opened != nullptr ? verbs_get_ctx(opened) : nullptr;
  if (g_watch != nullptr && table != nullptr && table->query_port != query_port) {
    g_query_port = table->query_port;
    table->query_port = query_port;
  }
  return opened;
}

extern "C" int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* key) {
  if (g_watch == nullptr || g_watch->partitions.empty()) {
    return next<decltype(ibv_query_pkey)>("ibv_query_pkey")(context, port, index, key);
  }
  if (static_cast<std::size_t>(index) >= g_watch->partitions.size()) return -1;
  *key = htobe16(g_watch->partitions[static_cast<std::size_t>(index)]);
  return 0;
}

extern "C" int ibv_query_device(ibv_context* context, ibv_device_attr* told) {
  const int failure = next<decltype(ibv_query_device)>("ibv_query_device")(context, told);
  if (failure != 0 || g_watch == nullptr) return failure;
  told->max_srq_wr = static_cast<int>(
      std::min(static_cast<std::uint32_t>(told->max_srq_wr), g_watch->shared_receives_max));
  return 0;
}

extern "C" ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* route) {
  if (g_watch != nullptr) {
    ++g_watch->paths_asked;
    if (g_watch->path_errno != 0) {
      const timespec pause = {.tv_sec = 0, .tv_nsec = g_watch->path_ms * 1'000'000L};
      (void)::nanosleep(&pause, nullptr);
      errno = g_watch->path_errno;
      return nullptr;
    }
  }
  return next<decltype(ibv_create_ah)>("ibv_create_ah")(domain, route);
}

// Of librdmacm; without it nobody calls this.
extern "C" rdma_event_channel* rdma_create_event_channel() {
  if (g_watch != nullptr && g_watch->channel_errno != 0) {
    errno = g_watch->channel_errno;
    return nullptr;
  }
  return next<rdma_event_channel*()>("rdma_create_event_channel")();
}

extern "C" int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (g_watch != nullptr && g_watch->device_gone) {
    *event = {};
    event->event_type = IBV_EVENT_DEVICE_FATAL;
    return 0;
  }
  return next<decltype(ibv_get_async_event)>("ibv_get_async_event")(context, event);
}

namespace espalier::test {

QueuePairWatch::QueuePairWatch() {
  g_watch = this;
}

QueuePairWatch::~QueuePairWatch() {
  g_watch = nullptr;
  g_watched.clear();
}

std::vector<QueuePairFacts> QueuePairWatch::asked() const {
  std::vector<QueuePairFacts> all;
  for (const Watched& one : g_watched) all.push_back(one.asked);
  return all;
}

std::vector<QueuePairFacts> QueuePairWatch::told() const {
  std::vector<QueuePairFacts> all;
  for (const Watched& one : g_watched) {
    ibv_qp_attr found = {};
    ibv_qp_init_attr made = {};
    const int mask =
        IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    if (::ibv_query_qp(one.queue_pair, &found, mask, &made) != 0) continue;
    all.push_back({.mtu_bytes = bytes_of(found.path_mtu),
                   .service_level = found.ah_attr.sl,
                   .traffic_class = found.ah_attr.grh.traffic_class,
                   .ack_timeout = found.timeout,
                   .retries = found.retry_cnt,
                   .not_ready_retries = found.rnr_retry});
  }
  return all;
}

}  // namespace espalier::test
