/* Messages in both directions by one call. path: short */
#include "mpi/message.h"

/* The bytes that are sent are copied before anything is received. */
static void send_copy(Message* send) {
  if (send->payload.form == kPayloadLayout) {
    send->payload.base = displaced(send->payload.base, -send->payload.datatype->true_lb);
    send->payload.count = (size_t)send->count;
  }
  if (send->payload.form == kPayloadBytes) send->payload.datatype = datatype_of(MPI_BYTE);
  if (send->payload.form == kPayloadBytes) send->count = (MPI_Count)send->payload.bytes;
  send->payload.form = kPayloadPacked;
}

/* The request of the receive ends with the send's, where there is one of each. What is sent may be
 * what is received over, so that it is packed first. */
static int start_both(const Message* send, const Message* receive, MPI_Request* handle) {
  MPI_Request received, sent;
  if (handle == NULL) {
    return raise_error(send->function, send->comm, MPI_ERR_REQUEST, "null request");
  }
  if (send->peer == MPI_PROC_NULL) return message_begin(receive, 0, handle);
  if (receive->peer == MPI_PROC_NULL) {
    const int code = message_begin(send, 0, &sent);
    if (code != MPI_SUCCESS) return code;
    sent->source = MPI_PROC_NULL;
    *handle = sent;
    return MPI_SUCCESS;
  }
  int code = message_begin(send, 0, &sent);
  if (code != MPI_SUCCESS) return code;
  code = message_begin(receive, 0, &received);
  if (code != MPI_SUCCESS) {
    (void)MPI_Request_free(&sent);
    return code;
  }
  received->partner = sent;
  *handle = received;
  return MPI_SUCCESS;
}

static int exchange(const Message* send, const Message* receive, MPI_Status* status) {
  MPI_Request request;
  int code = message_begin(receive, 0, &request);
  if (code != MPI_SUCCESS) return code;
  const int sent = message_send(send);
  code = MPI_Wait(&request, status);
  return sent != MPI_SUCCESS ? sent : code;
}

static int exchange_in_place(const Message* send, const Message* receive, MPI_Status* status) {
  MPI_Request request;
  const int code = start_both(send, receive, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

/* Both sizes of counts, and what the call ends with. */
#define BOTH_FORM(NAME, COUNT, RESULT, END_WITH)                                               \
  int NAME(const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, \
           void* recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,     \
           MPI_Comm comm, RESULT* result) {                                                    \
    Message send = {.function = __func__, .mode = kStandard};                                  \
    Message receive = {.function = __func__, .mode = kReceives};                               \
    int code = message_check(&send, sendbuf, sendcount, sendtype, dest, sendtag, comm);        \
    if (code == MPI_SUCCESS) {                                                                 \
      code = message_check(&receive, recvbuf, recvcount, recvtype, source, recvtag, comm);     \
    }                                                                                          \
    return code == MPI_SUCCESS ? END_WITH(&send, &receive, result) : code;                     \
  }
#define REPLACE_FORM(NAME, COUNT, RESULT, END_WITH)                                          \
  int NAME(void* buf, COUNT count, MPI_Datatype datatype, int dest, int sendtag, int source, \
           int recvtag, MPI_Comm comm, RESULT* result) {                                     \
    Message send = {.function = __func__, .mode = kStandard};                                \
    Message receive = {.function = __func__, .mode = kReceives};                             \
    int code = message_check(&send, buf, count, datatype, dest, sendtag, comm);              \
    if (code == MPI_SUCCESS) {                                                               \
      code = message_check(&receive, buf, count, datatype, source, recvtag, comm);           \
    }                                                                                        \
    if (code != MPI_SUCCESS) return code;                                                    \
    send_copy(&send);                                                                        \
    return END_WITH(&send, &receive, result);                                                \
  }

BOTH_FORM(MPI_Sendrecv, int, MPI_Status, exchange)
BOTH_FORM(MPI_Sendrecv_c, MPI_Count, MPI_Status, exchange)
BOTH_FORM(MPI_Isendrecv, int, MPI_Request, start_both)
BOTH_FORM(MPI_Isendrecv_c, MPI_Count, MPI_Request, start_both)
REPLACE_FORM(MPI_Sendrecv_replace, int, MPI_Status, exchange_in_place)
REPLACE_FORM(MPI_Sendrecv_replace_c, MPI_Count, MPI_Status, exchange_in_place)
REPLACE_FORM(MPI_Isendrecv_replace, int, MPI_Request, start_both)
REPLACE_FORM(MPI_Isendrecv_replace_c, MPI_Count, MPI_Request, start_both)
