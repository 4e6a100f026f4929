/* mpi_comm.h: groups, communicators, attributes and topologies. mpi.h includes it, and says what
 * holds for all. There are no intercommunicators.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_COMM_H
#define ESPALIER_MPI_MPI_COMM_H

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_UNWEIGHTED ((int*)10)
#define MPI_WEIGHTS_EMPTY ((int*)11)
#define MPI_MAX_OBJECT_NAME 128

enum { MPI_CART = 211, MPI_GRAPH = 212, MPI_DIST_GRAPH = 213 };

enum { MPI_IDENT = 201, MPI_CONGRUENT = 202, MPI_SIMILAR = 203, MPI_UNEQUAL = 204 };

enum {
  MPI_COMM_TYPE_SHARED = 221,
  MPI_COMM_TYPE_HW_UNGUIDED = 222,
  MPI_COMM_TYPE_HW_GUIDED = 223,
  MPI_COMM_TYPE_RESOURCE_GUIDED = 224
};

/* Attributes that all communicators have, but for MPI_APPNUM, which is never set. Their values are
 * addresses of int. */
enum {
  MPI_KEYVAL_INVALID = 0,
  MPI_TAG_UB = 501,
  MPI_IO = 502,
  MPI_HOST = 503,
  MPI_WTIME_IS_GLOBAL = 504,
  MPI_APPNUM = 505,
  MPI_LASTUSEDCODE = 506,
  MPI_UNIVERSE_SIZE = 507
};

/* ---- groups ---- */

ESP_MPI_API int MPI_Comm_group(MPI_Comm comm, MPI_Group* group);
ESP_MPI_API int MPI_Group_size(MPI_Group group, int* size);
ESP_MPI_API int MPI_Group_rank(MPI_Group group, int* rank);
ESP_MPI_API int MPI_Group_compare(MPI_Group group1, MPI_Group group2, int* result);
ESP_MPI_API int MPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[],
                                          MPI_Group group2, int ranks2[]);
ESP_MPI_API int MPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup);
ESP_MPI_API int MPI_Group_free(MPI_Group* group);

/* ---- communicators ---- */

ESP_MPI_API int MPI_Comm_rank(MPI_Comm comm, int* rank);
ESP_MPI_API int MPI_Comm_size(MPI_Comm comm, int* size);
ESP_MPI_API int MPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result);
ESP_MPI_API int MPI_Comm_test_inter(MPI_Comm comm, int* flag);
/* Of intercommunicators, which there are none of: MPI_ERR_COMM. */
ESP_MPI_API int MPI_Comm_remote_size(MPI_Comm comm, int* size);
ESP_MPI_API int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group);
ESP_MPI_API int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm);
/* Both do the collective work before they return, and so wait for the others; the request is
 * complete then. */
ESP_MPI_API int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);
ESP_MPI_API int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
                                        MPI_Request* request);
ESP_MPI_API int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm);
/* By nodes, which are what shares memory; as hardware mpi_shared_memory alone is known. Where a
 * communicator is within a node MPI_COMM_TYPE_HW_UNGUIDED gives MPI_COMM_NULL. */
ESP_MPI_API int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info,
                                    MPI_Comm* newcomm);
/* Callers may give different groups without common members. */
ESP_MPI_API int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Comm_free(MPI_Comm* comm);
/* Waits for what is under way without a handle, and frees it. */
ESP_MPI_API int MPI_Comm_disconnect(MPI_Comm* comm);
ESP_MPI_API int MPI_Comm_set_name(MPI_Comm comm, const char* name);
ESP_MPI_API int MPI_Comm_get_name(MPI_Comm comm, char* name, int* resultlen);
/* Keeps the mpi_assert_ hints of the standard and makes nothing of them. */
ESP_MPI_API int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info);
ESP_MPI_API int MPI_Comm_get_info(MPI_Comm comm, MPI_Info* info_used);
/* MPI_COMM_NULL: processes of a job are not started by others of them. */
ESP_MPI_API int MPI_Comm_get_parent(MPI_Comm* parent);

/* ---- attributes ---- */

typedef int(MPI_Comm_copy_attr_function)(MPI_Comm oldcomm, int comm_keyval, void* extra_state,
                                         void* attribute_val_in, void* attribute_val_out,
                                         int* flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int comm_keyval, void* attribute_val,
                                           void* extra_state);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function*)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function*)0)

/* Functions of the program get and return codes; another one than MPI_SUCCESS is what the call
 * fails with: the attribute stays, the communicator is not freed, there is no duplicate. */
ESP_MPI_API int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                                       MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                                       int* comm_keyval, void* extra_state);
ESP_MPI_API int MPI_Comm_free_keyval(int* comm_keyval);
ESP_MPI_API int MPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val);
ESP_MPI_API int MPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag);
ESP_MPI_API int MPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval);

typedef int(MPI_Type_copy_attr_function)(MPI_Datatype oldtype, int type_keyval, void* extra_state,
                                         void* attribute_val_in, void* attribute_val_out,
                                         int* flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype datatype, int type_keyval,
                                           void* attribute_val, void* extra_state);
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function*)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function*)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function*)0)

/* Those of predefined datatypes stay until they are deleted. */
ESP_MPI_API int MPI_Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                                       MPI_Type_delete_attr_function* type_delete_attr_fn,
                                       int* type_keyval, void* extra_state);
ESP_MPI_API int MPI_Type_free_keyval(int* type_keyval);
ESP_MPI_API int MPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val);
ESP_MPI_API int MPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val,
                                  int* flag);
ESP_MPI_API int MPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval);

/* ---- attributes by the names of MPI 1 ---- */

typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
#define MPI_NULL_COPY_FN ((MPI_Copy_function*)0)
#define MPI_DUP_FN ((MPI_Copy_function*)1)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function*)0)
ESP_MPI_API int MPI_Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn,
                                  int* keyval, void* extra_state);
ESP_MPI_API int MPI_Keyval_free(int* keyval);
ESP_MPI_API int MPI_Attr_put(MPI_Comm comm, int keyval, void* attribute_val);
ESP_MPI_API int MPI_Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag);
ESP_MPI_API int MPI_Attr_delete(MPI_Comm comm, int keyval);

/* ---- topologies ---- */

/* Ranks keep their order, whatever `reorder` says. The grid is row-major; of neighbours in a
 * dimension the lower one comes first. What is sent to the lower neighbour comes from the upper one
 * there, also in periodic dimensions of one or two, as MPI 4.0 says. */
ESP_MPI_API int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                                int reorder, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm);
ESP_MPI_API int MPI_Cartdim_get(MPI_Comm comm, int* ndims);
ESP_MPI_API int MPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]);
ESP_MPI_API int MPI_Cart_rank(MPI_Comm comm, const int coords[], int* rank);
ESP_MPI_API int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]);
ESP_MPI_API int MPI_Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source,
                               int* rank_dest);
/* The rank itself, MPI_UNDEFINED where there is no place for it. */
ESP_MPI_API int MPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                             int* newrank);
ESP_MPI_API int MPI_Dims_create(int nnodes, int ndims, int dims[]);
/* All processes give the whole graph; node i has the edges from index[i - 1] to index[i] - 1. On a
 * graph that is not symmetric nothing can be exchanged (MPI_ERR_TOPOLOGY). */
ESP_MPI_API int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[],
                                 int reorder, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges);
ESP_MPI_API int MPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]);
ESP_MPI_API int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors);
ESP_MPI_API int MPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]);
ESP_MPI_API int MPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[],
                              int* newrank);
/* Any process names any edges; neighbours stand in the order of the ranks that have named them. */
ESP_MPI_API int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[],
                                      const int degrees[], const int destinations[],
                                      const int* weights, MPI_Info info, int reorder,
                                      MPI_Comm* newcomm);
/* Pointers and not arrays, because MPI_UNWEIGHTED is none. */
ESP_MPI_API int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int* sources,
                                               const int* sourceweights, int outdegree,
                                               const int* destinations, const int* destweights,
                                               MPI_Info info, int reorder, MPI_Comm* newcomm);
ESP_MPI_API int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree,
                                               int* weighted);
ESP_MPI_API int MPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int* sources,
                                         int* sourceweights, int maxoutdegree, int* destinations,
                                         int* destweights);
ESP_MPI_API int MPI_Topo_test(MPI_Comm comm, int* status);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_COMM_H */
