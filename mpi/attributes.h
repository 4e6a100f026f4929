/* Attributes: what a program hangs on objects, by keys that it makes.
 *
 * An object has one field of type Attributes, all zeros at first, and says by a Holder whose they
 * are. A key lives until the program has freed it and nothing hangs on it any more. The functions
 * raise what is wrong on a communicator (NULL: on none) and return the code, as those of a
 * program's functions that fail. Threads: by the process's lock, which is not held while a
 * function of the program runs. path: setup
 */
#ifndef ESPALIER_MPI_ATTRIBUTES_H
#define ESPALIER_MPI_ATTRIBUTES_H

#include "mpi/facade.h"

/* What a key is for. */
typedef enum HolderKind { kOfComms, kOfTypes } HolderKind;

/* An object as the functions of the program know it. */
typedef struct Holder {
  HolderKind kind;
  void* handle; /* MPI_Comm or MPI_Datatype */
  Attributes* attributes;
} Holder;

/* The functions of a key; of each pair the one that its kind has. */
typedef struct KeyvalFunctions {
  MPI_Comm_copy_attr_function* copy_comm;
  MPI_Comm_delete_attr_function* delete_comm;
  MPI_Type_copy_attr_function* copy_type;
  MPI_Type_delete_attr_function* delete_type;
} KeyvalFunctions;

typedef struct Keyval {
  int number; /* as the program knows it, never given twice */
  HolderKind kind;
  KeyvalFunctions functions;
  void* extra;
  int references; /* the program's and every attribute's */
  int is_freed;   /* by the program */
  struct Keyval* next;
} Keyval;

typedef struct Keyvals {
  int last_number;
  Keyval* first;
} Keyvals;

int keyval_create(const char* function, HolderKind kind, KeyvalFunctions functions, int* keyval,
                  void* extra);
int keyval_free(const char* function, HolderKind kind, int* keyval);

int attributes_set(const char* function, Comm* comm, Holder holder, int keyval, void* value);
int attributes_get(const char* function, Comm* comm, Holder holder, int keyval, void* value,
                   int* flag);
int attributes_delete(const char* function, Comm* comm, Holder holder, int keyval);
/* In the order in which they were set, to an object without any. Where a function fails the new
 * object loses again what it got. */
int attributes_copy_all(const char* function, Comm* comm, Holder from, Holder to);
/* What was set last goes first; ends where a function fails, whose attribute stays. */
int attributes_delete_all(const char* function, Comm* comm, Holder holder);

#endif /* ESPALIER_MPI_ATTRIBUTES_H */
