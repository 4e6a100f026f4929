/* The functions that are not there. Each says so and ends the job.
 *
 * In libespalier_mpi_absent.a for `esp-cc --missing=late`: weak, so that a program or a tool may
 * bring its own. They have also the plain names, which objects ask for that were not compiled with
 * our mpi.h. libmpi_abi.so.0 exports them by the plain names alone. path: errors
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "espalier/mpi/mpi.h"

/* `part`: as in the linker's message, with underscores for spaces. */
static int end_job(const char* function, const char* part) {
  char words[32];
  snprintf(words, sizeof words, "%s", part);
  for (char* at = words; *at != '\0'; ++at) {
    if (*at == '_') *at = ' ';
  }
  fprintf(stderr, "%s: Espalier has no %s; see docs/mpi.md\n", function, words);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

#ifdef ESPALIER_LATE_IN_ABI
#define LATE_PLAIN(name) ".globl " #name "\n.type " #name ", @function"
#else
#define LATE_PLAIN(name) ".weak " #name "\n.hidden " #name
#endif

#define LATE_NAMED(result, name, part, arguments)                     \
  __attribute__((weak, visibility("hidden"))) result name arguments { \
    return (result)(intptr_t)end_job(#name, #part);                   \
  }                                                                   \
  __asm__(LATE_PLAIN(name) "\n.set " #name ", " #name ESP_MPI_REASON(part))

/* The lists once more, with another meaning. */
#undef ESPALIER_MPI_MPI_ABSENT_FILES_H
#undef ESPALIER_MPI_MPI_ABSENT_PROCESSES_H
#undef ESPALIER_MPI_MPI_ABSENT_WINDOWS_H
#undef ESP_MPI_ABSENT
#define ESP_MPI_ABSENT(result, function, part, arguments) \
  LATE_NAMED(result, function, part, arguments);          \
  LATE_NAMED(result, P##function, part, arguments)

#include "espalier/mpi/mpi_absent_files.h"
#include "espalier/mpi/mpi_absent_processes.h"
#include "espalier/mpi/mpi_absent_windows.h"
