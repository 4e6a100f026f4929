/* mpi_messages.h: messages between two processes, probes, persistent messages. mpi.h includes it,
 * and says what holds for all.
 *
 * MPI_Send of up to 32 KiB (setting TAG_EAGER_BYTES) does not wait for its receive; the ready mode
 * is the standard one. Receives alone can be cancelled. Messages of elements that lie apart are
 * packed and unpacked by the library. The _c forms take counts of 64 bits.
 */
#ifndef ESPALIER_MPI_MPI_MESSAGES_H
#define ESPALIER_MPI_MPI_MESSAGES_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPI_ABI_Message* MPI_Message;
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)

enum { MPI_BSEND_OVERHEAD = 512 };

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

/* ---- buffered mode ---- */

/* How much may be under way by the size of the buffer; the library keeps the messages itself. */
ESP_MPI_API int MPI_Buffer_attach(void* buffer, int size);
ESP_MPI_API int MPI_Buffer_detach(void* buffer_addr, int* size);
/* Waits until all messages have been sent. */
ESP_MPI_API int MPI_Buffer_flush(void);

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

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_MESSAGES_H */
