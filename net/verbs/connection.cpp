#include "net/verbs/connection.hpp"

#include <algorithm>

namespace espalier::verbs {
namespace {

constexpr unsigned kRemoteRights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
// How long a sender waits when no packet was posted for it: 0.64 ms, then again.
constexpr std::uint8_t kNotReadyTimer = 12;

int to_init(const VerbsAdapter& adapter, ibv_qp* queue_pair) noexcept {
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_INIT;
  state.pkey_index = adapter.partition_index();
  state.port_num = adapter.port();
  state.qp_access_flags = kRemoteRights;
  return ibv_modify_qp(queue_pair, &state,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_receive(const ibv_ah_attr& route, const Connection& connection,
               const Endpoint& to) noexcept {
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = mtu_code(std::min(connection.own.mtu_bytes, to.mtu_bytes));
  state.dest_qp_num = to.queue_pair;
  state.rq_psn = to.key;
  state.max_dest_rd_atomic = connection.own.reads;
  state.min_rnr_timer = kNotReadyTimer;
  state.ah_attr = route;
  return ibv_modify_qp(connection.queue_pair.get(), &state,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_send(const VerbsAdapter& adapter, const Connection& connection,
            const Endpoint& to) noexcept {
  const auto reads_max =
      static_cast<std::uint8_t>(std::clamp(adapter.limits().max_qp_init_rd_atom, 0, 255));
  ibv_qp_attr state = {};
  state.qp_state = IBV_QPS_RTS;
  state.timeout = static_cast<std::uint8_t>(adapter.options().ack_timeout);
  state.retry_cnt = static_cast<std::uint8_t>(adapter.options().retries);
  state.rnr_retry = static_cast<std::uint8_t>(adapter.options().not_ready_retries);
  state.sq_psn = connection.own.key;
  state.max_rd_atomic = std::min(to.reads, reads_max);
  return ibv_modify_qp(connection.queue_pair.get(), &state,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

rdma::Fault fault_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    // Out of sequence for the peer: Soft-RoCE answers so when packets are repeated or reordered
    // below it. A connection that is made again gets further.
    case IBV_WC_REM_INV_REQ_ERR:
    // The adapter could not send: Soft-RoCE says so while its network device is down.
    case IBV_WC_LOC_QP_OP_ERR:
      return rdma::Fault::kRetryExceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return rdma::Fault::kReceiverNotReady;
    case IBV_WC_REM_ACCESS_ERR:
      return rdma::Fault::kRemoteAccess;
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return rdma::Fault::kRemoteOperation;
    case IBV_WC_WR_FLUSH_ERR:
      return rdma::Fault::kFlushed;
    default:
      return rdma::Fault::kLocal;
  }
}

Outcome connect_queue_pair(const VerbsAdapter& adapter, const Connection& connection,
                           const Endpoint& to) {
  const auto route = adapter.route(to);
  if (!route) return route.error();
  if (const int failure = to_init(adapter, connection.queue_pair.get())) {
    return adapter.failed("ibv_modify_qp (RC, INIT)", failure);
  }
  if (const int failure = to_receive(route.value(), connection, to)) {
    return adapter.failed("ibv_modify_qp (RC, RTR)", failure);
  }
  if (const int failure = to_send(adapter, connection, to)) {
    return adapter.failed("ibv_modify_qp (RC, RTS)", failure);
  }
  return Unit{};
}

}  // namespace espalier::verbs
