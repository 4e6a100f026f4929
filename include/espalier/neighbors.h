/* Espalier, the public C API: graphs of neighbours, and the collectives in which each member
 * exchanges blocks with its neighbours alone. espalier.h includes it, and says what holds for all.
 *
 *   esp_graph* grid;
 *   esp_grid_create(team, 2, (int[]){rows, columns}, (int[]){1, 1}, &grid);
 *   esp_neighbor_alltoall(grid, faces, halo, n, ESP_DOUBLE);
 *
 * An operation on a graph is one of its team, and called by all of its members in the same order as
 * the others, on the same graph; who has no neighbours is done at once. Work and messages are those
 * of the neighbours.
 */
#ifndef ESPALIER_NEIGHBORS_H
#define ESPALIER_NEIGHBORS_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who receives from whom among the members of a team. What is not freed goes with the job; when its
 * team has been freed a graph can only be freed. */
typedef struct esp_graph esp_graph;
/* Stands for a neighbour that is not there: what is sent to it goes nowhere, and of what would
 * come from it the block is left alone. */
#define ESP_NO_NEIGHBOR (-1)

/* Collective over the team, and blocks. This member receives block i from sources[i] and sends
 * block i to destinations[i]. A member may be named several times, and name itself: edges between
 * the same two are told apart by their order in both lists. All members get ESP_ERR_MISMATCH where
 * one sends to another more or less often than that expects. At most 256 edges between two. */
ESP_API esp_status esp_graph_create(esp_team* team, size_t source_count, const int* sources,
                                    size_t destination_count, const int* destinations,
                                    esp_graph** graph);
/* Collective over the team, and blocks. The members in row-major order on a grid of extents[0] x
 * extents[1] x ..., which is as large as the team; where periodic[d] is not 0 dimension d is closed
 * to a ring. Equal on all members, else ESP_ERR_MISMATCH. At most 64 dimensions. Neighbours, for
 * sources and destinations alike: in dimension 0 the lower one, then the upper one, then those in
 * dimension 1, ... What is sent to the lower neighbour comes from the upper one there, also where
 * both are one member. */
ESP_API esp_status esp_grid_create(esp_team* team, int dimensions, const int* extents,
                                   const int* periodic, esp_graph** graph);
/* Local. ESP_ERR_STATE while operations under way or persistent requests of this rank use it. */
ESP_API esp_status esp_graph_free(esp_graph** graph);
/* NULL when the team is gone. */
ESP_API esp_team* esp_graph_team(const esp_graph* graph);
/* How many, those that are not there included. */
ESP_API size_t esp_graph_source_count(const esp_graph* graph);
ESP_API size_t esp_graph_destination_count(const esp_graph* graph);
ESP_API const int* esp_graph_sources(const esp_graph* graph);
ESP_API const int* esp_graph_destinations(const esp_graph* graph);

/* `input` goes to all destinations; output block i is that of source i: `count` elements each. */
ESP_API esp_status esp_neighbor_allgather(esp_graph* graph, const void* input, void* output,
                                          size_t count, esp_type type);
/* `count` elements of this member; counts[i] of source i come to output + displs[i]. `displs` NULL:
 * one block after the other. For lengths that differ on both sides see esp_alltoallv. */
ESP_API esp_status esp_neighbor_allgatherv(esp_graph* graph, const void* input, size_t count,
                                           void* output, const size_t* counts, const size_t* displs,
                                           esp_type type);
/* Block i of `input` goes to destination i. In place there is nothing: ESP_ERR_ARGUMENT. In the v-
 * and w-form input and output may be one array, where no block that comes overlaps one that goes.
 */
ESP_API esp_status esp_neighbor_alltoall(esp_graph* graph, const void* input, void* output,
                                         size_t count, esp_type type);
ESP_API esp_status esp_neighbor_alltoallv(esp_graph* graph, const void* input,
                                          const size_t* in_counts, const size_t* in_displs,
                                          void* output, const size_t* out_counts,
                                          const size_t* out_displs, esp_type type);
/* As esp_alltoallw: types for each block, displacements in bytes. */
ESP_API esp_status esp_neighbor_alltoallw(esp_graph* graph, const void* input,
                                          const size_t* in_counts, const size_t* in_displs,
                                          const esp_type* in_types, void* output,
                                          const size_t* out_counts, const size_t* out_displs,
                                          const esp_type* out_types);

/* Non-blocking and persistent forms: see collectives.h and persistent.h. */
ESP_API esp_status esp_neighbor_allgather_start(esp_graph* graph, const void* input, void* output,
                                                size_t count, esp_type type,
                                                const esp_coll_options* options,
                                                const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_allgatherv_start(esp_graph* graph, const void* input, size_t count,
                                                 void* output, const size_t* counts,
                                                 const size_t* displs, esp_type type,
                                                 const esp_coll_options* options,
                                                 const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoall_start(esp_graph* graph, const void* input, void* output,
                                               size_t count, esp_type type,
                                               const esp_coll_options* options,
                                               const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoallv_start(esp_graph* graph, const void* input,
                                                const size_t* in_counts, const size_t* in_displs,
                                                void* output, const size_t* out_counts,
                                                const size_t* out_displs, esp_type type,
                                                const esp_coll_options* options,
                                                const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoallw_start(esp_graph* graph, const void* input,
                                                const size_t* in_counts, const size_t* in_displs,
                                                const esp_type* in_types, void* output,
                                                const size_t* out_counts, const size_t* out_displs,
                                                const esp_type* out_types,
                                                const esp_coll_options* options,
                                                const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_allgather_init(esp_graph* graph, const void* input, void* output,
                                               size_t count, esp_type type,
                                               const esp_coll_options* options,
                                               const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_allgatherv_init(esp_graph* graph, const void* input, size_t count,
                                                void* output, const size_t* counts,
                                                const size_t* displs, esp_type type,
                                                const esp_coll_options* options,
                                                const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoall_init(esp_graph* graph, const void* input, void* output,
                                              size_t count, esp_type type,
                                              const esp_coll_options* options,
                                              const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoallv_init(esp_graph* graph, const void* input,
                                               const size_t* in_counts, const size_t* in_displs,
                                               void* output, const size_t* out_counts,
                                               const size_t* out_displs, esp_type type,
                                               const esp_coll_options* options,
                                               const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_neighbor_alltoallw_init(esp_graph* graph, const void* input,
                                               const size_t* in_counts, const size_t* in_displs,
                                               const esp_type* in_types, void* output,
                                               const size_t* out_counts, const size_t* out_displs,
                                               const esp_type* out_types,
                                               const esp_coll_options* options,
                                               const esp_notify* notify, esp_request** request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_NEIGHBORS_H */
