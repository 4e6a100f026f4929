/* The facade's own vocabulary: what stands behind the MPI handles, and the helpers its files share.
 *
 * Written on the public C API alone. MPI is defined in terms of the process, so the facade has
 * state of the process; all of it is in state.c. Threads: with MPI_THREAD_MULTIPLE every function
 * may run on any thread: objects are immutable after creation except for reference counts, the
 * error handler and hints, which are atomic, the error texts, operator bindings, info objects and
 * taken blocks, which have locks, names and attributes, which have the process's (state_lock), and
 * a communicator's arrays, which belong to its blocking call: MPI allows one at a time. No lock is
 * held while a function of the program runs.
 *
 * Ownership: a communicator and an operator live until they were freed by the program *and* the
 * last request that names them has completed. path: short (collectives, request.c), setup (the
 * rest)
 */
#ifndef ESPALIER_MPI_FACADE_H
#define ESPALIER_MPI_FACADE_H

#include <stdatomic.h>
#include <stddef.h>

#include "espalier/espalier.h"
#include "espalier/mpi/mpi.h"
#include "mpi/numbers.h"

typedef struct MPI_ABI_Comm Comm;
typedef struct MPI_ABI_Datatype Datatype;
typedef struct MPI_ABI_Op Op;
typedef struct MPI_ABI_Request Request;
typedef struct MPI_ABI_Errhandler Errhandler;
typedef struct MPI_ABI_Group Group;
typedef struct MPI_ABI_Info Info;
typedef struct Taken Taken;
typedef struct Stage Stage;

/* Who is whose neighbour on a communicator. */
typedef struct Topology {
  int kind;         /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
  esp_graph* graph; /* NULL: of MPI_GRAPH, not symmetric, so that nothing can be exchanged on it */
  int dims;         /* of a grid; of MPI_GRAPH the nodes */
  int edges;        /* of MPI_GRAPH, all */
  int weighted;     /* of MPI_DIST_GRAPH */
  int numbers[];    /* Of a grid: the extents, whether each dimension is periodic, this rank's
                     * coordinates. Of MPI_GRAPH: where the edges of each node end, then all
                     * edges. Of a weighted graph: weights of sources, then of destinations. */
} Topology;

/* What a program hangs on an object (attributes.h); all zeros: nothing. */
typedef struct Attributes {
  struct Attribute* newest;
} Attributes;

struct MPI_ABI_Comm {
  Number number;
  esp_team* team;
  Topology* topology;              /* NULL: none */
  const char* name;                /* for messages, static storage */
  char label[MPI_MAX_OBJECT_NAME]; /* by the program; empty: none */
  Attributes attributes;
  atomic_uint hints;                  /* comm_info.c */
  atomic_int references;              /* the program's handle and every pending request */
  _Atomic(MPI_Errhandler) errhandler; /* owns a reference when it is not predefined */
  size_t* arrays; /* comm_arrays(), so many; NULL before the first call that wants them */
  size_t arrays_entries;
  atomic_int delivered_blocks;   /* MPIX_Comm_set_partial */
  atomic_uint partitioned_sends; /* so many were made: partitioned.h */
  struct Buffer* buffer;         /* buffered.c; NULL before the first one is attached */
};

struct MPI_ABI_Errhandler {
  Number number;
  MPI_Comm_errhandler_function* function;
  /* In its place, with what it knows. */
  MPIX_Comm_errhandler_function_x* function_x;
  MPIX_Destructor_function* destructor;
  void* extra;
  atomic_int references;
};

/* The elements of a buffer as the library can take them, in one of three forms:
 * kPayloadBytes: `bytes` bytes at `base` (`type` is ESP_BYTE, `count` the bytes);
 * kPayloadLayout: `count` elements of the library's type `type` at `base`, in all of `bytes` bytes;
 * kPayloadPacked: the library has no such type: pack and unpack `bytes` bytes by type_pack() and
 * type_unpack() of datatype.h, at once or part by part; `base` is the program's buffer.
 * Who goes on using the datatype after the call holds a reference (datatype_retain()), because the
 * program may free it, and so keeps the library's type. */
typedef enum PayloadForm { kPayloadBytes, kPayloadLayout, kPayloadPacked } PayloadForm;
typedef struct Payload {
  PayloadForm form;
  const Datatype* datatype;
  void* base;
  esp_type type;
  size_t count;
  size_t bytes;
} Payload;

/* Once the library has reported the end, that is in `outcome`. */
typedef enum Progress { kUnderWay, kEnded, kInactive } Progress;

typedef enum Kind {
  kCollective,
  kPartitionedSend,
  kPartitionedReceive,
  kMessage,
  kGeneralized, /* ended by the program: generalized.c */
  kFlush        /* ended when messages of the buffered mode are sent */
} Kind;

struct MPI_ABI_Request {
  Number number;
  esp_request* handle;        /* NULL: ended, or a message from or to nobody */
  _Atomic(Progress) progress; /* release: others may ask for parts while one thread waits */
  int persistent;
  Kind kind;
  int partitions;  /* of a message */
  int is_empty;    /* nobody is there: no partition is waited for */
  int source, tag; /* of the status */
  /* Of a message (message.h): its mode, whom it goes to or comes from, where it is, what came. */
  int mode, peer, peer_tag;
  int is_canceled; /* the program has asked for it */
  int is_unpacked;
  struct MPI_ABI_Request* next_abandoned;
  struct MPI_ABI_Request* partner; /* a send that ends with this receive, owned; or NULL */
  struct Generalized* generalized;
  struct Partitioned* partitioned; /* NULL: not of messages in partitions, or nobody is there */
  struct Buffer* buffer;           /* of a flush, and the last message of it */
  uint64_t last;
  Payload payload;
  esp_tag_info info;
  Taken* taken;        /* NULL: it does not deliver */
  atomic_int is_asked; /* a thread asks the library whether it has ended */
  esp_status outcome;
  Comm* comm;
  Op* op;               /* NULL: none or predefined */
  Stage* stage;         /* stage.h: what is packed and unpacked, and types in use; or NULL */
  const char* function; /* that started it, for messages */
  size_t arrays[];      /* counts and displacements that the library reads until the end */
};

/* A class or code of the program's own. */
typedef struct OwnCode {
  int error_class; /* 0: the number is not given; its own number: it is a class */
  char* text;      /* NULL: none */
} OwnCode;
enum { kOwnCodes = 512 };
typedef struct OwnCodes {
  int last_used; /* what MPI_LASTUSEDCODE points to */
  OwnCode of[kOwnCodes];
} OwnCodes;

/* ---- state.c: the process-wide state ---- */

typedef enum Phase { kBeforeInit, kReady, kFinalized } Phase;

Phase state_phase(void);
/* Valid from MPI_Init to MPI_Finalize. */
esp_job* state_job(void);
Comm* state_world(void);
Comm* state_self(void);
/* The table of the predefined datatypes, those made by MPI_Type_create_f90_..., and the lock that
 * these, names and types of the library have in common. */
Datatype* state_types(void);
Datatype** state_kinds(void);
void state_lock_types(void);
void state_unlock_types(void);
int state_thread_level(void);
int state_is_main_thread(void);
const int* state_universe_size(void); /* of the job */
/* Both take over what they are given. */
void state_open(esp_job* job, int thread_level, esp_team* self);
void state_close(void);
/* Guards what programs make that belongs to no communicator, and attributes and names. */
void state_lock(void);
void state_unlock(void);
OwnCodes* state_own_codes(void);
Op** state_pair_ops(void);           /* pair_ops.c */
struct Keyvals* state_keyvals(void); /* attributes.c */
Info* state_info_env(void);          /* MPI_INFO_ENV, filled by MPI_Init */
NumberTable* state_numbers(void);    /* numbers.h; also before MPI_Init */
/* Keeps a text for MPI_Error_string and returns the code that leads to it: the last 63 survive. */
int state_keep_error(int error_class, const char* text);
/* 0 when the code carries no text of its own or a newer one has taken its place. */
int state_find_error(int code, char* text, size_t bytes);

/* ---- error.c ---- */

/* Reports an error on a communicator (NULL: on none, MPI_COMM_SELF's handler counts) and returns
 * the code for the caller, or does not return, as the error handler says. */
int raise_error(const char* function, Comm* comm, int error_class, const char* text);
/* The same with values in the text. */
__attribute__((format(printf, 4, 5))) int raise_values(const char* function, Comm* comm,
                                                       int error_class, const char* format, ...);
/* `what` should be a rank of the communicator, and is `value`. */
int raise_not_a_rank(const char* function, Comm* comm, int error_class, const char* what,
                     int value);
/* The same for a code that a function of the program has returned. */
int raise_code(const char* function, Comm* comm, int code);
/* The same for a status of the library. ESP_OK gives MPI_SUCCESS. */
int raise_status(const char* function, Comm* comm, esp_status status);
/* MPI_SUCCESS between MPI_Init and MPI_Finalize; otherwise the process ends with a message. */
void require_ready(const char* function);
/* A class of the standard. */
int error_is_class(int code);
/* Of any code, into MPI_MAX_ERROR_STRING bytes; 0 when it is none. */
int error_text(int code, char* text);

/* ---- error_codes.c: the program's own ---- */

/* -1 when there is no such code. */
int error_codes_class(int code);
int error_codes_text(int code, char* text);

/* ---- errhandler.c ---- */

Errhandler* errhandler_retain(Errhandler* handler);
void errhandler_release(Errhandler* handler);
/* One of the program's. */
void errhandler_call(const Errhandler* handler, MPI_Comm comm, int* code);

/* ---- comm.c ---- */

/* NULL for MPI_COMM_NULL. */
Comm* comm_of(MPI_Comm handle);
/* The handle the program knows the communicator by. */
MPI_Comm comm_handle(Comm* comm);
/* Fills a communicator that has one reference, and takes over what it is given. */
void comm_open(Comm* comm, esp_team* team, Topology* topology, Errhandler* handler,
               const char* name);
/* Lets go of what comm_open() took and of what has gathered since, but not of team and topology. */
void comm_close(Comm* comm);
void comm_retain(Comm* comm);
void comm_release(Comm* comm);
/* Room for the counts and displacements of a blocking call, kept for the next. NULL when there is
 * no memory. */
size_t* comm_arrays(Comm* comm, size_t entries);
/* What functions on communicators check first: the handle, and that there is room for a result. */
int comm_check(const char* function, MPI_Comm handle, const void* result, Comm** comm);
/* Makes a communicator of what came of making a team, which it takes over with its topology, if it
 * has one. It inherits the parent's error handler, as the standard says. A team that is NULL is
 * MPI_COMM_NULL; `name` is static. */
int comm_create(const char* function, Comm* parent, esp_status status, esp_team* team,
                Topology* topology, const char* name, MPI_Comm* newcomm);

/* ---- comm_attributes.c ---- */

int comm_copy_attributes(const char* function, Comm* from, Comm* to);
int comm_delete_attributes(const char* function, Comm* comm);

/* ---- comm_info.c ---- */

/* The program's name for it, into MPI_MAX_OBJECT_NAME bytes; empty: none. */
void comm_name(Comm* comm, char* name);
/* What an info object changes of hints. */
int comm_read_hints(const char* function, Comm* comm, MPI_Info info, unsigned* hints);

/* ---- topology.c: collective, and block ---- */

esp_status topology_grid(esp_team* team, int dims, const int* extents, const int* periodic,
                         Topology** topology);
/* Of this rank in one direction; `weights` count where the graph is weighted. */
typedef struct Edges {
  size_t count;
  const int* ranks;
  const int* weights;
} Edges;
esp_status topology_graph(esp_team* team, Edges sources, Edges destinations, int weighted,
                          Topology** topology);
/* Of all `nodes`: node i has the edges up to index[i]. */
esp_status topology_nodes(esp_team* team, int nodes, const int* index, const int* edges,
                          Topology** topology);
/* The same among the members of another team. NULL for NULL. */
esp_status topology_copy(const Topology* from, esp_team* team, Topology** topology);
void topology_free(Topology* topology);

/* ---- types.c, type_layout.c: datatype.h has the rest ---- */

/* Null, or of windows: MPI_REPLACE and MPI_NO_OP. */
static inline int op_reduces_nothing(MPI_Op handle) {
  return handle == NULL || handle == MPI_OP_NULL || handle == MPI_REPLACE || handle == MPI_NO_OP;
}
/* Predefined operators only: 0 for others. */
int builtin_op_of(MPI_Op handle, esp_op* op);
/* Is a predefined operator defined for a datatype? Not for derived ones. */
int type_combines(const Datatype* type, esp_op op);
/* What combines elements that the library does not know, in the place of a predefined operator;
 * NULL: nothing. */
Op* type_own_op(const Datatype* type, esp_op op);

/* MPI_SUCCESS, or the class of what is wrong with an argument and its text: MPI_ERR_COUNT,
 * MPI_ERR_TYPE (null, or not committed), MPI_ERR_BUFFER. */
int type_payload(MPI_Datatype datatype, const void* buffer, MPI_Count count, Payload* payload,
                 const char** problem);

/* ---- status.c ---- */

/* MPI_internal of a status: the first two hold the bytes received, as one number, the third whether
 * the operation was cancelled. */
static inline void status_set_bytes(MPI_Status* status, uint64_t bytes) {
  status->MPI_internal[0] = (int)(uint32_t)bytes;
  status->MPI_internal[1] = (int)(uint32_t)(bytes >> 32);
}
static inline uint64_t status_bytes(const MPI_Status* status) {
  return (uint32_t)status->MPI_internal[0] | (uint64_t)(uint32_t)status->MPI_internal[1] << 32;
}

/* ---- op.c ---- */

/* The library's operator for a user's operator on a datatype that the library combines, made on
 * first use. */
esp_status op_bind(Op* op, MPI_Datatype datatype, esp_op* bound);
/* A user's operator on elements of any type. */
void op_apply(const Op* op, const void* in, void* inout, size_t count, const Datatype* type);
void op_retain(Op* op);
void op_release(Op* op);

/* ---- pair_ops.c ---- */

/* MPI_MINLOC and MPI_MAXLOC of pairs of reals, as operators of the user. 0: no memory. */
int pair_ops_make(Op* made[2]);

/* ---- request.c, abandoned.c ---- */

/* With so many entries in `arrays`; under way. NULL when there is no memory. Retains both. */
Request* request_create(const char* function, Comm* comm, Op* op, size_t arrays);
void request_destroy(Request* request);
static inline int request_is_null(MPI_Request request) {
  return request == NULL || request == MPI_REQUEST_NULL;
}
/* Null, or persistent without a round: nothing to wait for. */
static inline int request_is_idle(MPI_Request request) {
  return request_is_null(request) || request->progress == kInactive;
}
/* What has ended is in the program's memory, then. */
void request_unpack(Request* request);
/* Asks whether it has ended and keeps the answer; does not take it from the program. */
int request_is_done(Request* request);
/* Until one that is under way has ended. */
void request_await(Request* request);
/* Of one that has ended: fills the status and returns what the query function of a generalized one
 * does. Leaves MPI_ERROR alone. */
int request_report(Request* request, MPI_Status* status);
int request_check_array(const char* function, int count, const MPI_Request* requests,
                        const void* result);
/* Takes over one that is under way and that the program has no use for any more. */
void request_abandon(Request* request);
/* Until all of these have ended. */
void requests_await_abandoned(void);
/* Of several threads one asks; to the others it has not. */
int request_has_ended(Request* request);

/* ---- generalized.c ---- */

int generalized_is_done(const Request* request);
int generalized_query(const Request* request, MPI_Status* status);
/* The program has no use for it any more: it is gone when it is complete, too. */
int generalized_free(Request* request);
int generalized_cancel(Request* request);

/* ---- partial.c: blocks that are handed out before the operation is complete ---- */

/* For requests that deliver; a result that is one message counts as so many. NULL when there is no
 * memory. */
Taken* taken_create(int blocks);
void taken_free(Taken* taken);
/* Before a round. */
void taken_clear(Taken* taken);
/* Takes what has landed from the library, which forgets it with its request; drives progress once
 * when that was not all. 1: it has ended, and nothing is left there. */
int taken_all(Request* request);
/* What MPIX_Parrived says of a block. */
int partial_arrived(const char* function, Request* request, int block, int* flag);

#endif /* ESPALIER_MPI_FACADE_H */
