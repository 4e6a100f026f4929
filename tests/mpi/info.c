/* info: info objects, and memory that MPI gives, as one C program that knows nothing but <mpi.h>;
 * see conformance.c. Any number of processes.
 */
#include <stdint.h>
#include <string.h>

#include "conformance.h"

static int keys_of(MPI_Info info) {
  int n = -1;
  CHECK_OK(MPI_Info_get_nkeys(info, &n));
  return n;
}

static int has(MPI_Info info, const char* key, const char* wanted) {
  char value[MPI_MAX_INFO_VAL + 1] = "?";
  int flag = -1, length = -1;
  CHECK_OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &flag));
  if (!flag) return wanted == NULL;
  CHECK_OK(MPI_Info_get_valuelen(info, key, &length, &flag));
  return flag && wanted != NULL && strcmp(value, wanted) == 0 && length == (int)strlen(wanted);
}

static void objects(void) {
  MPI_Info info, copy;
  char key[MPI_MAX_INFO_KEY + 1], value[8] = "???????";
  int flag = -1, length = -7;
  CHECK_OK(MPI_Info_create(&info));
  CHECK(info != MPI_INFO_NULL && keys_of(info) == 0);
  CHECK_OK(MPI_Info_set(info, "first", "1"));
  CHECK_OK(MPI_Info_set(info, "second", "two"));
  CHECK_OK(MPI_Info_set(info, "third", "dritter Wert"));
  CHECK_OK(MPI_Info_set(info, "first", "one"));
  CHECK(keys_of(info) == 3 && has(info, "first", "one") && has(info, "third", "dritter Wert"));
  CHECK(has(info, "fourth", NULL) && has(info, "firs", NULL));
  CHECK_OK(MPI_Info_get_valuelen(info, "fourth", &length, &flag));
  CHECK(!flag && length == -7);
  /* What is too long for the room is cut, and terminated. */
  if (!kMpich) { /* MPICH refuses it. */
    CHECK_OK(MPI_Info_get(info, "third", 3, value, &flag));
    CHECK(flag && strcmp(value, "dri") == 0 && value[4] == '?');
  }
  CHECK_OK(MPI_Info_dup(info, &copy));
  CHECK_OK(MPI_Info_delete(info, "second"));
  CHECK(keys_of(info) == 2 && has(info, "second", NULL));
  const char* const order[] = {"first", "second", "third"};
  CHECK(keys_of(copy) == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(MPI_Info_get_nthkey(copy, i, key));
    CHECK(strcmp(key, order[i]) == 0);
  }
  CHECK(has(copy, "second", "two"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL && has(copy, "first", "one"));
  CHECK_OK(MPI_Info_free(&copy));
}

/* The longest key and value that there may be. */
static void limits(void) {
  MPI_Info info;
  char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
  memset(key, 'k', sizeof key);
  memset(value, 'v', sizeof value);
  key[MPI_MAX_INFO_KEY - 1] = '\0';
  value[MPI_MAX_INFO_VAL - 1] = '\0';
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, key, value));
  CHECK(has(info, key, value));
  if (kOurs || kMpich) { /* Open MPI refuses it. */
    CHECK_OK(MPI_Info_set(info, "empty", ""));
    CHECK(has(info, "empty", "") && keys_of(info) == 2);
  }
  CHECK_OK(MPI_Info_free(&info));
}

/* Of the start of the program: what is not known is not there. */
static void environment(void) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = -1;
  CHECK(keys_of(MPI_INFO_ENV) >= 0);
  CHECK_OK(MPI_Info_get(MPI_INFO_ENV, "command", MPI_MAX_INFO_VAL - 1, value, &flag));
  CHECK(!kOurs || (flag && strstr(value, "info") != NULL));
  CHECK_OK(MPI_Info_get(MPI_INFO_ENV, "of nobody", 4, value, &flag));
  CHECK(!flag);
}

#ifdef ESPALIER_MPI_MPI_H
/* Of MPI 4.0 and 4.1. */
static void strings(void) {
  MPI_Info info;
  char value[16] = "unchanged";
  int length = 0, flag = -1;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "key", "value"));
  CHECK_OK(MPI_Info_get_string(info, "key", &length, value, &flag));
  CHECK(flag && length == 6 && strcmp(value, "unchanged") == 0);
  length = 4;
  CHECK_OK(MPI_Info_get_string(info, "key", &length, value, &flag));
  CHECK(flag && length == 6 && strcmp(value, "val") == 0);
  CHECK_OK(MPI_Info_get_string(info, "key", &length, value, &flag));
  CHECK(flag && length == 6 && strcmp(value, "value") == 0);
  length = 3;
  CHECK_OK(MPI_Info_get_string(info, "other", &length, value, &flag));
  CHECK(!flag && length == 3 && strcmp(value, "value") == 0);
  length = -1;
  CHECK_CLASS(MPI_Info_get_string(info, "key", &length, value, &flag), MPI_ERR_ARG);
  CHECK_OK(MPI_Info_free(&info));
}

static void created_environment(MPI_Info early) {
  char name[] = "program", one[] = "one", two[] = "two", number[16];
  char* arguments[] = {name, one, two, NULL};
  MPI_Info info;
  snprintf(number, sizeof number, "%d", size);
  CHECK(has(early, "command", "program") && has(early, "argv", "one two"));
  CHECK(has(early, "maxprocs", NULL));
  CHECK_OK(MPI_Info_free(&early));
  CHECK(has(MPI_INFO_ENV, "maxprocs", number) && has(MPI_INFO_ENV, "soft", number));
  CHECK(has(MPI_INFO_ENV, "thread_level", "MPI_THREAD_SINGLE"));
  CHECK_OK(MPI_Info_create_env(3, arguments, &info));
  CHECK(has(info, "argv", "one two") && has(info, "maxprocs", number));
  CHECK_OK(MPI_Info_set(info, "maxprocs", "x"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK(has(MPI_INFO_ENV, "maxprocs", number));
}

static void aligned_memory(void) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  for (int bits = 0; bits <= 16; bits += 4) {
    char number[16];
    void* memory = NULL;
    snprintf(number, sizeof number, "%d", 1 << bits);
    CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", number));
    CHECK_OK(MPI_Alloc_mem(1000, info, &memory));
    CHECK((uintptr_t)memory % ((uintptr_t)1 << bits) == 0);
    CHECK_OK(MPI_Free_mem(memory));
  }
  void* none = NULL;
  CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "24"));
  CHECK_CLASS(MPI_Alloc_mem(8, info, &none), MPI_ERR_INFO_VALUE);
  CHECK(none == NULL);
  CHECK_OK(MPI_Info_free(&info));
}
#endif

/* More than the library's own has room for. */
static void memory(void) {
  enum { kBlocks = 20, kBytes = 1 << 20 };
  int* blocks[kBlocks];
  int here = 1;
  for (int i = 0; i < kBlocks; ++i) {
    CHECK_OK(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &blocks[i]));
    blocks[i][0] = i;
    blocks[i][kBytes / (int)sizeof(int) - 1] = -i;
  }
  for (int i = 0; i < kBlocks; ++i) {
    here = here && blocks[i][0] == i && blocks[i][kBytes / (int)sizeof(int) - 1] == -i;
  }
  CHECK(here);
  blocks[0][0] = rank;
  CHECK_OK(MPI_Allreduce(blocks[0], blocks[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(blocks[1][0] == size - 1);
  for (int i = 0; i < kBlocks; ++i) CHECK_OK(MPI_Free_mem(blocks[i]));
  CHECK_OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &blocks[0]));
  CHECK_OK(MPI_Free_mem(blocks[0]));
  CHECK_OK(MPI_Pcontrol(1));
  CHECK_OK(MPI_Pcontrol(3, "more", 17));
}

static void errors(void) {
  MPI_Info info, null = MPI_INFO_NULL, made = MPI_INFO_NULL;
  char text[MPI_MAX_INFO_VAL + 1];
  int n = 0, flag = 0;
  memset(text, 'x', sizeof text);
  text[MPI_MAX_INFO_VAL] = '\0';
  CHECK_OK(MPI_Info_create(&info));
  CHECK_CLASS(MPI_Info_set(info, text, "value"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_set(info, "key", text), MPI_ERR_INFO_VALUE);
  CHECK_CLASS(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY);
  if (kOurs) {
    CHECK_CLASS(MPI_Info_set(null, "key", "value"), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_free(&null), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_dup(null, &made), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_get_nkeys(null, &n), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_set(MPI_INFO_ENV, "key", "value"), MPI_ERR_INFO);
    null = MPI_INFO_ENV;
    CHECK_CLASS(MPI_Info_free(&null), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE);
    CHECK_CLASS(MPI_Info_get(info, "key", -1, text, &flag), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Info_get_nthkey(info, 0, text), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Info_create(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &made), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Free_mem(NULL), MPI_ERR_BASE);
  }
  CHECK(keys_of(info) == 0 && made == MPI_INFO_NULL);
  CHECK_OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
#ifdef ESPALIER_MPI_MPI_H /* Before MPI_Init, as of MPI 4.0. */
  char name[] = "program", one[] = "one", two[] = "two";
  char* arguments[] = {name, one, two, NULL};
  MPI_Info early;
  CHECK_OK(MPI_Info_create_env(3, arguments, &early));
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  objects();
  limits();
  environment();
  memory();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
#ifdef ESPALIER_MPI_MPI_H
    strings();
    created_environment(early);
    aligned_memory();
#endif
  }
  return conclude();
}
