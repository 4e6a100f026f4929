/* What attributes.c needs of keys. path: setup */
#ifndef ESPALIER_MPI_KEYVAL_H
#define ESPALIER_MPI_KEYVAL_H

#include "mpi/attributes.h"

/* Both under the process's lock. */
Keyval* keyval_find(HolderKind kind, int number);
void keyval_release(Keyval* keyval);

/* Both call the program, without the lock. */
int keyval_copies(const Keyval* keyval, Holder from, void* value, void** copy, int* copies);
int keyval_deletes(const Keyval* keyval, Holder holder, void* value);

#endif /* ESPALIER_MPI_KEYVAL_H */
