/* attributes: what programs hang on communicators, and what the standard does, as one C program
 * that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* What the functions of a key were called for. */
typedef struct Calls {
  int copies, deletions, fails;
  int order[16]; /* values that were deleted */
} Calls;

static int copy_and_count(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  Calls* calls = extra;
  (void)comm;
  (void)key;
  ++calls->copies;
  *(void**)out = (char*)in + 100;
  *flag = (intptr_t)in % 2 != 0; /* odd values alone */
  return calls->fails ? calls->fails : MPI_SUCCESS;
}

static int delete_and_count(MPI_Comm comm, int key, void* value, void* extra) {
  Calls* calls = extra;
  (void)comm;
  (void)key;
  if (calls->fails) return calls->fails;
  calls->order[calls->deletions++ % 16] = (int)(intptr_t)value;
  return MPI_SUCCESS;
}

/* The value, or -1: none. */
static int value_of(MPI_Comm comm, int key) {
  void* value = NULL;
  int flag = -1;
  CHECK_OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  return flag ? (int)(intptr_t)value : -1;
}

static void set(MPI_Comm comm, int key, intptr_t value) {
  CHECK_OK(MPI_Comm_set_attr(comm, key, (void*)value));
}

static MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(comm, &copy));
  return copy;
}

/* ---- of the standard ---- */

static int predefined(int key, int* value) {
  int* found = NULL;
  int flag = -1;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &found, &flag));
  if (flag) *value = *found;
  return flag;
}

static void of_the_standard(void) {
  int value = 0;
  CHECK(predefined(MPI_TAG_UB, &value) && value >= 32767);
  CHECK(!kOurs || value == 2147483647);
  CHECK(predefined(MPI_WTIME_IS_GLOBAL, &value) && (value == 0 || value == 1));
  CHECK(predefined(MPI_IO, &value));
  CHECK(!kOurs || value == MPI_ANY_SOURCE);
  CHECK(!predefined(MPI_HOST, &value) || value == MPI_PROC_NULL);
  /* Open MPI counts slots, of which there may be fewer. */
  CHECK(!predefined(MPI_UNIVERSE_SIZE, &value) || value >= (kOurs ? size : 1));
  CHECK(!predefined(MPI_APPNUM, &value) || value >= 0);
  CHECK(!predefined(MPI_LASTUSEDCODE, &value) || value >= MPI_ERR_LASTCODE);
  int* old = NULL;
  int flag = 0;
  MPI_Comm copy = duplicate(MPI_COMM_WORLD);
  CHECK_OK(MPI_Attr_get(copy, MPI_TAG_UB, &old, &flag));
  CHECK(flag && *old >= 32767);
  CHECK_OK(MPI_Comm_free(&copy));
}

/* ---- of the program ---- */

static void set_and_get(void) {
  Calls calls = {0};
  int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &key, &calls));
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &other, &calls));
  CHECK(key != MPI_KEYVAL_INVALID && key != other);
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  CHECK(value_of(comm, key) == -1);
  set(comm, key, 0);
  CHECK(value_of(comm, key) == 0 && value_of(comm, other) == -1);
  CHECK(value_of(MPI_COMM_WORLD, key) == -1);
  /* What is replaced is deleted. */
  set(comm, key, 7);
  CHECK(calls.deletions == 1 && calls.order[0] == 0 && value_of(comm, key) == 7);
  set(comm, other, 8);
  CHECK_OK(MPI_Comm_delete_attr(comm, key));
  CHECK(calls.deletions == 2 && calls.order[1] == 7);
  CHECK(value_of(comm, key) == -1 && value_of(comm, other) == 8);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK(calls.deletions == 3 && calls.order[2] == 8 && calls.copies == 0);
  CHECK_OK(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Comm_free_keyval(&other));
}

static void copied(void) {
  Calls calls = {0};
  int odd, even, all, none;
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &odd, &calls));
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &even, &calls));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &all, NULL));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL));
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  set(comm, odd, 1);
  set(comm, even, 2);
  set(comm, all, 3);
  set(comm, none, 4);
  MPI_Comm copy = duplicate(comm), again, part;
  CHECK(calls.copies == 2);
  CHECK(value_of(copy, odd) == 101 && value_of(copy, even) == -1);
  CHECK(value_of(copy, all) == 3 && value_of(copy, none) == -1);
  again = duplicate(copy);
  CHECK(calls.copies == 3 && value_of(again, odd) == 201 && value_of(again, all) == 3);
  /* What is no duplicate inherits nothing. */
  CHECK_OK(MPI_Comm_split(comm, 0, 0, &part));
  CHECK(value_of(part, all) == -1 && calls.copies == 3);
  CHECK_OK(MPI_Comm_free(&part));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK(calls.deletions == 2);
  CHECK_OK(MPI_Comm_free(&again));
  CHECK(calls.deletions == 3 && calls.order[2] == 201 && value_of(copy, odd) == 101);
  MPI_Request request;
  CHECK_OK(MPI_Comm_idup(copy, &again, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(value_of(again, odd) == 201 && value_of(again, all) == 3);
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK(calls.deletions == 5);
  int* const keys[] = {&odd, &even, &all, &none};
  for (int i = 0; i < 4; ++i) CHECK_OK(MPI_Comm_free_keyval(keys[i]));
}

/* A key that is freed lives on while something hangs on it. */
static void freed_early(void) {
  Calls calls = {0};
  int key;
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &key, &calls));
  const int kept = key;
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  set(comm, key, 5);
  CHECK_OK(MPI_Comm_free_keyval(&key));
  CHECK(calls.deletions == 0 && (!kOurs || value_of(comm, kept) == 5));
  MPI_Comm copy = duplicate(comm);
  CHECK(calls.copies == 1);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK(calls.deletions == 2 && calls.order[0] == 5 && calls.order[1] == 105);
}

/* ---- of datatypes ---- */

static int delete_of_type(MPI_Datatype type, int key, void* value, void* extra) {
  Calls* calls = extra;
  (void)key;
  calls->order[calls->deletions++ % 16] = type == MPI_DOUBLE ? (int)(intptr_t)value : -1;
  return MPI_SUCCESS;
}

static void of_datatypes(void) {
  Calls calls = {0};
  int key, flag = -1;
  void* value = NULL;
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &key, &calls));
  CHECK_OK(MPI_Type_set_attr(MPI_DOUBLE, key, (void*)(intptr_t)5));
  CHECK_OK(MPI_Type_set_attr(MPI_DOUBLE, key, (void*)(intptr_t)6));
  CHECK_OK(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag));
  CHECK(flag && value == (void*)(intptr_t)6 && calls.deletions == 1 && calls.order[0] == 5);
  CHECK_OK(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Type_delete_attr(MPI_DOUBLE, key));
  CHECK(calls.deletions == 2 && calls.order[1] == 6);
  CHECK_OK(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Type_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
}

/* ---- by the old names ---- */

static void old_names(void) {
  Calls calls = {0};
  int key, all, flag = -1;
  void* value = NULL;
  CHECK_OK(MPI_Keyval_create(copy_and_count, delete_and_count, &key, &calls));
  CHECK_OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &all, NULL));
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  CHECK_OK(MPI_Attr_put(comm, key, &calls));
  CHECK_OK(MPI_Attr_put(comm, all, &flag));
  CHECK_OK(MPI_Attr_get(comm, key, &value, &flag));
  CHECK(flag && value == &calls);
  CHECK_OK(MPI_Attr_delete(comm, key));
  CHECK_OK(MPI_Attr_get(comm, key, &value, &flag));
  CHECK(!flag && calls.deletions == 1);
  MPI_Comm copy = duplicate(comm);
  CHECK_OK(MPI_Attr_get(copy, all, &value, &flag));
  CHECK(flag && value == &flag);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Keyval_free(&key));
  CHECK_OK(MPI_Keyval_free(&all));
  CHECK(key == MPI_KEYVAL_INVALID);
}

/* ---- functions that fail ---- */

static void failing(void) {
  Calls calls = {0};
  int key, other;
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &other, &calls));
  MPI_Comm comm = duplicate(MPI_COMM_WORLD), copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  Calls bad = {0};
  CHECK_OK(MPI_Comm_create_keyval(copy_and_count, delete_and_count, &key, &bad));
  set(comm, other, 1);
  set(comm, key, 3);
  bad.fails = MPI_ERR_OTHER;
  CHECK_CLASS(MPI_Comm_delete_attr(comm, key), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Comm_set_attr(comm, key, &bad), MPI_ERR_OTHER);
  CHECK(value_of(comm, key) == 3 && bad.deletions == 0);
  CHECK_CLASS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
  if (kOurs) {
    CHECK(copy == MPI_COMM_NULL);
    CHECK(calls.copies == 1 && calls.deletions == 1 && calls.order[0] == 101);
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_OTHER);
    CHECK(comm != MPI_COMM_NULL && value_of(comm, key) == 3);
  }
  bad.fails = 0;
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK(bad.deletions == 1);
  CHECK_OK(MPI_Comm_free_keyval(&key));
  CHECK_OK(MPI_Comm_free_keyval(&other));
}

static void errors(void) {
  int key, none = MPI_KEYVAL_INVALID, flag = 0;
  void* value = NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_NULL, key, NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_NULL, key, &value, &flag), MPI_ERR_COMM);
  if (kOurs) {
    CHECK_CLASS(MPI_Comm_set_attr(world, none, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_get_attr(world, none, &value, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&none), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(world, key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_set_attr(world, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(world, MPI_TAG_UB), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_get_attr(world, key, NULL, &flag), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_create_keyval(NULL, NULL, NULL, NULL), MPI_ERR_ARG);
    int of_types;
    CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &of_types, NULL));
    CHECK_CLASS(MPI_Comm_set_attr(world, of_types, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_set_attr(MPI_INT, key, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Type_set_attr(MPI_DATATYPE_NULL, of_types, NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Comm_free_keyval(&of_types), MPI_ERR_KEYVAL);
    CHECK_OK(MPI_Type_free_keyval(&of_types));
    const int gone = key;
    CHECK_OK(MPI_Comm_free_keyval(&key));
    CHECK_CLASS(MPI_Comm_set_attr(world, gone, NULL), MPI_ERR_KEYVAL);
    return;
  }
  CHECK_OK(MPI_Comm_free_keyval(&key));
}

/* ---- at the end ---- */

static int finals, final_order[3], still_works;

static int at_end(MPI_Comm comm, int key, void* value, void* extra) {
  int flag = -1, sum = 0, one = 1;
  (void)extra;
  MPI_Finalized(&flag);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  still_works += !flag && sum == size && comm == MPI_COMM_SELF && key != MPI_KEYVAL_INVALID;
  final_order[finals++ % 3] = (int)(intptr_t)value;
  return MPI_SUCCESS;
}

static void hang_on_self(void) {
  for (int i = 0; i < 3; ++i) {
    int key;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL));
    set(MPI_COMM_SELF, key, i);
    CHECK_OK(MPI_Comm_free_keyval(&key));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  of_the_standard();
  set_and_get();
  copied();
  freed_early();
  of_datatypes();
  old_names();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    failing();
    errors();
  }
  hang_on_self();
  const int failed = conclude();
  /* From the last to the first. */
  const int is_right = finals == 3 && still_works == 3 && final_order[0] == 2 &&
                       final_order[1] == 1 && final_order[2] == 0;
  if (!is_right) fprintf(stderr, "FAILED rank %d: attributes at the end\n", rank);
  return failed || !is_right;
}
