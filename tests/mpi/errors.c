/* errors: classes, codes and handlers of the standard and of the program's own, as one C program
 * that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <string.h>

#include "conformance.h"

static int handled, handled_code;
static MPI_Comm handled_comm;

static void handler(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *comm;
}

static int has_text(int code, const char* wanted) {
  char text[MPI_MAX_ERROR_STRING] = "?";
  int length = -1;
  CHECK_OK(MPI_Error_string(code, text, &length));
  return length == (int)strlen(text) && strcmp(text, wanted) == 0;
}

/* ---- classes ---- */

static const int kClasses[] = {
    MPI_SUCCESS,
    MPI_ERR_BUFFER,
    MPI_ERR_COUNT,
    MPI_ERR_TYPE,
    MPI_ERR_TAG,
    MPI_ERR_COMM,
    MPI_ERR_RANK,
    MPI_ERR_REQUEST,
    MPI_ERR_ROOT,
    MPI_ERR_GROUP,
    MPI_ERR_OP,
    MPI_ERR_TOPOLOGY,
    MPI_ERR_DIMS,
    MPI_ERR_ARG,
    MPI_ERR_UNKNOWN,
    MPI_ERR_TRUNCATE,
    MPI_ERR_OTHER,
    MPI_ERR_INTERN,
    MPI_ERR_PENDING,
    MPI_ERR_IN_STATUS,
    MPI_ERR_ACCESS,
    MPI_ERR_AMODE,
    MPI_ERR_ASSERT,
    MPI_ERR_BAD_FILE,
    MPI_ERR_BASE,
    MPI_ERR_CONVERSION,
    MPI_ERR_DISP,
    MPI_ERR_DUP_DATAREP,
    MPI_ERR_FILE_EXISTS,
    MPI_ERR_FILE_IN_USE,
    MPI_ERR_FILE,
    MPI_ERR_INFO_KEY,
    MPI_ERR_INFO_NOKEY,
    MPI_ERR_INFO_VALUE,
    MPI_ERR_INFO,
    MPI_ERR_IO,
    MPI_ERR_KEYVAL,
    MPI_ERR_LOCKTYPE,
    MPI_ERR_NAME,
    MPI_ERR_NO_MEM,
    MPI_ERR_NOT_SAME,
    MPI_ERR_NO_SPACE,
    MPI_ERR_NO_SUCH_FILE,
    MPI_ERR_PORT,
    MPI_ERR_QUOTA,
    MPI_ERR_READ_ONLY,
    MPI_ERR_RMA_ATTACH,
    MPI_ERR_RMA_CONFLICT,
    MPI_ERR_RMA_RANGE,
    MPI_ERR_RMA_SHARED,
    MPI_ERR_RMA_SYNC,
    MPI_ERR_SERVICE,
    MPI_ERR_SIZE,
    MPI_ERR_SPAWN,
    MPI_ERR_UNSUPPORTED_DATAREP,
    MPI_ERR_UNSUPPORTED_OPERATION,
    MPI_ERR_WIN,
    MPI_ERR_RMA_FLAVOR,
#ifdef ESPALIER_MPI_MPI_H /* of MPI 4.0 and later */
    MPI_ERR_PROC_ABORTED,
    MPI_ERR_VALUE_TOO_LARGE,
    MPI_ERR_SESSION,
    MPI_ERR_ERRHANDLER,
    MPI_ERR_ABI,
#endif
};

static void all_classes(void) {
  for (size_t i = 0; i < sizeof kClasses / sizeof *kClasses; ++i) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    CHECK(class_of(kClasses[i]) == kClasses[i]);
    CHECK(kClasses[i] <= MPI_ERR_LASTCODE);
    CHECK_OK(MPI_Error_string(kClasses[i], text, &length));
    CHECK(length > 0 && length == (int)strlen(text));
  }
}

/* ---- of the program ---- */

static int last_used(void) {
  int* value = NULL;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  return flag ? *value : -1;
}

static void own_codes(void) {
  int class_a = 0, class_b = 0, code_a = 0, code_b = 0, of_standard = 0;
  const int before = last_used();
  CHECK_OK(MPI_Add_error_class(&class_a));
  CHECK_OK(MPI_Add_error_class(&class_b));
  CHECK(class_a > MPI_ERR_LASTCODE && class_b > MPI_ERR_LASTCODE && class_a != class_b);
  CHECK_OK(MPI_Add_error_code(class_a, &code_a));
  CHECK_OK(MPI_Add_error_code(class_b, &code_b));
  CHECK_OK(MPI_Add_error_code(MPI_ERR_ARG, &of_standard));
  if (kOurs || kMpich) CHECK(class_of(class_a) == class_a); /* Open MPI 4.1 says another. */
  CHECK(class_of(code_a) == class_a);
  CHECK(class_of(code_b) == class_b && class_of(of_standard) == MPI_ERR_ARG);
  CHECK(last_used() >= of_standard && last_used() > before);
  CHECK(has_text(code_a, ""));
  CHECK_OK(MPI_Add_error_string(class_a, "class A"));
  CHECK_OK(MPI_Add_error_string(code_a, "code of A"));
  CHECK(has_text(class_a, "class A") && has_text(code_a, "code of A"));
  CHECK_OK(MPI_Add_error_string(code_a, "another text"));
  CHECK(has_text(code_a, "another text"));
#ifdef ESPALIER_MPI_MPI_H /* of MPI 4.1 */
  CHECK_OK(MPI_Remove_error_string(code_a));
  CHECK(has_text(code_a, ""));
  CHECK_CLASS(MPI_Remove_error_class(class_a), MPI_ERR_ARG); /* it has a code */
  CHECK_CLASS(MPI_Remove_error_class(code_a), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_code(class_a), MPI_ERR_ARG);
  CHECK_OK(MPI_Remove_error_code(code_a));
  CHECK_OK(MPI_Remove_error_class(class_a));
  CHECK_CLASS(MPI_Remove_error_class(class_a), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_string(code_a), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_class(MPI_ERR_ARG), MPI_ERR_ARG);
  CHECK(class_of(code_b) == class_b);
  CHECK_OK(MPI_Remove_error_code(code_b));
  CHECK_OK(MPI_Remove_error_class(class_b));
  CHECK_OK(MPI_Remove_error_code(of_standard));
  int found = 0;
  CHECK_CLASS(MPI_Error_class(code_b, &found), MPI_ERR_ARG);
#endif
}

/* All numbers, and again after they were given back. */
#ifdef ESPALIER_MPI_MPI_H
static void many_codes(void) {
  int codes[600], count = 0, code = MPI_SUCCESS;
  while (count < 600 && code == MPI_SUCCESS) {
    code = MPI_Add_error_code(MPI_ERR_IO, &codes[count]);
    count += code == MPI_SUCCESS;
  }
  CHECK(count == 511 && class_of(code) == MPI_ERR_NO_MEM); /* one class is left from before */
  for (int i = 0; i < count; ++i) CHECK_OK(MPI_Remove_error_code(codes[i]));
  CHECK_OK(MPI_Add_error_class(&codes[0]));
  CHECK_OK(MPI_Remove_error_class(codes[0]));
}
#endif

static void codes_errors(void) {
  int code = 0;
  char text[MPI_MAX_ERROR_STRING];
  CHECK_CLASS(MPI_Add_error_string(MPI_ERR_ARG, "not mine"), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_class(-1, &code), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_string(-1, text, &code), MPI_ERR_ARG);
  if (!kOurs) return;
  CHECK_CLASS(MPI_Add_error_code(MPI_SUCCESS, &code), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Add_error_code(MPI_ERR_LASTCODE + 500, &code), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Add_error_class(NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_class(MPI_ERR_ARG, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_string(MPI_ERR_ARG, NULL, &code), MPI_ERR_ARG);
  CHECK(code == 0);
}

/* ---- handlers ---- */

static void called_by_program(void) {
  MPI_Errhandler mine, found;
  MPI_Comm comm, copy;
  int own = 0;
  CHECK_OK(MPI_Add_error_class(&own));
  CHECK_OK(MPI_Comm_create_errhandler(handler, &mine));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, mine));
  CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_IO));
  CHECK(handled == 1 && handled_code == MPI_ERR_IO && handled_comm == comm);
  CHECK_OK(MPI_Comm_call_errhandler(comm, own));
  CHECK(handled == 2 && handled_code == own);
  /* In use it lives on after it was freed, also on duplicates. */
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK(mine == MPI_ERRHANDLER_NULL);
  CHECK_OK(MPI_Comm_dup(comm, &copy));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_get_errhandler(copy, &found));
  CHECK_OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_call_errhandler(copy, own));
  CHECK(handled == 2);
  CHECK_OK(MPI_Comm_set_errhandler(copy, found));
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Comm_call_errhandler(copy, own));
  CHECK(handled == 3 && handled_comm == copy);
  CHECK_OK(MPI_Comm_free(&copy));
}

#ifdef ESPALIER_MPI_MPI_H
/* Removed from MPI, and from others' headers. */
static void old_names(void) {
  MPI_Errhandler mine, found;
  CHECK_OK(MPI_Errhandler_create(handler, &mine));
  CHECK_OK(MPI_Errhandler_set(MPI_COMM_SELF, mine));
  CHECK_OK(MPI_Errhandler_get(MPI_COMM_SELF, &found));
  CHECK(found == mine);
  CHECK_OK(MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&mine));
}

/* Before MPI 4.0 these went to MPI_COMM_WORLD. */
static void of_no_communicator(void) {
  MPI_Errhandler mine;
  int n = 0, before = handled;
  CHECK_OK(MPI_Comm_create_errhandler(handler, &mine));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
  CHECK(handled == before + 1 && handled_comm == MPI_COMM_SELF);
  CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
  CHECK(handled == before + 2 && class_of(handled_code) == MPI_ERR_GROUP);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK_CLASS(MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_IO), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Errhandler_free(&mine), MPI_ERR_ARG);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  all_classes();
  own_codes();
  called_by_program();
#ifdef ESPALIER_MPI_MPI_H
  many_codes();
  old_names();
  of_no_communicator();
#endif
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) codes_errors();
  return conclude();
}
