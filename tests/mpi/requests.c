/* requests: messages in both directions by one call, generalized requests, how requests stand,
 * buffers of communicators, and small functions around them, as MPI 4.1 says. One C program that
 * knows nothing but <mpi.h>. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static int lower, upper;

/* ---- generalized requests ---- */

static int queries, frees, cancels, cancel_complete;

static int query(void* extra, MPI_Status* status) {
  ++queries;
  CHECK_OK(MPI_Status_set_elements(status, MPI_INT, *(int*)extra));
  CHECK_OK(MPI_Status_set_cancelled(status, 0));
  status->MPI_SOURCE = 17;
  status->MPI_TAG = 23;
  return MPI_SUCCESS;
}
static int free_it(void* extra) {
  (void)extra;
  ++frees;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  ++cancels;
  cancel_complete = complete;
  return MPI_SUCCESS;
}

static void generalized(void) {
  int extra = 5, flag = 1, count = 0, index = -1;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status, statuses[2];
  CHECK_OK(MPI_Grequest_start(query, free_it, cancel, &extra, &requests[0]));
  CHECK_OK(MPI_Test(&requests[0], &flag, &status));
  CHECK(!flag && queries == 0);
  CHECK_OK(MPI_Cancel(&requests[0]));
  CHECK(cancels == 1 && !cancel_complete);
  CHECK_OK(MPI_Grequest_complete(requests[0]));
  CHECK_OK(MPI_Request_get_status(requests[0], &flag, &status));
  CHECK(flag && queries == 1 && frees == 0);
  CHECK_OK(MPI_Wait(&requests[0], &status));
  CHECK(requests[0] == MPI_REQUEST_NULL && queries == 2 && frees == 1);
  CHECK(status.MPI_SOURCE == 17 && status.MPI_TAG == 23);
  CHECK_OK(MPI_Get_elements(&status, MPI_INT, &count));
  CHECK(count == 5);
  /* Among others, of which one ends first. */
  CHECK_OK(MPI_Grequest_start(query, free_it, cancel, &extra, &requests[0]));
  CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Waitany(2, requests, &index, &status));
  CHECK(index == 1);
  CHECK_OK(MPI_Grequest_complete(requests[0]));
  CHECK_OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == 0 && requests[0] == MPI_REQUEST_NULL && frees == 2);
  CHECK_OK(MPI_Grequest_start(query, free_it, cancel, &extra, &requests[0]));
  CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Grequest_complete(requests[0]));
  CHECK_OK(MPI_Waitall(2, requests, statuses));
  CHECK(statuses[0].MPI_SOURCE == 17 && frees == 3);
  /* Freed before it is complete. */
  CHECK_OK(MPI_Grequest_start(query, free_it, cancel, &extra, &requests[0]));
  MPI_Request kept = requests[0];
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK(requests[0] == MPI_REQUEST_NULL && (kMpich || frees == 3)); /* 4.0.2 frees at once */
  CHECK_OK(MPI_Grequest_complete(kept));
  CHECK(frees == 4);
}

/* ---- both directions ---- */

#if KNOWN_STANDARD >= 40

enum { kLarge = 100000 };

static void both_directions(int count) {
  int *out = malloc((size_t)count * sizeof(int)), *in = malloc((size_t)count * sizeof(int));
  MPI_Request request;
  MPI_Status status;
  int flag = 0, index = -1, found = 0;
  for (int form = 0; form < 4; ++form) {
    for (int i = 0; i < count; ++i) out[i] = 1000 * rank + i + form, in[i] = -1;
    if (form % 2 == 0) {
      CHECK_OK(MPI_Isendrecv(out, count, MPI_INT, upper, 3, in, count, MPI_INT, lower, 3,
                             MPI_COMM_WORLD, &request));
    } else {
      CHECK_OK(MPI_Isendrecv_c(out, count, MPI_INT, upper, 3, in, count, MPI_INT, lower,
                               MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    }
    if (form == 0) CHECK_OK(MPI_Wait(&request, &status));
    if (form == 1) CHECK_OK(MPI_Waitany(1, &request, &index, &status));
    for (flag = 0; form == 2 && !flag;) CHECK_OK(MPI_Test(&request, &flag, &status));
    if (form == 3) CHECK_OK(MPI_Waitall(1, &request, &status));
    CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == lower && status.MPI_TAG == 3);
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &found));
    CHECK(found == count);
    for (int i = 0; i < count; ++i) {
      if (in[i] != 1000 * lower + i + form) check_at(__LINE__, 0, "element");
    }
  }
  free(out);
  free(in);
}

/* Every other element: the rest stays. */
static void replaced(int count, int form) {
  MPI_Datatype gaps;
  MPI_Request request;
  MPI_Status status;
  int* data = malloc(2 * (size_t)count * sizeof(int));
  CHECK_OK(MPI_Type_vector(count, 1, 2, MPI_INT, &gaps));
  CHECK_OK(MPI_Type_commit(&gaps));
  for (int i = 0; i < 2 * count; ++i) data[i] = i % 2 != 0 ? -1 : 1000 * rank + i;
  if (form == 0) {
    CHECK_OK(MPI_Isendrecv_replace(data, 1, gaps, upper, 4, lower, 4, MPI_COMM_WORLD, &request));
  } else if (form == 1) {
    CHECK_OK(MPI_Isendrecv_replace_c(data, 1, gaps, upper, 4, lower, 4, MPI_COMM_WORLD, &request));
  } else {
    CHECK_OK(MPI_Sendrecv_replace_c(data, 1, gaps, upper, 4, lower, 4, MPI_COMM_WORLD, &status));
    request = MPI_REQUEST_NULL;
  }
  CHECK_OK(MPI_Type_free(&gaps));
  if (form < 2) CHECK_OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == lower);
  for (int i = 0; i < 2 * count; ++i) {
    if (data[i] != (i % 2 != 0 ? -1 : 1000 * lower + i)) check_at(__LINE__, 0, "element");
  }
  free(data);
}

static void nobody(void) {
  MPI_Request request;
  MPI_Status status;
  int out = rank, in = -1;
  CHECK_OK(MPI_Isendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0,
                         MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && in == -1);
  /* Along a line. */
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int after = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  CHECK_OK(MPI_Isendrecv(&out, 1, MPI_INT, after, 1, &in, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                         &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == before && in == (rank > 0 ? rank - 1 : -1));
  CHECK_OK(MPI_Isendrecv_replace(&out, 1, MPI_INT, before, 2, after, 2, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == after && out == (rank < size - 1 ? rank + 1 : rank));
  CHECK_OK(MPI_Sendrecv_c(&rank, 1, MPI_INT, upper, 5, &in, 1, MPI_INT, lower, 5, MPI_COMM_WORLD,
                          &status));
  CHECK(in == lower);
}

static void started_both(void) {
  both_directions(3);
  both_directions(kLarge);
  for (int form = 0; form < 3; ++form) {
    replaced(2, form);
    replaced(kLarge, form);
  }
  nobody();
}
#else
static void started_both(void) {}
#endif

/* ---- how requests stand, buffers, and so on ---- */

#if KNOWN_STANDARD >= 41

static void standing(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 0, index = 7, count = 7, indices[3], in = -1;
  CHECK_OK(MPI_Request_get_status_all(3, requests, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag);
  CHECK_OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  CHECK(flag && index == MPI_UNDEFINED);
  CHECK_OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
  CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  CHECK(!flag && index == MPI_UNDEFINED);
  CHECK_OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK(count == 0);
  CHECK_OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK(!flag);
  CHECK_OK(MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD));
  for (flag = 0; !flag;) CHECK_OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK(statuses[1].MPI_TAG == 9 && statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && in == rank);
  CHECK_OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  CHECK(flag && index == 1 && statuses[0].MPI_SOURCE == rank);
  CHECK_OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK(count == 1 && indices[0] == 1 && statuses[0].MPI_TAG == 9);
  CHECK(requests[1] != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

/* Each with a message that goes to the next. */
static void send_by(MPI_Comm comm) {
  int in = -1;
  CHECK_OK(MPI_Bsend(&rank, 1, MPI_INT, upper, 2, comm));
  CHECK_OK(MPI_Recv(&in, 1, MPI_INT, lower, 2, comm, MPI_STATUS_IGNORE));
  CHECK(in == lower);
}

static void buffers(void) {
  enum { kBytes = 2000 };
  static char memory[kBytes], other[kBytes];
  static int long_message[4 * kBytes], in[4 * kBytes];
  void* found = NULL;
  int bytes = 0;
  MPI_Count large = 0;
  MPI_Comm comm;
  MPI_Request request;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_CLASS(MPI_Comm_detach_buffer(comm, &found, &bytes), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Comm_attach_buffer(comm, memory, kBytes));
  CHECK_CLASS(MPI_Comm_attach_buffer(comm, other, kBytes), MPI_ERR_BUFFER);
  send_by(comm);
  CHECK_OK(MPI_Comm_flush_buffer(comm));
  CHECK_OK(MPI_Comm_iflush_buffer(comm, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  /* The one does not serve the other. */
  CHECK_CLASS(MPI_Bsend(&rank, 1, MPI_INT, upper, 2, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Buffer_attach_c(other, kBytes));
  send_by(MPI_COMM_WORLD);
  CHECK_OK(MPI_Buffer_iflush(&request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Buffer_detach_c(&found, &large));
  CHECK(found == other && large == kBytes);
  CHECK_OK(MPI_Comm_detach_buffer(comm, &found, &bytes));
  CHECK(found == memory && bytes == kBytes);
  /* Any number of any length. */
  CHECK_OK(MPI_Comm_attach_buffer_c(comm, MPI_BUFFER_AUTOMATIC, 0));
  for (int k = 0; k < 3; ++k) {
    long_message[0] = rank + k;
    CHECK_OK(MPI_Bsend(long_message, 4 * kBytes, MPI_INT, upper, k, comm));
  }
  CHECK_OK(MPI_Comm_iflush_buffer(comm, &request));
  for (int k = 0; k < 3; ++k) {
    CHECK_OK(MPI_Recv(in, 4 * kBytes, MPI_INT, lower, k, comm, MPI_STATUS_IGNORE));
    CHECK(in[0] == lower + k);
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_detach_buffer_c(comm, &found, &large));
  CHECK(found == MPI_BUFFER_AUTOMATIC && large == 0);
  /* Goes with its communicator. */
  CHECK_OK(MPI_Comm_attach_buffer(comm, memory, kBytes));
  send_by(comm);
  CHECK_OK(MPI_Comm_free(&comm));
}

static void value_index(void) {
  MPI_Datatype pair = MPI_INT;
  CHECK_OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
  CHECK(pair == MPI_DOUBLE_INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
  CHECK(pair == MPI_2INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_LONG_DOUBLE, MPI_INT, &pair));
  CHECK(pair == MPI_LONG_DOUBLE_INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_CHAR, MPI_CHAR, &pair));
  CHECK(pair == MPI_DATATYPE_NULL);
  CHECK_CLASS(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair), MPI_ERR_TYPE);
}

static void hardware(void) {
  MPI_Info info;
  MPI_Comm node;
  int keys = 0;
  char key[MPI_MAX_INFO_KEY];
  CHECK_OK(MPI_Get_hw_resource_info(&info));
  CHECK_OK(MPI_Info_get_nkeys(info, &keys));
  for (int k = 0; k < keys; ++k) {
    MPI_Info hint;
    CHECK_OK(MPI_Info_get_nthkey(info, k, key));
    CHECK_OK(MPI_Info_create(&hint));
    CHECK_OK(MPI_Info_set(hint, "mpi_hw_resource_type", key));
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, hint, &node));
    if (node != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&node));
    CHECK_OK(MPI_Info_free(&hint));
  }
  CHECK(!kOurs || keys == 1);
  CHECK_OK(MPI_Info_free(&info));
}

static void newest(void) {
  standing();
  buffers();
  value_index();
  hardware();
}
#else
static void newest(void) {}
#endif

static void no_intercommunicators(void) {
  MPI_Comm comm;
  MPI_Group group;
  int found = -1;
  if (kOurs) { /* others answer, or have another class */
    CHECK_CLASS(MPI_Comm_remote_size(MPI_COMM_WORLD, &found), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
  }
  CHECK_OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &found));
  CHECK(!found);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
}

/* What others crash at, or forgive. */
static void errors(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int extra = 0;
  CHECK_CLASS(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Grequest_start(NULL, free_it, cancel, NULL, &request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Grequest_start(query, free_it, cancel, NULL, NULL), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Grequest_start(query, free_it, cancel, &extra, &request));
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  lower = (rank + size - 1) % size;
  upper = (rank + 1) % size;
  return_errors();
  generalized();
  if (!kMpich) started_both(); /* 4.0.2 has no statuses, and counts references of types wrongly */
  newest();
  no_intercommunicators();
  if (kOurs) errors();
  return conclude();
}
