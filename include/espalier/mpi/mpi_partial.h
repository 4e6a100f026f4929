/* mpi_partial.h: data that is given to operations, or taken from them, bit by bit. mpi.h includes
 * it, and says what holds for all. What begins with MPIX_ is not of the standard.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_PARTIAL_H
#define ESPALIER_MPI_MPI_PARTIAL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- messages in partitions: persistent, too ---- */

/* `count` elements in each of `partitions`, of which there may be another number on the other side;
 * both sides have the same number of bytes in all, else the receive fails (MPI_ERR_TRUNCATE).
 * MPI_PROC_NULL is nobody. The k-th send that is made for a peer and a tag meets the k-th receive
 * that is made there, whenever they are started. Each partition of the sender travels when it is
 * ready, by itself; elements with gaps are packed and unpacked. */
ESP_MPI_API int MPI_Psend_init(const void* buf, int partitions, MPI_Count count,
                               MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                               MPI_Info info, MPI_Request* request);
ESP_MPI_API int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                               int source, int tag, MPI_Comm comm, MPI_Info info,
                               MPI_Request* request);
/* Of a send that has been started, each partition once; any thread, with MPI_THREAD_MULTIPLE. */
ESP_MPI_API int MPI_Pready(int partition, MPI_Request request);
ESP_MPI_API int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request);
ESP_MPI_API int MPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request);
/* Of a receive, also while another thread waits for it. */
ESP_MPI_API int MPI_Parrived(MPI_Request request, int partition, int* flag);

/* ---- partial completion of collectives: not of the standard ---- */

/* Local; not inherited by duplicates. From now on what non-blocking and persistent collectives that
 * are made on this communicator receive can be read block by block, before they are complete, where
 * the algorithm allows it. Blocks are those of the members, of graphs those of the neighbours, in
 * the order of the receive buffer; a result that is one message has so many, of nearly equal length
 * in elements (of MPI_Scatter and MPI_Scatterv in bytes). 0: off. */
ESP_MPI_API int MPIX_Comm_set_partial(MPI_Comm comm, int blocks);
/* Neither waits; both drive progress once when there is nothing. Several threads may ask, but not
 * while another one tests the request or waits for it.
 *
 * flag = 1: the block has arrived, and may be read but not written; it stays 1 until the next
 * start. Null and completed requests give 1; what does not deliver gives 1 when it has ended, which
 * tests and waits still report. MPI_ERR_ARG: there is no such block. What has failed gives 1 and
 * the error. */
ESP_MPI_API int MPIX_Parrived(MPI_Request* request, int block, int* flag);
/* flag = 1: takes a block that has arrived and that nobody has taken: where it lies and whose it
 * is (MPI_UNDEFINED: several members'). Each comes once, the rank's own one included, those without
 * elements never. flag = 0: there is none at the moment, or all were taken; what was not taken
 * before a test or wait has completed the request is gone. MPI_ERR_REQUEST: it does not deliver. */
ESP_MPI_API int MPIX_Parrived_any(MPI_Request* request, void** address, int* source, int* flag);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_PARTIAL_H */
