#include "tests/vm/queue_pairs.hpp"

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

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

}  // namespace

// Before the library's, because the program's own symbols come first.
extern "C" ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const bool watched = g_watch != nullptr && wanted->qp_type == IBV_QPT_RC;
  if (watched) {
    g_watch->inline_asked.push_back(wanted->cap.max_inline_data);
    if (wanted->cap.max_inline_data > g_watch->inline_max) {
      errno = EINVAL;
      return nullptr;
    }
  }
  ibv_qp* made = next<decltype(ibv_create_qp)>("ibv_create_qp")(domain, wanted);
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
  return next<decltype(ibv_modify_qp)>("ibv_modify_qp")(queue_pair, wanted, mask);
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
