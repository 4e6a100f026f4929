/* What the functions that Fortran calls share: gfortran's conventions.
 *
 * Arguments are addresses, lengths of texts follow them, names have a trailing underscore. LOGICAL
 * is an int of 0 or 1. A status is its eight numbers. Constants that C knows as small pointers are
 * variables of a common block, known by their addresses. path: short
 */
#ifndef ESPALIER_MPI_FORTRAN_BINDING_H
#define ESPALIER_MPI_FORTRAN_BINDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "espalier/mpi/mpi.h"

/* The common block of mpif.h, in the order of generate.py. Where Fortran code of the program has
 * it, the program's is the one. */
typedef struct Special {
  MPI_Fint bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
  MPI_Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
} Special;
extern ESP_MPI_API Special mpiespspecial_;

/* The names of compilers that put two underscores where a name has one, and those for tools that
 * stand in the place of the usual ones. */
#define FORTRAN_ALIAS(name, alias_name) \
  extern ESP_MPI_API __typeof__(name##_) alias_name __attribute__((alias(#name "_")));
#define FORTRAN_NAMES(name)       \
  FORTRAN_ALIAS(name, name##__)   \
  FORTRAN_ALIAS(name, p##name##_) \
  FORTRAN_ALIAS(name, p##name##__)

static inline int is_special(const void* address) {
  return (uintptr_t)address - (uintptr_t)&mpiespspecial_ < sizeof mpiespspecial_;
}

static inline void* buffer_of(const void* buffer) {
  if (!is_special(buffer)) return (void*)(uintptr_t)buffer;
  if (buffer == &mpiespspecial_.in_place) return MPI_IN_PLACE;
#ifdef MPI_BUFFER_AUTOMATIC
  if (buffer == &mpiespspecial_.buffer_automatic) return MPI_BUFFER_AUTOMATIC;
#endif
  return MPI_BOTTOM;
}

static inline int* weights_of(const MPI_Fint* weights) {
  if (weights == &mpiespspecial_.unweighted) return MPI_UNWEIGHTED;
  if (weights == &mpiespspecial_.weights_empty) return MPI_WEIGHTS_EMPTY;
  return (int*)(uintptr_t)weights;
}

static inline MPI_Status* status_of(MPI_Fint* status) {
  return is_special(status) ? MPI_STATUS_IGNORE : (MPI_Status*)status;
}

/* ---- support.c ---- */

enum { kFew = 16 };

/* Of the heap; ends the process when there is none. */
void* fortran_memory(size_t bytes);
/* Room for handles: `few`, of which there are kFew, or of the heap. */
void* fortran_room(void* few, int count, size_t bytes_each);
/* A terminated copy without the blanks at the end, and if `strips` without those at the beginning,
 * which the caller frees. */
char* fortran_text(const char* text, size_t length, int strips);
/* Cuts, and fills up with blanks. */
void fortran_give_text(const char* from, char* text, size_t length);
/* How many types MPI_Alltoallw reads, and exchanges of neighbours; 0 where the communicator is
 * wrong, of which the call itself complains. */
int fortran_members(MPI_Comm comm);
int fortran_neighbors(MPI_Comm comm, int sends);

#endif /* ESPALIER_MPI_FORTRAN_BINDING_H */
