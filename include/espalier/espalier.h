/* Espalier, the public C API.
 *
 * A *job* is one rank's membership in a set of processes that were started together; a *team* is an
 * ordered subset of the job's ranks; a *collective* is called by every member of a team, in the
 * same order on every member. There is no global state: any number of jobs may live in one process,
 * and objects of one job never touch objects of another.
 *
 * Threads: unless the job was made with ESP_THREAD_PROGRESS, all calls on a job and on its teams
 * and requests come from one thread at a time (the *owner*; it may change hands through ordinary
 * synchronisation). With ESP_THREAD_PROGRESS a thread of the library owns the job and every call
 * may come from any thread. Starts hand the operation over to it and do not wait, unless 1024 of
 * them are waiting for it already; what a thread calls stays in its order. What only that thread
 * can find (no memory; that the team fails meanwhile) is how such an operation ends.
 *
 * Buffers: a buffer named by a call belongs to the library from the call until completion (return
 * of a blocking call; callback, counter or request otherwise), then returns to the caller.
 *
 * Errors: functions return esp_status. A collective always completes: when a member dies, is
 * stopped for longer than the configured timeout or makes a different call, the others get a status
 * and a text (esp_team_error) that names the rank. Of different calls it names one that is known to
 * have called something else than the rank that names it, or nobody. That is the end of the team:
 * every later call on it fails the same way. Teams without the dead rank that were made before go
 * on; new ones cannot be made from a team that has failed. ESP_ERR_STATE answers what is not
 * allowed at the moment: to block inside a callback, to free the world or a team with operations
 * under way. A call whose job, team or request is NULL sets no text. What has been freed is not
 * recognised: using it, or a job after esp_job_finalize, is undefined.
 */
#ifndef ESPALIER_ESPALIER_H
#define ESPALIER_ESPALIER_H

#include <stddef.h>
#include <stdint.h>

#define ESP_VERSION_MAJOR 0
#define ESP_VERSION_MINOR 1
#define ESP_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_API __attribute__((visibility("default")))

/* ---- status ---- */

typedef enum esp_status {
  ESP_OK = 0,
  ESP_IN_PROGRESS = 1, /* not an error: the operation has not completed yet */
  ESP_ERR_ARGUMENT =
      2,             /* fix the call: null pointer, negative or absurd value, rank out of range */
  ESP_ERR_TYPE = 3,  /* fix the call: unknown type, or operator not defined for the type */
  ESP_ERR_STATE = 4, /* fix the program: not allowed now; the text says what and why */
  ESP_ERR_MISMATCH =
      5, /* fix the program: another member made a different call; the text names it */
  ESP_ERR_PEER_DIED = 6,   /* the rank that the text names is gone; see "Errors" above */
  ESP_ERR_TIMEOUT = 7,     /* a member did not arrive in time; the text names it */
  ESP_ERR_NO_MEMORY = 8,   /* memory, descriptors or another limit of the system */
  ESP_ERR_UNSUPPORTED = 9, /* not available here; the text says what is missing */
  ESP_ERR_CONFIG = 10, /* fix the configuration: bad value of an ESPALIER_* variable or setting */
  ESP_ERR_BOOTSTRAP = 11, /* the launcher cannot be reached or misbehaved */
  ESP_ERR_SYSTEM = 12,    /* a system call failed; the text names it and the errno */
  ESP_ERR_CANCELED = 13,  /* the team or job went away while the operation was under way */
  ESP_ERR_INTERNAL = 14,  /* a bug of the library: please report */
  ESP_ERR_NETWORK =
      15, /* the connection to the rank that the text names broke, or what came was not ours */
  ESP_ERR_TRUNCATED = 16, /* a message is longer than its receive, which has what fits */
  ESP_ERR_DEVICE = 17,    /* a GPU or its driver failed; the text has the driver's words */
  ESP_STATUS_COUNT = 18
} esp_status;

/* A constant English sentence for a status, never NULL. */
ESP_API const char* esp_status_text(esp_status status);

/* ---- job ---- */

typedef struct esp_job esp_job;
typedef struct esp_team esp_team;
typedef struct esp_request esp_request;

/* A runtime's own bootstrap: no PMIx is needed, called or loaded. All functions return 0 on
 * success, are called by the thread that calls esp_job_init or esp_job_finalize only, and must end
 * (with an error) when a member cannot take part. */
typedef struct esp_bootstrap {
  void* context;
  int rank;
  int size;
  /* Gathers `bytes` bytes of every rank, in rank order, into `all` (size * bytes). */
  int (*allgather)(void* context, const void* mine, size_t bytes, void* all);
  /* May be NULL; then esp_abort ends the calling process only. Does not return. */
  void (*abort)(void* context, int exit_code, const char* message);
} esp_bootstrap;

typedef enum esp_thread_mode {
  ESP_THREAD_OWNER = 0, /* the caller drives progress (default) */
  ESP_THREAD_PROGRESS =
      1, /* a library thread, asleep when idle, drives progress; calls may come from any thread */
} esp_thread_mode;

typedef struct esp_job_options {
  size_t struct_size; /* sizeof(esp_job_options), for binary compatibility */
  const esp_bootstrap*
      bootstrap; /* NULL: PMIx when the environment says so, else a job of one rank */
  esp_thread_mode thread_mode;
  const char* const*
      settings; /* NULL, or a NULL-terminated list of "NAME=value" that overrides the environment;
                   NAME as in `esp-info --config`, without the ESPALIER_ prefix */
  char* error_text; /* NULL, or where a failing esp_job_init writes its explanation */
  size_t error_text_bytes;
} esp_job_options;

#define ESP_JOB_OPTIONS_INIT \
  { sizeof(esp_job_options), NULL, ESP_THREAD_OWNER, NULL, NULL, 0 }

/* Collective over all ranks of the job. `options` may be NULL. On failure *job is NULL. */
ESP_API esp_status esp_job_init(const esp_job_options* options, esp_job** job);
/* Collective. Frees the job and everything made from it. Pending operations end with
 * ESP_ERR_CANCELED. Waits for the others while they live, for TIMEOUT at most; ESP_ERR_MISMATCH
 * then tells that a member's last calls on a team were others than this rank's, which no operation
 * had noticed; the text is logged. Calls that some made and others not at all are not compared.
 * No other thread is inside a call on the job then. */
ESP_API esp_status esp_job_finalize(esp_job* job);
/* Ends all processes of the job with `exit_code` as far as the bootstrap can; does not return. */
ESP_API void esp_abort(esp_job* job, int exit_code, const char* message);

ESP_API int esp_job_rank(const esp_job* job);
ESP_API int esp_job_size(const esp_job* job);
/* Number of the node that a rank is on, -1 when out of range: 0 to nodes - 1, in the order of their
 * lowest ranks, equal on all ranks. A node is what shares memory (settings NODES and WIRES). So
 * esp_team_split(world, esp_job_node(job, me), 0, &team) makes the team of one's node. */
ESP_API int esp_job_node(const esp_job* job, int rank);
ESP_API esp_team* esp_job_world(esp_job* job); /* owned by the job: never free it */
/* Explanation of the most recent failure of a call on this job, by whatever thread; "" when there
 * was none. The text stays as it is until sixteen further calls have failed. */
ESP_API const char* esp_job_error(const esp_job* job);

/* Drives progress once, without blocking; callbacks fire from here. Returns the number of events
 * handled. Does nothing (0) inside callbacks and with ESP_THREAD_PROGRESS. */
ESP_API int esp_progress(esp_job* job);

/* Monotonic seconds. */
ESP_API double esp_time(void);

/* Memory that the job's other ranks on this node can read in place: sends from it cost one copy and
 * no system call, from segments of 1 KiB on. Over RDMA connections, segments of 16 KiB and more are
 * sent from it and received into it without a copy: allocations of that size are registered with
 * the adapter. NULL when the region (setting HEAP_BYTES) is exhausted. 64-byte aligned. Freed by
 * esp_free or with the job. */
ESP_API void* esp_alloc(esp_job* job, size_t bytes);
ESP_API void esp_free(esp_job* job, void* memory);

/* ---- types and operators ---- */

typedef enum esp_type {
  ESP_BYTE = 0,
  ESP_INT8,
  ESP_INT16,
  ESP_INT32,
  ESP_INT64,
  ESP_UINT8,
  ESP_UINT16,
  ESP_UINT32,
  ESP_UINT64,
  ESP_HALF,
  ESP_BFLOAT16,
  ESP_FLOAT,
  ESP_DOUBLE,
  ESP_LONG_DOUBLE,
  ESP_COMPLEX_FLOAT,
  ESP_COMPLEX_DOUBLE,
  ESP_COMPLEX_LONG_DOUBLE,
  ESP_BOOL, /* C99 _Bool, C++ bool: one byte */
  ESP_FLOAT_INT,
  ESP_DOUBLE_INT,
  ESP_LONG_INT,
  ESP_2INT,
  ESP_SHORT_INT,
  ESP_LONG_DOUBLE_INT, /* {value, int index}, C layout */
  ESP_TYPE_COUNT,
  ESP_TYPE_HIGHEST = 0x7fffffff /* types that are made have numbers from ESP_TYPE_COUNT on */
} esp_type;

/* Bytes of one element (for the pair types: sizeof of the C struct), 0 for an unknown type. */
ESP_API size_t esp_type_size(esp_type type);
ESP_API const char* esp_type_name(esp_type type);

/* Built-in operators are small numbers; esp_op_create returns further ones, valid for the job that
 * made them. */
typedef int esp_op;
enum {
  ESP_SUM = 0,
  ESP_PROD,
  ESP_MIN,
  ESP_MAX,
  ESP_LAND,
  ESP_LOR,
  ESP_LXOR,
  ESP_BAND,
  ESP_BOR,
  ESP_BXOR,
  ESP_MINLOC,
  ESP_MAXLOC,
  /* The sum that is the same bits for the same values, whatever the number of ranks, which rank has
   * which value, nodes, algorithm and segments; of integers ESP_SUM. Floating-point elements travel
   * as 32 bytes each, complex ones as 64. Error and special values: docs/datatypes.md. The setting
   * REPRODUCIBLE makes every ESP_SUM one of these. */
  ESP_SUM_REPRODUCIBLE,
  ESP_OP_BUILTIN_COUNT
};

/* inout[i] = in[i] op inout[i] for i in [0, count). `in` holds the contribution of the lower ranks.
 * Runs on the thread that drives progress, also inside calls that start something. Must not call
 * the library (not all such calls are refused) nor wait for anything. */
typedef void (*esp_op_function)(const void* in, void* inout, size_t count, esp_type type,
                                void* context);
/* Local. Operators that are not commutative are applied in rank order. Must be associative. Every
 * member of a reduction creates and passes its own, in any order; mismatch checking compares
 * commutativity alone. */
ESP_API esp_status esp_op_create(esp_job* job, esp_op_function function, void* context,
                                 int commutative, esp_op* op);
/* Local. ESP_ERR_STATE while operations under way or persistent requests of this rank use it. */
ESP_API esp_status esp_op_free(esp_job* job, esp_op op);
ESP_API const char* esp_op_name(esp_op op);
/* 1 when the built-in operator is defined for the type. */
ESP_API int esp_op_defined(esp_op op, esp_type type);

/* ---- teams ---- */

ESP_API int esp_team_rank(const esp_team* team);
ESP_API int esp_team_size(const esp_team* team);
ESP_API esp_job* esp_team_job(const esp_team* team);
/* Rank in the job of a member of the team, -1 when out of range. */
ESP_API int esp_team_job_rank(const esp_team* team, int rank);
/* The inverse: rank in the team of a rank of the job, -1 when that is not a member. May look at all
 * members. */
ESP_API int esp_team_rank_of(const esp_team* team, int job_rank);
/* What broke the team, which stays until the team is freed; while it is whole, esp_job_error. */
ESP_API const char* esp_team_error(const esp_team* team);

/* Making teams is collective over `parent` and blocks: inside callbacks it is refused
 * (ESP_ERR_STATE). Numbers of teams are not used twice: a rank can be in 2^24 - 1 teams besides the
 * world, in a job of any size, then all members of the parent get ESP_ERR_NO_MEMORY. */
ESP_API esp_status esp_team_dup(esp_team* parent, esp_team** team);
/* Members with the same color (>= 0, or ESP_NO_TEAM: *team is NULL) form a team, ordered by key,
 * then by rank in the parent. */
#define ESP_NO_TEAM (-1)
ESP_API esp_status esp_team_split(esp_team* parent, int color, int key, esp_team** team);
/* Members listed (ranks in the parent, in the new order, the same list on every member) form a
 * team; the others get NULL. */
ESP_API esp_status esp_team_include(esp_team* parent, const int* ranks, int count, esp_team** team);
/* The same by those who are listed alone, which need not know the calls of the others: at least one
 * member, and the caller. Calls of different threads, or for lists that overlap, at the same time
 * differ in `tag`; which messages of the user's are under way does not matter. ESP_ERR_MISMATCH:
 * lists differ; the tag is not to be used again then. */
ESP_API esp_status esp_team_create(esp_team* parent, const int* ranks, int count, uint64_t tag,
                                   esp_team** team);
/* Local after all operations on the team have completed. The world team cannot be freed, nor one
 * that has regions or operations under way (ESP_ERR_STATE). Its inactive persistent requests stay
 * until they are freed, but cannot be started any more. */
ESP_API esp_status esp_team_free(esp_team* team);

/* ---- collectives ---- */

#define ESP_IN_PLACE \
  ((const void*)(intptr_t)-1) /* as send buffer: the input is in the receive buffer */

typedef enum esp_shape {
  ESP_SHAPE_AUTO = 0,
  ESP_SHAPE_FLAT,
  ESP_SHAPE_CHAIN,
  ESP_SHAPE_BINARY,
  ESP_SHAPE_BINOMIAL,
  ESP_SHAPE_KARY,
  ESP_SHAPE_KNOMIAL,
  ESP_SHAPE_TWO_TREE,
  ESP_SHAPE_DOUBLE_LEADER, /* the root has one child, which has all the others (HierKNEM reduce) */
  ESP_SHAPE_COUNT
} esp_shape;

/* The three variants of the ADAPT paper (Luo et al., HPDC '18, Algorithms 1-3): the same tree and
 * segments, with more or fewer synchronisation dependencies. BLOCKING and WAITALL exist as controls
 * of experiments: their transfers are complete when the receiver has taken the segment.
 * Of alltoall(v, w) by RING, ONE_FACTOR or XOR: EVENT: steps overlap as far as the windows allow;
 * WAITALL: in batches of `window_send` steps, each begun when the one before has been sent and
 * received; BLOCKING: one step after the other. */
typedef enum esp_variant {
  ESP_VARIANT_EVENT = 0,
  ESP_VARIANT_WAITALL,
  ESP_VARIANT_BLOCKING,
  ESP_VARIANT_COUNT
} esp_variant;

typedef enum esp_algorithm {
  ESP_ALGORITHM_AUTO = 0,
  ESP_ALGORITHM_SHORT,   /* single cache lines in shared memory; small messages within a node */
  ESP_ALGORITHM_TREE,    /* segments pipelined through a tree of the given shape; allgather(v),
                          * alltoall, reduce_scatter_block: by one leader of each node */
  ESP_ALGORITHM_PUBLISH, /* one publication in shared memory, all others read */
  ESP_ALGORITHM_SPREAD,  /* reduce-scatter then allgather, every member reduces its part (allreduce)
                          */
  ESP_ALGORITHM_RING,    /* from neighbour to neighbour; alltoall: each distance in turn */
  ESP_ALGORITHM_BRUCK,   /* log(members) rounds of `radix` - 1 messages, of more data each */
  ESP_ALGORITHM_DOUBLING,   /* log2(members) rounds, with a partner twice as far away in each */
  ESP_ALGORITHM_ONE_FACTOR, /* alltoall: in each round every member has one partner */
  ESP_ALGORITHM_XOR,        /* the same for 2^n members: partner = rank XOR round */
  ESP_ALGORITHM_HALVING,    /* allreduce: rounds with half the data in each, and back */
  ESP_ALGORITHM_LINEAR,     /* each block straight from its sender to its receiver */
  ESP_ALGORITHM_COUNT
} esp_algorithm;

/* Zero means "choose for me" everywhere. Must be equal on all members, but for the last three.
 *
 * `stream`: a CUstream (or cudaStream_t) by which this member orders the call, wherever its buffers
 * are; NULL: none. CUDA's names for the default streams, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD,
 * are streams. The call touches the buffers when all has happened that is in the stream when it is
 * made (a persistent one: when a round is started), which it does not wait for. What is put into
 * the stream later waits for the end of the operation, and `event` (a CUevent, or NULL) is recorded
 * there. The operation ends as any other, failed or not; the stream goes on in any case, and the
 * request or notify has the status. Until then the stream stands still: who synchronises it without
 * a thread that drives progress (ESP_THREAD_PROGRESS, or another in esp_request_wait) waits for
 * ever. Not of streams that are being captured. docs/devices.md has more. ESP_ERR_ARGUMENT: no
 * driver of devices is loaded, or it does not know the stream or event; ESP_ERR_UNSUPPORTED: of
 * barriers, with `partial`. */
typedef struct esp_coll_options {
  size_t struct_size;
  esp_algorithm algorithm;
  esp_shape shape;
  int radix;            /* of k-ary and k-nomial shapes and of BRUCK; >= 1 (k-ary), >= 2 */
  size_t segment_bytes; /* rounded down to a whole number of elements, at least one */
  int window_send;      /* N: segments in flight per child; 1..64 */
  int window_recv;      /* M: segments granted to the parent, M > N by default; 1..64 */
  esp_variant variant;
  const struct esp_partial* partial; /* NULL, or what this member asks for besides (partial.h) */
  void* stream;                      /* see above */
  void* event;
} esp_coll_options;

#define ESP_COLL_OPTIONS_INIT                                                                    \
  {                                                                                              \
    sizeof(esp_coll_options), ESP_ALGORITHM_AUTO, ESP_SHAPE_AUTO, 0, 0, 0, 0, ESP_VARIANT_EVENT, \
        NULL, NULL, NULL                                                                         \
  }

/* How a non-blocking operation reports, other than through a request. Exactly one of the two is
 * set: `callback` (runs once on the thread that drives progress, never from inside the starting
 * call; it may start operations but must not block) or `counter` (decremented once, with release
 * order, when the operation ends, failed or not). */
typedef void (*esp_callback)(void* context, esp_status status);
typedef struct esp_notify {
  esp_callback callback;
  void* context;
  int64_t* counter;
} esp_notify;

/* ---- regions: memory that other ranks write, read and count in ---- */

/* Memory of every member of a team, made together. An operation names a region, a member (its rank
 * in the team) and a byte offset in that member's memory; the member calls nothing. On the caller's
 * node it is done at once, by the calling thread, without a message or a system call; on other
 * nodes by adapters, or when the member drives progress. A put that is complete is in the memory
 * of the target. Nothing orders two operations of which the first is not complete, and nobody is
 * woken: tell by a message that data is there. Memory model and costs: docs/one-sided.md.
 *
 * An operation that fails does not break the team: its status says why, esp_job_error names the
 * rank. ESP_ERR_ARGUMENT: outside the member's memory, or an atomic on an offset that is not a
 * multiple of 8. */
typedef struct esp_region esp_region;

/* Collective; blocks. `bytes` of this member, may differ and be 0; the memory is zeroed, 64-byte
 * aligned and of the same kind as that of esp_alloc (setting HEAP_BYTES bounds it). All members
 * get ESP_ERR_NO_MEMORY when there is none on one. Any other failure (a member has died) may come
 * to some members only; the memory of those then stays until the job ends. */
ESP_API esp_status esp_region_create(esp_team* team, size_t bytes, esp_region** region);
/* Collective; blocks. No member has operations on it under way. Before the team is freed. When it
 * fails (a member has died) the handle is gone all the same, the memory with the job. */
ESP_API esp_status esp_region_free(esp_region* region);
/* Of this member: it may use its memory as any other, with atomics for words that others count in.
 */
ESP_API void* esp_region_memory(const esp_region* region);
/* Of any member; 0 for a rank out of range. */
ESP_API size_t esp_region_bytes(const esp_region* region, int rank);
/* Where a member's memory is for this process; NULL when the member is on another node. */
ESP_API void* esp_region_pointer(const esp_region* region, int rank);

/* Blocking forms; not inside callbacks. 0 bytes are allowed, of a NULL buffer too, at any offset up
 * to the end. The 64-bit atomics are atomic with each other, by whatever ranks on whatever nodes,
 * and with C11 atomics of the target; between nodes they always wait for the target to drive
 * progress, over RDMA as well. `old` may be NULL. */
ESP_API esp_status esp_put(esp_region* region, int rank, size_t offset, const void* buffer,
                           size_t bytes);
ESP_API esp_status esp_get(esp_region* region, int rank, size_t offset, void* buffer, size_t bytes);
ESP_API esp_status esp_fetch_add(esp_region* region, int rank, size_t offset, uint64_t value,
                                 uint64_t* old);
/* Stores `desired` if the word is `expected`; it was if *old == expected. */
ESP_API esp_status esp_compare_swap(esp_region* region, int rank, size_t offset, uint64_t expected,
                                    uint64_t desired, uint64_t* old);
/* Non-blocking forms report as collectives do. One counter may serve any number of operations. */
ESP_API esp_status esp_put_start(esp_region* region, int rank, size_t offset, const void* buffer,
                                 size_t bytes, const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_get_start(esp_region* region, int rank, size_t offset, void* buffer,
                                 size_t bytes, const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_fetch_add_start(esp_region* region, int rank, size_t offset, uint64_t value,
                                       uint64_t* old, const esp_notify* notify,
                                       esp_request** request);
ESP_API esp_status esp_compare_swap_start(esp_region* region, int rank, size_t offset,
                                          uint64_t expected, uint64_t desired, uint64_t* old,
                                          const esp_notify* notify, esp_request** request);

/* ---- active messages: short messages that call a function of the target ---- */

/* Runs on the target where progress is driven, never inside a call that starts something. It may
 * start operations and send messages, but not block. `source` is a rank of the job. The payload
 * ends with the call. */
typedef void (*esp_am_handler)(void* context, int source, uint64_t argument, const void* payload,
                               size_t bytes);
#define ESP_AM_IDS 64
/* Local: what messages of `id` (0 to ESP_AM_IDS - 1) call here; NULL takes it away. Before anybody
 * sends: a message for which there is no function is refused, which the target logs and the sender
 * learns: its later messages of this id to that rank fail with ESP_ERR_MISMATCH. */
ESP_API esp_status esp_am_register(esp_job* job, int id, esp_am_handler handler, void* context);
/* The longest payload in bytes; at least 16384. */
ESP_API size_t esp_am_bytes_max(const esp_job* job);
/* To a rank of the job, also to the caller itself. Complete when `payload` may be used again, which
 * waits while the target does not keep up. Messages of one rank to another come in the order of
 * their sending; with operations on regions there is no order. What comes after the target has
 * called esp_job_finalize is dropped. ESP_OK says nothing of delivery: a message to a rank that has
 * died may go, too, on one's own node as long as there is room for it (esp_job_check). */
ESP_API esp_status esp_am_send(esp_job* job, int rank, int id, uint64_t argument,
                               const void* payload, size_t bytes);
ESP_API esp_status esp_am_send_start(esp_job* job, int rank, int id, uint64_t argument,
                                     const void* payload, size_t bytes, const esp_notify* notify,
                                     esp_request** request);

/* Requests are freed by the call that reports their completion, which also sets the handle to NULL.
 * A NULL handle counts as complete, and so does a persistent one of which no round is under way:
 * its handle stays (persistent.h). */

/* Drives progress once, as esp_progress does. *done = 0 and ESP_IN_PROGRESS while the operation is
 * under way; then *done = 1 and its status. Never blocks; allowed inside callbacks. */
ESP_API esp_status esp_request_test(esp_request** request, int* done);
ESP_API esp_status esp_request_wait(esp_request** request);
/* *index is the position of the completed request, -1 when all handles were NULL. Returns that
 * request's status. While several are open, one whose other side has gone to finalize does not end
 * the wait: another may. */
ESP_API esp_status esp_request_wait_any(esp_request** requests, size_t count, int* index);
/* Returns the first status that is not ESP_OK; all requests are complete and freed in any case. */
ESP_API esp_status esp_request_wait_all(esp_request** requests, size_t count);
/* Waits until one has completed, then takes all that have: *completed (0: all handles were NULL),
 * with positions in indices[] and, unless NULL, statuses[]. Returns the first failure. */
ESP_API esp_status esp_request_wait_some(esp_request** requests, size_t count, int* indices,
                                         esp_status* statuses, size_t* completed);
/* Like esp_request_test, of one and of all; *done = 1 comes with what the waiting form returns.
 * test_all takes no request before all have completed. */
ESP_API esp_status esp_request_test_any(esp_request** requests, size_t count, int* index,
                                        int* done);
ESP_API esp_status esp_request_test_all(esp_request** requests, size_t count, int* done);
/* Blocks, driving progress, until *counter <= value. ESP_ERR_TIMEOUT after `timeout_seconds` (0:
 * the configured limit): operations that count it down are still under way then. Where this rank
 * has no operation under way at all, a rank of the job is lost and the counter has stood still for
 * more than a second, the wait ends as esp_job_check would. With ESP_THREAD_PROGRESS, who else
 * writes the counter does so atomically (release). */
ESP_API esp_status esp_counter_wait(esp_job* job, const int64_t* counter, int64_t value,
                                    double timeout_seconds);

/* ---- looking inside ---- */

typedef struct esp_counter_value {
  const char* name; /* static storage */
  const char* doc;
  uint64_t value;
} esp_counter_value;
/* Fills up to `capacity` entries and returns how many counters there are; of no job (NULL) they are
 * 0. */
ESP_API size_t esp_counters(const esp_job* job, esp_counter_value* values, size_t capacity);

/* Writes this rank's trace ring as Chrome/Perfetto JSON. ESP_ERR_STATE without the setting TRACE=1,
 * ESP_ERR_SYSTEM when the file cannot be written. */
ESP_API esp_status esp_trace_write(esp_job* job, const char* path);
/* Writes a human-readable report into `text` (always terminated): configuration, topology, peers
 * and why each path is used or not. Returns the bytes needed. */
ESP_API size_t esp_job_describe(const esp_job* job, char* text, size_t bytes);

#ifdef __cplusplus
}
#endif

#include "espalier/collectives.h" /* the functions */
#include "espalier/event_loop.h"  /* waiting elsewhere, and driving others while one waits */
#include "espalier/flows.h"       /* messages between two members */
#include "espalier/layouts.h"     /* types whose elements lie apart */
#include "espalier/neighbors.h"   /* exchanges on graphs */
#include "espalier/partial.h"     /* work on what has landed */
#include "espalier/persistent.h"  /* and their persistent forms */
#include "espalier/settings.h"    /* what settings there are */
#include "espalier/tags.h"        /* messages that are matched by tag */

#endif /* ESPALIER_ESPALIER_H */
