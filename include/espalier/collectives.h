/* Espalier, the public C API: collectives. espalier.h includes it, and says what holds for all.
 *
 * Each is called by every member of the team, in the same order, with equal counts, types,
 * operators and roots. Buffers of different members never overlap anything of their own, unless
 * ESP_IN_PLACE says so. Counts are elements of `type`. Buffers may be memory of a device (GPU), of
 * any member by itself: docs/devices.md. Started calls may be ordered with a stream of a device
 * (esp_coll_options).
 */
#ifndef ESPALIER_COLLECTIVES_H
#define ESPALIER_COLLECTIVES_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocking forms: AUTO options. */
ESP_API esp_status esp_barrier(esp_team* team);
ESP_API esp_status esp_bcast(esp_team* team, void* buffer, size_t count, esp_type type, int root);
/* `output` is significant at the root only. `input` may be ESP_IN_PLACE at the root. */
ESP_API esp_status esp_reduce(esp_team* team, const void* input, void* output, size_t count,
                              esp_type type, esp_op op, int root);
ESP_API esp_status esp_allreduce(esp_team* team, const void* input, void* output, size_t count,
                                 esp_type type, esp_op op);

/* Every member gets the blocks of all, in the order of their ranks. ESP_IN_PLACE: the own block
 * stands in its place in `output`. `count` elements of each member. */
ESP_API esp_status esp_allgather(esp_team* team, const void* input, void* output, size_t count,
                                 esp_type type);
/* counts[r] elements of member r, which come to output + displs[r] elements. Both arrays have an
 * entry for each member; counts are equal on all. `displs` NULL: one block after the other. */
ESP_API esp_status esp_allgatherv(esp_team* team, const void* input, void* output,
                                  const size_t* counts, const size_t* displs, esp_type type);
/* Block r of `input` goes to member r, which gets it as its block of the caller's rank. `count`
 * elements each. ESP_IN_PLACE: the blocks stand in `output` and are replaced. */
ESP_API esp_status esp_alltoall(esp_team* team, const void* input, void* output, size_t count,
                                esp_type type);
/* in_counts[r] elements from input + in_displs[r] go to member r; out_counts[r] elements of member
 * r come to output + out_displs[r]. What one sends is what the other receives, else it gets
 * ESP_ERR_MISMATCH; where the one sends nothing at all, ESP_ERR_TIMEOUT, or ESP_ERR_MISMATCH when
 * that has gone to esp_job_finalize. What is sent to one that expects nothing is lost.
 * Displacements NULL: one block after the other. ESP_IN_PLACE: the out_ arrays count for both.
 * Nothing moves for counts of 0. */
ESP_API esp_status esp_alltoallv(esp_team* team, const void* input, const size_t* in_counts,
                                 const size_t* in_displs, void* output, const size_t* out_counts,
                                 const size_t* out_displs, esp_type type);
/* The same with types of their own for each block, and displacements, which are not NULL, in bytes.
 * What one sends has as many bytes as what the other receives. */
ESP_API esp_status esp_alltoallw(esp_team* team, const void* input, const size_t* in_counts,
                                 const size_t* in_displs, const esp_type* in_types, void* output,
                                 const size_t* out_counts, const size_t* out_displs,
                                 const esp_type* out_types);

/* The root gets the blocks of all, in the order of their ranks: `count` elements of each. `output`
 * is significant at the root only, where `input` may be ESP_IN_PLACE: its block stands there. */
ESP_API esp_status esp_gather(esp_team* team, const void* input, void* output, size_t count,
                              esp_type type, int root);
/* Of this member `count` elements; at the root, where alone the arrays are significant, counts[r]
 * of member r come to output + displs[r]. `displs` NULL: one block after the other. Where the one
 * sends another number than the root expects, the root gets ESP_ERR_MISMATCH; of nothing at all
 * see esp_alltoallv. */
ESP_API esp_status esp_gatherv(esp_team* team, const void* input, size_t count, void* output,
                               const size_t* counts, const size_t* displs, esp_type type, int root);
/* Block r of the root's `input` goes to member r: `count` elements each. `input` is significant at
 * the root only, where `output` may be ESP_IN_PLACE: its own block stays where it is. */
ESP_API esp_status esp_scatter(esp_team* team, const void* input, void* output, size_t count,
                               esp_type type, int root);
/* counts[r] elements from the root's input + displs[r], where alone these are significant, go to
 * member r, which expects `count`. */
ESP_API esp_status esp_scatterv(esp_team* team, const void* input, const size_t* counts,
                                const size_t* displs, void* output, size_t count, esp_type type,
                                int root);
/* Member r gets the combination of everybody's block r: `count` elements, or counts[r], which are
 * equal on all and lie one after the other in `input`. ESP_IN_PLACE: all blocks stand in `output`,
 * and are lost; the result comes to its beginning. */
ESP_API esp_status esp_reduce_scatter_block(esp_team* team, const void* input, void* output,
                                            size_t count, esp_type type, esp_op op);
ESP_API esp_status esp_reduce_scatter(esp_team* team, const void* input, void* output,
                                      const size_t* counts, esp_type type, esp_op op);
/* Member r gets the combination of members 0 to r (scan), or 0 to r - 1 (exscan, where the output
 * of member 0 is left alone). */
ESP_API esp_status esp_scan(esp_team* team, const void* input, void* output, size_t count,
                            esp_type type, esp_op op);
ESP_API esp_status esp_exscan(esp_team* team, const void* input, void* output, size_t count,
                              esp_type type, esp_op op);

/* Non-blocking forms. `options` may be NULL. Exactly one of `notify` and `request` is NULL: an
 * operation reports through the one or the other. When the call itself returns an error nothing was
 * started and nothing will fire. */
ESP_API esp_status esp_barrier_start(esp_team* team, const esp_coll_options* options,
                                     const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_bcast_start(esp_team* team, void* buffer, size_t count, esp_type type,
                                   int root, const esp_coll_options* options,
                                   const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_start(esp_team* team, const void* input, void* output, size_t count,
                                    esp_type type, esp_op op, int root,
                                    const esp_coll_options* options, const esp_notify* notify,
                                    esp_request** request);
ESP_API esp_status esp_allreduce_start(esp_team* team, const void* input, void* output,
                                       size_t count, esp_type type, esp_op op,
                                       const esp_coll_options* options, const esp_notify* notify,
                                       esp_request** request);

/* Arrays of counts and displacements belong to the library until the operation ends, as buffers do.
 */
ESP_API esp_status esp_allgather_start(esp_team* team, const void* input, void* output,
                                       size_t count, esp_type type, const esp_coll_options* options,
                                       const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_allgatherv_start(esp_team* team, const void* input, void* output,
                                        const size_t* counts, const size_t* displs, esp_type type,
                                        const esp_coll_options* options, const esp_notify* notify,
                                        esp_request** request);
ESP_API esp_status esp_alltoall_start(esp_team* team, const void* input, void* output, size_t count,
                                      esp_type type, const esp_coll_options* options,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_alltoallv_start(esp_team* team, const void* input, const size_t* in_counts,
                                       const size_t* in_displs, void* output,
                                       const size_t* out_counts, const size_t* out_displs,
                                       esp_type type, const esp_coll_options* options,
                                       const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scan_start(esp_team* team, const void* input, void* output, size_t count,
                                  esp_type type, esp_op op, const esp_coll_options* options,
                                  const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_exscan_start(esp_team* team, const void* input, void* output, size_t count,
                                    esp_type type, esp_op op, const esp_coll_options* options,
                                    const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_alltoallw_start(esp_team* team, const void* input, const size_t* in_counts,
                                       const size_t* in_displs, const esp_type* in_types,
                                       void* output, const size_t* out_counts,
                                       const size_t* out_displs, const esp_type* out_types,
                                       const esp_coll_options* options, const esp_notify* notify,
                                       esp_request** request);
ESP_API esp_status esp_gather_start(esp_team* team, const void* input, void* output, size_t count,
                                    esp_type type, int root, const esp_coll_options* options,
                                    const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_gatherv_start(esp_team* team, const void* input, size_t count, void* output,
                                     const size_t* counts, const size_t* displs, esp_type type,
                                     int root, const esp_coll_options* options,
                                     const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scatter_start(esp_team* team, const void* input, void* output, size_t count,
                                     esp_type type, int root, const esp_coll_options* options,
                                     const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_scatterv_start(esp_team* team, const void* input, const size_t* counts,
                                      const size_t* displs, void* output, size_t count,
                                      esp_type type, int root, const esp_coll_options* options,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_scatter_block_start(esp_team* team, const void* input, void* output,
                                                  size_t count, esp_type type, esp_op op,
                                                  const esp_coll_options* options,
                                                  const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_reduce_scatter_start(esp_team* team, const void* input, void* output,
                                            const size_t* counts, esp_type type, esp_op op,
                                            const esp_coll_options* options,
                                            const esp_notify* notify, esp_request** request);

#ifdef __cplusplus
}
#endif

#endif
