/* libespalier_mpi_absent.a: the functions that are not there, for `esp-cc --missing=late`. Each
 * says so and ends the job.
 *
 * Weak, so that a program or a tool may bring its own. They have also the plain names, which
 * objects ask for that were not compiled with our mpi.h. path: errors
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

#define LATE_NAMED(result, name, part, arguments)                     \
  __attribute__((weak, visibility("hidden"))) result name arguments { \
    return (result)(intptr_t)end_job(#name, #part);                   \
  }                                                                   \
  __asm__(".weak " #name "\n.hidden " #name "\n.set " #name ", " #name ESP_MPI_REASON(part))

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
