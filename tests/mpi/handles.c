/* handles: handles and statuses as Fortran knows them, there and back, as one C program that knows
 * nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* Predefined handles come back as they are; two of them are two numbers. */
static void predefined(void) {
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
  CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) != MPI_Comm_c2f(MPI_COMM_SELF));
  CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
  CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_NULL)) == MPI_GROUP_NULL);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE_INT)) == MPI_DOUBLE_INT);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DATATYPE_NULL)) == MPI_DATATYPE_NULL);
  CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_MAXLOC)) == MPI_MAXLOC);
  CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_OP_NULL)) == MPI_OP_NULL);
  CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL)) == MPI_ERRHANDLER_NULL);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
  CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
  CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
}

static void error_of(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

/* What the program makes, each kind: the same number each time. */
static void made(void) {
  MPI_Comm comm;
  MPI_Group group;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Errhandler handler;
  MPI_Info info;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_group(comm, &group));
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  CHECK_OK(MPI_Comm_create_errhandler(error_of, &handler));
  CHECK_OK(MPI_Info_create(&info));
  for (int turn = 0; turn < 2; ++turn) {
    const MPI_Fint number = MPI_Comm_c2f(comm);
    CHECK(MPI_Comm_f2c(number) == comm && MPI_Comm_c2f(comm) == number);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(op)) == op);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)) == handler);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
  }
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_OK(MPI_Info_free(&info));
}

/* Many requests at once, which complete by the handles that come of their numbers. */
static void requests(void) {
  enum { kMany = 1000 };
  MPI_Fint* numbers = malloc(kMany * sizeof *numbers);
  int* values = malloc(kMany * sizeof *values);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kMany; ++i) {
      MPI_Request request;
      CHECK_OK(MPI_Irecv(&values[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request));
      numbers[i] = MPI_Request_c2f(request);
    }
    for (int i = 0; i < kMany; ++i) {
      CHECK_OK(MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD));
      MPI_Request request = MPI_Request_f2c(numbers[i]);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(request == MPI_REQUEST_NULL && values[i] == i);
    }
  }
  free(values);
  free(numbers);
}

static void messages(void) {
  int sent = 17, got = 0;
  MPI_Request request;
  MPI_Message message;
  CHECK_OK(MPI_Isend(&sent, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Mprobe(rank, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  MPI_Message same = MPI_Message_f2c(MPI_Message_c2f(message));
  CHECK(same == message);
  CHECK_OK(MPI_Mrecv(&got, 1, MPI_INT, &same, MPI_STATUS_IGNORE));
  CHECK(got == 17 && same == MPI_MESSAGE_NULL);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void statuses(void) {
  MPI_Status status, back;
  int sent[3] = {1, 2, 3}, got[4], n = 0;
  MPI_Fint numbers[sizeof(MPI_Status) / sizeof(MPI_Fint) + 1];
  CHECK_OK(
      MPI_Sendrecv(sent, 3, MPI_INT, rank, 9, got, 4, MPI_INT, rank, 9, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Status_c2f(&status, numbers));
  memset(&back, 0, sizeof back);
  CHECK_OK(MPI_Status_f2c(numbers, &back));
  CHECK(back.MPI_SOURCE == rank && back.MPI_TAG == 9);
  CHECK_OK(MPI_Get_count(&back, MPI_INT, &n));
  CHECK(n == 3);
#ifdef ESPALIER_MPI_MPI_H
  CHECK(numbers[MPI_F_SOURCE] == rank && numbers[MPI_F_TAG] == 9);
  CHECK(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
#endif
}

#ifdef ESPALIER_MPI_MPI_H

/* A number of no object, or of one of another kind, or of one that is gone. */
static void wrong_numbers(void) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  const MPI_Fint number = MPI_Info_c2f(info);
  CHECK(number >= 0x1000);
  CHECK(MPI_Comm_f2c(number) == MPI_COMM_NULL && MPI_Type_f2c(number) == MPI_DATATYPE_NULL);
  CHECK(MPI_Info_f2c(number + 100000) == MPI_INFO_NULL && MPI_Info_f2c(-5) == MPI_INFO_NULL);
  CHECK(MPI_Info_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_INFO_NULL);
  CHECK(MPI_Op_f2c(0x25) == MPI_OP_NULL && MPI_Comm_f2c(0) == MPI_COMM_NULL);
  CHECK_OK(MPI_Info_free(&info));
  CHECK(MPI_Info_f2c(number) == MPI_INFO_NULL);
  CHECK_CLASS(MPI_Comm_rank(MPI_Comm_f2c(number), &rank), MPI_ERR_COMM);
  CHECK_OK(MPI_Info_create(&info));
  CHECK(MPI_Info_c2f(info) == number); /* is given again */
  CHECK_OK(MPI_Info_free(&info));
}

static void as_numbers(void) {
  MPI_Group group;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
  CHECK_OK(MPI_Group_free(&group));
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
  CHECK(MPI_Type_toint(MPI_INT) == 0x209 && MPI_Type_fromint(0x209) == MPI_INT);
  CHECK(MPI_Op_toint(MPI_SUM) == 0x21 && MPI_Op_fromint(0x21) == MPI_SUM);
  CHECK(MPI_Request_toint(MPI_REQUEST_NULL) == 0x180);
  CHECK(MPI_Request_fromint(0x180) == MPI_REQUEST_NULL);
  CHECK(MPI_Errhandler_toint(MPI_ERRORS_RETURN) == 0x143);
  CHECK(MPI_Errhandler_fromint(0x143) == MPI_ERRORS_RETURN);
  CHECK(MPI_Info_toint(MPI_INFO_ENV) == 0x131 && MPI_Info_fromint(0x131) == MPI_INFO_ENV);
  CHECK(MPI_Message_toint(MPI_MESSAGE_NO_PROC) == 0x129);
  CHECK(MPI_Message_fromint(0x129) == MPI_MESSAGE_NO_PROC);
}

static int ended, seen;

static void ends(void* extra) {
  ended += *(int*)extra;
}

static void adds(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* extra) {
  CHECK(type == MPI_INT);
  for (MPI_Count i = 0; i < count; ++i) ((int*)inout)[i] += ((int*)in)[i] + *(int*)extra;
}

static void sees(MPI_Comm comm, int code, void* extra) {
  CHECK(comm == MPI_COMM_SELF && class_of(code) == MPI_ERR_RANK);
  seen += *(int*)extra;
}

/* Functions that get what their maker knows. */
static void with_state(void) {
  int one = 1, five = 5, sum = 10;
  MPI_Op op;
  MPI_Errhandler handler;
  CHECK_OK(MPIX_Op_create_x(adds, ends, 1, &five, &op));
  CHECK_OK(MPI_Reduce_local(&one, &sum, 1, MPI_INT, op));
  CHECK(sum == 16 && ended == 0);
  CHECK_OK(MPI_Op_free(&op));
  CHECK(ended == 5);
  CHECK_CLASS(MPIX_Op_create_x(NULL, NULL, 1, NULL, &op), MPI_ERR_ARG);
  CHECK_OK(MPIX_Comm_create_errhandler_x(sees, ends, &five, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_CLASS(MPI_Send(&one, 1, MPI_INT, 7, 0, MPI_COMM_SELF), MPI_ERR_RANK);
  CHECK(seen == 5 && ended == 5);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK(ended == 10);
  CHECK_CLASS(MPIX_Comm_create_errhandler_x(NULL, NULL, NULL, &handler), MPI_ERR_ARG);
}

static void ours(void) {
  MPI_Status status;
  MPI_Fint numbers[MPI_F_STATUS_SIZE];
  CHECK(MPI_F_STATUS_IGNORE != NULL && MPI_F_STATUS_IGNORE != MPI_F_STATUSES_IGNORE);
  CHECK_CLASS(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &status), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_f2c(MPI_F_STATUSES_IGNORE, &status), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_c2f(MPI_STATUS_IGNORE, numbers), MPI_ERR_ARG);
  wrong_numbers();
  as_numbers();
  with_state();
}

#else
static void ours(void) {}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  predefined();
  made();
  requests();
  messages();
  statuses();
  ours();
  return conclude();
}
