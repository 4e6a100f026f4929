/* Tools: what the files of the tool information interface share. They use nothing of the rest of
 * the facade but the job, if there is one, and the process's lock. path: setup
 */
#ifndef ESPALIER_MPI_TOOL_H
#define ESPALIER_MPI_TOOL_H

#include "mpi/facade.h"

/* Between MPI_T_init_thread and its end? */
int tool_is_ready(void);
/* NULL before MPI_Init and after MPI_Finalize. */
const esp_job* tool_job(void);
/* Puts a text, or as much of it as `*length` says that there is room for; `*length` becomes that of
 * the whole. Either may be NULL. */
void tool_put_text(const char* text, char* to, int* length);
static inline void tool_put(int* to, int value) {
  if (to != NULL) *to = value;
}
/* Texts of error codes; NULL for others. */
const char* tool_error_text(int code);

int tool_cvar_count(void);
int tool_pvar_count(void);

/* The first lines of all functions. */
#define TOOL_REQUIRES(condition, code)                      \
  do {                                                      \
    if (!tool_is_ready()) return MPI_T_ERR_NOT_INITIALIZED; \
    if (!(condition)) return (code);                        \
  } while (0)

#endif /* ESPALIER_MPI_TOOL_H */
