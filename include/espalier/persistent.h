/* Espalier, the public C API: persistent requests, for operations that a program does again and
 * again. espalier.h includes it, and says what holds for all.
 *
 *   esp_request* sum;
 *   esp_allreduce_init(team, in, out, n, ESP_DOUBLE, ESP_SUM, NULL, NULL, &sum);
 *   while (...) {
 *     esp_request_start(sum);
 *     esp_request_wait(&sum);
 *   }
 *   esp_request_free(&sum);
 *
 * An init function checks all arguments, chooses and binds to the buffers, and tells nobody: it is
 * local. A round is one operation of its team, which meets rounds of the other members alone (else
 * ESP_ERR_MISMATCH): it looks nothing up and asks for no memory. Any number of requests may be
 * under way on a team, started in the same order on all members.
 *
 * *request is inactive at first, and again when a test or wait has reported its round. The handle
 * stays until esp_request_free; while it is inactive, tests and waits take it for NULL. `notify`
 * may be NULL; else it fires at the end of every round, which need then not be waited for. Where a
 * callback starts the next round, a wait ends with the last one.
 *
 * On one node rounds of a few bytes go as started calls of them do; elsewhere a round spares the
 * checks, the choice of a plan and its binding, which pays for small messages and many blocks.
 *
 * Each round is ordered anew with a stream of the options (esp_coll_options), which must last.
 *
 * Buffers belong to the library during rounds. Arrays of counts and displacements and `options` are
 * read by the init function alone.
 */
#ifndef ESPALIER_PERSISTENT_H
#define ESPALIER_PERSISTENT_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

ESP_API esp_status esp_barrier_init(esp_team* team, const esp_coll_options* options,
                                    const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_bcast_init(esp_team* team, void* buffer, size_t count, esp_type type,
                                  int root, const esp_coll_options* options,
                                  const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_init(esp_team* team, const void* input, void* output, size_t count,
                                   esp_type type, esp_op op, int root,
                                   const esp_coll_options* options, const esp_notify* notify,
                                   esp_request** request);
ESP_API esp_status esp_allreduce_init(esp_team* team, const void* input, void* output, size_t count,
                                      esp_type type, esp_op op, const esp_coll_options* options,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_allgather_init(esp_team* team, const void* input, void* output, size_t count,
                                      esp_type type, const esp_coll_options* options,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_allgatherv_init(esp_team* team, const void* input, void* output,
                                       const size_t* counts, const size_t* displs, esp_type type,
                                       const esp_coll_options* options, const esp_notify* notify,
                                       esp_request** request);
ESP_API esp_status esp_alltoall_init(esp_team* team, const void* input, void* output, size_t count,
                                     esp_type type, const esp_coll_options* options,
                                     const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_alltoallv_init(esp_team* team, const void* input, const size_t* in_counts,
                                      const size_t* in_displs, void* output,
                                      const size_t* out_counts, const size_t* out_displs,
                                      esp_type type, const esp_coll_options* options,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scan_init(esp_team* team, const void* input, void* output, size_t count,
                                 esp_type type, esp_op op, const esp_coll_options* options,
                                 const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_exscan_init(esp_team* team, const void* input, void* output, size_t count,
                                   esp_type type, esp_op op, const esp_coll_options* options,
                                   const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_alltoallw_init(esp_team* team, const void* input, const size_t* in_counts,
                                      const size_t* in_displs, const esp_type* in_types,
                                      void* output, const size_t* out_counts,
                                      const size_t* out_displs, const esp_type* out_types,
                                      const esp_coll_options* options, const esp_notify* notify,
                                      esp_request** request);
ESP_API esp_status esp_gather_init(esp_team* team, const void* input, void* output, size_t count,
                                   esp_type type, int root, const esp_coll_options* options,
                                   const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_gatherv_init(esp_team* team, const void* input, size_t count, void* output,
                                    const size_t* counts, const size_t* displs, esp_type type,
                                    int root, const esp_coll_options* options,
                                    const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scatter_init(esp_team* team, const void* input, void* output, size_t count,
                                    esp_type type, int root, const esp_coll_options* options,
                                    const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scatterv_init(esp_team* team, const void* input, const size_t* counts,
                                     const size_t* displs, void* output, size_t count,
                                     esp_type type, int root, const esp_coll_options* options,
                                     const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_scatter_block_init(esp_team* team, const void* input, void* output,
                                                 size_t count, esp_type type, esp_op op,
                                                 const esp_coll_options* options,
                                                 const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_scatter_init(esp_team* team, const void* input, void* output,
                                           const size_t* counts, esp_type type, esp_op op,
                                           const esp_coll_options* options,
                                           const esp_notify* notify, esp_request** request);

ESP_API esp_status esp_send_init(esp_team* team, const void* buffer, size_t bytes, int peer,
                                 unsigned channel, const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_recv_init(esp_team* team, void* buffer, size_t bytes, int peer,
                                 unsigned channel, const esp_notify* notify, esp_request** request);

/* Starts a round, on what the buffers hold now; also inside callbacks, the request's own among
 * them. ESP_ERR_STATE: no test or wait has reported the round before (with a notify: it has not
 * ended). ESP_ERR_ARGUMENT: the request is NULL (which sets no text) or not persistent, or its team
 * has been freed. A team that has failed answers as it does to every call. */
ESP_API esp_status esp_request_start(esp_request* request);
/* In their order. When one is not to be started (ESP_ERR_STATE, ESP_ERR_ARGUMENT) none is. Of one
 * that is NULL the text says which. */
ESP_API esp_status esp_request_start_all(esp_request** requests, size_t count);
/* Gives back what a persistent request holds and sets the handle to NULL. ESP_ERR_STATE when its
 * round could not be followed by another yet: then nothing has changed. May come after the team was
 * freed, not after the job was finalized, which frees all that is left. */
ESP_API esp_status esp_request_free(esp_request** request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_PERSISTENT_H */
