/* Messages of UCX, by its interface for messages with tags, between two processes:
 * ucx SIZES SECONDS (measure.h). What connects them is told by UCX_TLS. path: data
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include "measure.h"
#include "pair.h"

enum { kTag = 7 };

static ucp_worker_h worker;
static ucp_ep_h end;

static void must(ucs_status_t status, const char* call) {
  if (status == UCS_OK) return;
  fprintf(stderr, "%s: %s\n", call, ucs_status_string(status));
  exit(1);
}

/* NULL: it was complete at once. */
static void wait_for(ucs_status_ptr_t request, const char* call) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), call);
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
    ucp_worker_progress(worker);
  }
  must(status, call);
  ucp_request_free(request);
}

static ucs_status_ptr_t send_start(const void* buffer, size_t bytes) {
  const ucp_request_param_t host = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                    .memory_type = UCS_MEMORY_TYPE_HOST};
  return ucp_tag_send_nbx(end, buffer, bytes, kTag, &host);
}

static ucs_status_ptr_t receive_start(void* buffer, size_t bytes) {
  const ucp_request_param_t host = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                    .memory_type = UCS_MEMORY_TYPE_HOST};
  return ucp_tag_recv_nbx(worker, buffer, bytes, kTag, ~(ucp_tag_t)0, &host);
}

static void send_one(const void* buffer, size_t bytes) {
  wait_for(send_start(buffer, bytes), "ucp_tag_send_nbx");
}

static void receive_one(void* buffer, size_t bytes) {
  wait_for(receive_start(buffer, bytes), "ucp_tag_recv_nbx");
}

static void send_all(const char* first, size_t bytes, size_t stride, int count) {
  ucs_status_ptr_t requests[MESSAGES_WINDOW];
  for (int i = 0; i < count; ++i) requests[i] = send_start(first + (size_t)i * stride, bytes);
  for (int i = 0; i < count; ++i) wait_for(requests[i], "ucp_tag_send_nbx");
}

static void receive_all(char* first, size_t bytes, size_t stride, int count) {
  ucs_status_ptr_t requests[MESSAGES_WINDOW];
  for (int i = 0; i < count; ++i) requests[i] = receive_start(first + (size_t)i * stride, bytes);
  for (int i = 0; i < count; ++i) wait_for(requests[i], "ucp_tag_recv_nbx");
}

static ucp_context_h open_worker(void) {
  const ucp_params_t wanted = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
  const ucp_worker_params_t one = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                   .thread_mode = UCS_THREAD_MODE_SINGLE};
  ucp_context_h context;
  must(ucp_init(&wanted, NULL, &context), "ucp_init");
  must(ucp_worker_create(context, &one, &worker), "ucp_worker_create");
  return context;
}

static void meet(const struct pair* pair) {
  ucp_address_t *mine, *other;
  size_t length, other_length;
  must(ucp_worker_get_address(worker, &mine, &length), "ucp_worker_get_address");
  pair_write(pair->channel, &length, sizeof length);
  pair_write(pair->channel, mine, length);
  pair_read(pair->channel, &other_length, sizeof other_length);
  other = malloc(other_length);
  if (other == NULL) pair_fail("malloc");
  pair_read(pair->channel, other, other_length);
  const ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = other};
  must(ucp_ep_create(worker, &to, &end), "ucp_ep_create");
  free(other);
  ucp_worker_release_address(worker, mine);
}

/* Neither goes before the other has had all: what one still owes needs its progress. */
static void part(const struct pair* pair, ucp_context_h context) {
  const ucp_request_param_t none = {.op_attr_mask = 0};
  char told = 1;
  wait_for(ucp_ep_flush_nbx(end, &none), "ucp_ep_flush_nbx");
  pair_write(pair->channel, &told, 1);
  while (recv(pair->channel, &told, 1, MSG_DONTWAIT) < 0) {
    if (errno != EAGAIN && errno != EINTR) pair_fail("recv");
    ucp_worker_progress(worker);
  }
  /* It may find the other gone, which is as well. */
  const ucs_status_ptr_t close = ucp_ep_close_nbx(end, &none);
  if (UCS_PTR_IS_PTR(close)) {
    while (ucp_request_check_status(close) == UCS_INPROGRESS) ucp_worker_progress(worker);
    ucp_request_free(close);
  }
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
}

int main(int argc, char** argv) {
  const struct pair pair = pair_begin();
  ucp_context_h context = open_worker();
  const struct library ucx = {pair.rank, send_one, receive_one, send_all, receive_all};
  meet(&pair);
  const int result = measure_messages(&ucx, argc, argv);
  part(&pair, context);
  return pair_end(&pair, result);
}
