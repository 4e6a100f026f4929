/* tools: the tool information interface as MPI 4.0 says, before MPI_Init, within, and after
 * MPI_Finalize. One C program that knows nothing but <mpi.h>. Any number of processes. Open MPI 4.1
 * does not pass it: it has numbers without a variable or category, and crashes in a MPI_T_finalize
 * after MPI_Finalize.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kText = 4000 };

/* Every variable can be told and found by its name. */
static void settings(void) {
  int count = 0, index = -1;
  CHECK_OK(MPI_T_cvar_get_num(&count));
  CHECK(count > 0);
  for (int i = 0; i < count; ++i) {
    char name[kText], desc[kText], cut[4];
    int name_len = sizeof name, desc_len = sizeof desc, cut_len = sizeof cut, asked = 0;
    int verbosity = -1, bind = -1, scope = -1;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_enum enumeration;
    const int code = MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &datatype, &enumeration,
                                         desc, &desc_len, &bind, &scope);
    CHECK_OK(code);
    CHECK(name_len == (int)strlen(name) + 1 && desc_len >= (int)strlen(desc));
    CHECK(!kOurs || (datatype == MPI_CHAR && verbosity == MPI_T_VERBOSITY_USER_BASIC));
    CHECK(!kOurs || (scope == MPI_T_SCOPE_READONLY && bind == MPI_T_BIND_NO_OBJECT));
    CHECK_OK(MPI_T_cvar_get_info(i, NULL, &asked, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(!kOurs || asked == name_len); /* others tell no length then */
    CHECK_OK(MPI_T_cvar_get_info(i, cut, &cut_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strncmp(cut, name, 3) == 0 && cut[3] == '\0');
    CHECK_OK(MPI_T_cvar_get_index(name, &index));
    CHECK(index == i);
  }
  CHECK(MPI_T_cvar_get_index("no such setting", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
}

static void categories(void) {
  int count = 0, index = -1, cvars = -1, pvars = -1, inner = -1, stamp = -1;
  CHECK_OK(MPI_T_category_get_num(&count));
  CHECK(count > 0);
  for (int i = 0; i < count; ++i) {
    char name[kText], desc[kText];
    int name_len = sizeof name, desc_len = sizeof desc;
    CHECK_OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &cvars, &pvars, &inner));
    CHECK(cvars >= 0 && pvars >= 0 && inner >= 0);
    CHECK_OK(MPI_T_category_get_index(name, &index));
    CHECK(index == i);
    int* indices = malloc(((size_t)cvars + (size_t)pvars + (size_t)inner + 1) * sizeof(int));
    CHECK_OK(MPI_T_category_get_cvars(i, cvars, indices));
    CHECK_OK(MPI_T_category_get_pvars(i, pvars, indices + cvars));
    CHECK_OK(MPI_T_category_get_categories(i, inner, indices + cvars + pvars));
    for (int k = 0; k < cvars; ++k) {
      CHECK_OK(
          MPI_T_cvar_get_info(indices[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    }
    free(indices);
  }
  CHECK_OK(MPI_T_category_changed(&stamp));
  CHECK(MPI_T_category_get_index("no such category", &index) == MPI_T_ERR_INVALID_NAME);
}

static void counters(void) {
  int count = 0;
  CHECK_OK(MPI_T_pvar_get_num(&count));
  for (int i = 0; i < count; ++i) {
    char name[kText], desc[kText];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, class, bind, readonly;
    int continuous, atomic, index = -1;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    const int code =
        MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &datatype, &enumeration, desc,
                            &desc_len, &bind, &readonly, &continuous, &atomic);
    CHECK_OK(code);
    CHECK_OK(MPI_T_pvar_get_index(name, class, &index));
    CHECK(index == i);
  }
  CHECK(!kOurs || count > 10);
}

/* ---- ours by name ---- */

#ifdef ESPALIER_MPI_MPI_H

static void read_setting(const char* name, const char* expected) {
  int index = -1, count = 0;
  char text[kText];
  MPI_T_cvar_handle handle;
  CHECK_OK(MPI_T_cvar_get_index(name, &index));
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(count > 0 && count < kText);
  CHECK_OK(MPI_T_cvar_read(handle, text));
  if (strcmp(text, expected) != 0) check_at(__LINE__, 0, text);
  CHECK((int)strlen(text) + 1 == count);
  CHECK(MPI_T_cvar_write(handle, text) == MPI_T_ERR_CVAR_SET_NEVER);
  CHECK_OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_read(handle, text) == MPI_T_ERR_INVALID_HANDLE);
}

static unsigned long long counted(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 12345678;
  CHECK_OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

/* `works`: between MPI_Init and MPI_Finalize. */
static void count(int works) {
  int index = -1, entries = 0, x = rank;
  unsigned long long value = 0, some = 1000;
  MPI_T_pvar_session session, other;
  MPI_T_pvar_handle handle, again;
  CHECK_OK(MPI_T_pvar_session_create(&session));
  CHECK_OK(MPI_T_pvar_session_create(&other));
  CHECK(MPI_T_pvar_get_index("operations", MPI_T_PVAR_CLASS_TIMER, &index) ==
        MPI_T_ERR_INVALID_NAME);
  CHECK_OK(MPI_T_pvar_get_index("short_operations", MPI_T_PVAR_CLASS_COUNTER, &index));
  CHECK_OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &entries));
  CHECK_OK(MPI_T_pvar_handle_alloc(session, index, NULL, &again, &entries));
  CHECK(entries == 1);
  CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_reset(session, handle));
  CHECK(counted(session, handle) == 0);
  for (int k = 0; works && k < 5; ++k) MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(counted(session, handle) == (works ? 5 : 0));
  CHECK(counted(session, again) >= counted(session, handle));
  CHECK_OK(MPI_T_pvar_readreset(session, handle, &value));
  CHECK(value == (works ? 5 : 0) && counted(session, handle) == 0);
  CHECK_OK(MPI_T_pvar_write(session, handle, &some));
  CHECK(counted(session, handle) == some);
  CHECK_OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK(counted(session, handle) == 0 && counted(session, again) == 0);
  CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK_OK(MPI_T_pvar_handle_free(session, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_T_ERR_INVALID_HANDLE);
  CHECK_OK(MPI_T_pvar_session_free(&session)); /* with a handle in it */
  CHECK_OK(MPI_T_pvar_session_free(&other));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
}

static void none(void) {
  int number = -1;
  MPI_T_enum enumeration = MPI_T_ENUM_NULL;
  CHECK_OK(MPI_T_event_get_num(&number));
  CHECK(number == 0);
  CHECK_OK(MPI_T_source_get_num(&number));
  CHECK(number == 0);
  CHECK(MPI_T_event_get_index("any", &number) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_enum_get_info(enumeration, &number, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_source_get_timestamp(0, NULL) == MPI_T_ERR_INVALID_INDEX);
}

/* Error codes are known to MPI's functions. */
static void codes(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  for (int code = MPI_T_ERR_CANNOT_INIT; code <= MPI_T_ERR_PVAR_NO_ATOMIC; ++code) {
    CHECK_OK(MPI_Error_string(code, text, &length));
    CHECK(length > 10 && class_of(code) == code);
  }
}

static void ours(int works) {
  read_setting("ESPALIER_STALL_WARNING", "7.5");
  count(works);
  none();
}

#else
static void ours(int works) {
  (void)works;
}
static void codes(void) {}
#endif

static void all(int works) {
  settings();
  categories();
  counters();
  ours(works);
}

int main(int argc, char** argv) {
  int provided = -1, number = 0;
  setenv("ESPALIER_STALL_WARNING", "7.5", 1);
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  all(0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_T_finalize());
  all(1);
  codes();
  const int failed = conclude(), before = failures;
  if (kOurs) all(0);
  CHECK_OK(MPI_T_finalize());
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(!kOurs || MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  return failed || failures > before;
}
