/* What MPI_INFO_ENV and MPI_Info_create_env tell of the process. Keys of which nothing is known are
 * left out. path: setup */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "mpi/info.h"

/* All arguments but the name, with spaces between, as far as there is room. */
static void join(int argc, char* const* argv, char* text, size_t bytes) {
  size_t at = 0;
  text[0] = '\0';
  for (int i = 1; i < argc && argv[i] != NULL && at < bytes; ++i) {
    const int added = snprintf(text + at, bytes - at, "%s%s", i > 1 ? " " : "", argv[i]);
    at += added > 0 ? (size_t)added : 0;
  }
}

static const char* level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

/* Of values that are too long the beginning. */
static int set_limited(Info* info, const char* key, const char* value) {
  char text[MPI_MAX_INFO_VAL];
  snprintf(text, sizeof text, "%s", value);
  return info_set(info, key, text);
}

static int fill_command(Info* info, int argc, char* const* argv) {
  char arguments[MPI_MAX_INFO_VAL];
  if (argc < 1 || argv == NULL || argv[0] == NULL) return 1;
  join(argc, argv, arguments, sizeof arguments);
  return set_limited(info, "command", argv[0]) && info_set(info, "argv", arguments);
}

static int fill_job(Info* info) {
  char number[24];
  if (state_phase() != kReady) return 1;
  snprintf(number, sizeof number, "%d", esp_job_size(state_job()));
  return info_set(info, "maxprocs", number) && info_set(info, "soft", number) &&
         info_set(info, "thread_level", level_name(state_thread_level()));
}

int MPI_Get_hw_resource_info(MPI_Info* hw_info) {
  require_ready(__func__);
  if (hw_info == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  Info* info = info_create();
  if (info != NULL && info_set(info, "mpi_shared_memory", "true")) {
    *hw_info = info;
    return MPI_SUCCESS;
  }
  if (info != NULL) info_free(info);
  return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
}

int info_fill_env(Info* info, int argc, char* const* argv) {
  struct utsname system;
  char folder[MPI_MAX_INFO_VAL];
  int is_set = fill_command(info, argc, argv) && fill_job(info);
  if (is_set && uname(&system) == 0) {
    is_set =
        set_limited(info, "host", system.nodename) && set_limited(info, "arch", system.machine);
  }
  if (is_set && getcwd(folder, sizeof folder) != NULL) is_set = info_set(info, "wdir", folder);
  return is_set;
}
