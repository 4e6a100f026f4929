/* mpi_messages.h: messages between two processes, probes, persistent messages. mpi.h includes it,
 * and says what holds for all.
 *
 * MPI_Send of up to 32 KiB (setting TAG_EAGER_BYTES) does not wait for its receive; the ready mode
 * is the standard one. Receives alone can be cancelled. Messages of elements that lie apart are
 * packed and unpacked by the library. The _c forms take counts of 64 bits.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_MESSAGES_H
#define ESPALIER_MPI_MPI_MESSAGES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPI_ABI_Message* MPI_Message;
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)

enum { MPI_BSEND_OVERHEAD = 512 };
#define MPI_BUFFER_AUTOMATIC ((void*)2)

/* ---- messages ---- */

ESP_MPI_API int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm);
ESP_MPI_API int MPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm);
ESP_MPI_API int MPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm);
ESP_MPI_API int MPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm);
ESP_MPI_API int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                         MPI_Comm comm, MPI_Status* status);
ESP_MPI_API int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                          MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                              MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                               MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                               MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                               MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                              MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                             int sendtag, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                             int source, int recvtag, MPI_Comm comm, MPI_Status* status);
ESP_MPI_API int MPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest,
                                     int sendtag, int source, int recvtag, MPI_Comm comm,
                                     MPI_Status* status);

ESP_MPI_API int MPI_Send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                           int tag, MPI_Comm comm);
ESP_MPI_API int MPI_Ssend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int tag, MPI_Comm comm);
ESP_MPI_API int MPI_Rsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int tag, MPI_Comm comm);
ESP_MPI_API int MPI_Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int tag, MPI_Comm comm);
ESP_MPI_API int MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                           MPI_Comm comm, MPI_Status* status);
ESP_MPI_API int MPI_Isend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Issend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Irsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                            MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Send_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Ssend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                 int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Rsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                 int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Bsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                 int tag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Recv_init_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                                int tag, MPI_Comm comm, MPI_Request* request);

ESP_MPI_API int MPI_Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               int dest, int sendtag, void* recvbuf, MPI_Count recvcount,
                               MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                               MPI_Status* status);
ESP_MPI_API int MPI_Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                       int sendtag, int source, int recvtag, MPI_Comm comm,
                                       MPI_Status* status);

/* ---- started in both directions ---- */

ESP_MPI_API int MPI_Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                              int sendtag, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                              int source, int recvtag, MPI_Comm comm, MPI_Request* request);
ESP_MPI_API int MPI_Isendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                int dest, int sendtag, void* recvbuf, MPI_Count recvcount,
                                MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                                MPI_Request* request);
ESP_MPI_API int MPI_Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest,
                                      int sendtag, int source, int recvtag, MPI_Comm comm,
                                      MPI_Request* request);
ESP_MPI_API int MPI_Isendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                        int sendtag, int source, int recvtag, MPI_Comm comm,
                                        MPI_Request* request);

/* ---- buffered mode ---- */

/* How much may be under way by the size of the buffer; the library keeps the messages itself. Of
 * MPI_BUFFER_AUTOMATIC any number may be. A communicator's own buffer serves it alone. */
ESP_MPI_API int MPI_Buffer_attach(void* buffer, int size);
ESP_MPI_API int MPI_Buffer_attach_c(void* buffer, MPI_Count size);
ESP_MPI_API int MPI_Buffer_detach(void* buffer_addr, int* size);
ESP_MPI_API int MPI_Buffer_detach_c(void* buffer_addr, MPI_Count* size);
/* Waits until all messages have been sent; the started form ends when those that are there have. */
ESP_MPI_API int MPI_Buffer_flush(void);
ESP_MPI_API int MPI_Buffer_iflush(MPI_Request* request);
ESP_MPI_API int MPI_Comm_attach_buffer(MPI_Comm comm, void* buffer, int size);
ESP_MPI_API int MPI_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size);
ESP_MPI_API int MPI_Comm_detach_buffer(MPI_Comm comm, void* buffer_addr, int* size);
ESP_MPI_API int MPI_Comm_detach_buffer_c(MPI_Comm comm, void* buffer_addr, MPI_Count* size);
ESP_MPI_API int MPI_Comm_flush_buffer(MPI_Comm comm);
ESP_MPI_API int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request* request);

/* ---- probes ---- */

ESP_MPI_API int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
ESP_MPI_API int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
ESP_MPI_API int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message,
                           MPI_Status* status);
ESP_MPI_API int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                            MPI_Status* status);
ESP_MPI_API int MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                          MPI_Status* status);
ESP_MPI_API int MPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                           MPI_Request* request);
ESP_MPI_API int MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                            MPI_Status* status);
ESP_MPI_API int MPI_Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Message* message, MPI_Request* request);

/* ---- requests of messages ---- */

ESP_MPI_API int MPI_Cancel(MPI_Request* request);
/* Says how a request stands, and leaves it. */
ESP_MPI_API int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status);
ESP_MPI_API int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                                           MPI_Status statuses[]);
ESP_MPI_API int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index,
                                           int* flag, MPI_Status* status);
ESP_MPI_API int MPI_Request_get_status_some(int incount, const MPI_Request requests[],
                                            int* outcount, int indices[], MPI_Status statuses[]);

/* ---- generalized requests ---- */

/* Who waits for one looks again and again whether it is complete. Any thread may complete it, with
 * MPI_THREAD_MULTIPLE. */
typedef int(MPI_Grequest_query_function)(void* extra_state, MPI_Status* status);
typedef int(MPI_Grequest_free_function)(void* extra_state);
typedef int(MPI_Grequest_cancel_function)(void* extra_state, int complete);
ESP_MPI_API int MPI_Grequest_start(MPI_Grequest_query_function* query_fn,
                                   MPI_Grequest_free_function* free_fn,
                                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                                   MPI_Request* request);
ESP_MPI_API int MPI_Grequest_complete(MPI_Request request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_MESSAGES_H */
