/* Attributes: values are numbers in Fortran, of the size of an address, of MPI 1 default integers.
 *
 * What a key of Fortran knows, its procedures among that, is a record that stays until the process
 * ends: nothing says when the last attribute of a freed key is gone. They are a list, so that who
 * looks for leaks finds them. Threads: the list's head is atomic. path: setup
 */
#include <stdatomic.h>

#include "mpi/fortran/binding.h"

typedef void Copies(MPI_Fint* from, MPI_Fint* keyval, MPI_Aint* extra, MPI_Aint* in, MPI_Aint* out,
                    MPI_Fint* flag, MPI_Fint* ierror);
typedef void Deletes(MPI_Fint* of, MPI_Fint* keyval, MPI_Aint* value, MPI_Aint* extra,
                     MPI_Fint* ierror);
typedef void OldCopies(MPI_Fint* from, MPI_Fint* keyval, MPI_Fint* extra, MPI_Fint* in,
                       MPI_Fint* out, MPI_Fint* flag, MPI_Fint* ierror);
typedef void OldDeletes(MPI_Fint* of, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* extra,
                        MPI_Fint* ierror);

typedef struct Key {
  Copies* copies;
  Deletes* deletes;
  OldCopies* old_copies; /* in the place of the others */
  OldDeletes* old_deletes;
  MPI_Aint extra;
  struct Key* next;
} Key;

static _Atomic(Key*) keys;

static Key* keep(Key key) {
  Key* kept = fortran_memory(sizeof *kept);
  *kept = key;
  kept->next = atomic_load(&keys);
  while (!atomic_compare_exchange_weak(&keys, &kept->next, kept)) continue;
  return kept;
}

/* ---- what the library calls ---- */

static int copy_value(MPI_Fint from, int keyval, Key* key, void* in, void* out, int* flag) {
  MPI_Fint number = keyval, ierror = MPI_SUCCESS;
  MPI_Aint extra = key->extra, value = (MPI_Aint)in, copy = value;
  if (key->old_copies != NULL) {
    MPI_Fint old_extra = (MPI_Fint)extra, old_value = (MPI_Fint)value, old_copy = old_value;
    key->old_copies(&from, &number, &old_extra, &old_value, &old_copy, flag, &ierror);
    copy = old_copy;
  } else {
    key->copies(&from, &number, &extra, &value, &copy, flag, &ierror);
  }
  *flag = *flag != 0;
  *(MPI_Aint*)out = copy;
  return ierror;
}

static int delete_value(MPI_Fint of, int keyval, Key* key, void* in) {
  MPI_Fint number = keyval, ierror = MPI_SUCCESS;
  MPI_Aint extra = key->extra, value = (MPI_Aint)in;
  if (key->old_deletes != NULL) {
    MPI_Fint old_extra = (MPI_Fint)extra, old_value = (MPI_Fint)value;
    key->old_deletes(&of, &number, &old_value, &old_extra, &ierror);
  } else {
    key->deletes(&of, &number, &value, &extra, &ierror);
  }
  return ierror;
}

static int copy_of_comm(MPI_Comm comm, int keyval, void* key, void* in, void* out, int* flag) {
  return copy_value(MPI_Comm_c2f(comm), keyval, key, in, out, flag);
}
static int delete_of_comm(MPI_Comm comm, int keyval, void* in, void* key) {
  return delete_value(MPI_Comm_c2f(comm), keyval, key, in);
}
static int copy_of_type(MPI_Datatype type, int keyval, void* key, void* in, void* out, int* flag) {
  return copy_value(MPI_Type_c2f(type), keyval, key, in, out, flag);
}
static int delete_of_type(MPI_Datatype type, int keyval, void* in, void* key) {
  return delete_value(MPI_Type_c2f(type), keyval, key, in);
}

/* ---- keys ---- */

ESP_MPI_API void mpi_comm_create_keyval_(Copies* copies, Deletes* deletes, MPI_Fint* keyval,
                                         const MPI_Aint* extra, MPI_Fint* ierror) {
  Key* key = keep((Key){.copies = copies, .deletes = deletes, .extra = *extra});
  *ierror = MPI_Comm_create_keyval(copy_of_comm, delete_of_comm, keyval, key);
}
FORTRAN_NAMES(mpi_comm_create_keyval)

ESP_MPI_API void mpi_type_create_keyval_(Copies* copies, Deletes* deletes, MPI_Fint* keyval,
                                         const MPI_Aint* extra, MPI_Fint* ierror) {
  Key* key = keep((Key){.copies = copies, .deletes = deletes, .extra = *extra});
  *ierror = MPI_Type_create_keyval(copy_of_type, delete_of_type, keyval, key);
}
FORTRAN_NAMES(mpi_type_create_keyval)

ESP_MPI_API void mpi_keyval_create_(OldCopies* copies, OldDeletes* deletes, MPI_Fint* keyval,
                                    const MPI_Fint* extra, MPI_Fint* ierror) {
  Key* key = keep((Key){.old_copies = copies, .old_deletes = deletes, .extra = *extra});
  *ierror = MPI_Keyval_create(copy_of_comm, delete_of_comm, keyval, key);
}
FORTRAN_NAMES(mpi_keyval_create)

/* ---- values ---- */

/* Those of the library are addresses of numbers in C. */
static int is_predefined(int keyval) {
  return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

static int get_value(MPI_Fint comm, int keyval, MPI_Aint* value, MPI_Fint* flag) {
  void* found = NULL;
  const int code = MPI_Comm_get_attr(MPI_Comm_f2c(comm), keyval, &found, flag);
  if (code != MPI_SUCCESS || !*flag) return code;
  *value = is_predefined(keyval) ? *(int*)found : (MPI_Aint)found;
  return code;
}

ESP_MPI_API void mpi_comm_set_attr_(const MPI_Fint* comm, const MPI_Fint* keyval,
                                    const MPI_Aint* value, MPI_Fint* ierror) {
  *ierror = MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *keyval, (void*)*value);
}
FORTRAN_NAMES(mpi_comm_set_attr)

ESP_MPI_API void mpi_comm_get_attr_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* value,
                                    MPI_Fint* flag, MPI_Fint* ierror) {
  *ierror = get_value(*comm, *keyval, value, flag);
}
FORTRAN_NAMES(mpi_comm_get_attr)

ESP_MPI_API void mpi_type_set_attr_(const MPI_Fint* datatype, const MPI_Fint* keyval,
                                    const MPI_Aint* value, MPI_Fint* ierror) {
  *ierror = MPI_Type_set_attr(MPI_Type_f2c(*datatype), *keyval, (void*)*value);
}
FORTRAN_NAMES(mpi_type_set_attr)

ESP_MPI_API void mpi_type_get_attr_(const MPI_Fint* datatype, const MPI_Fint* keyval,
                                    MPI_Aint* value, MPI_Fint* flag, MPI_Fint* ierror) {
  void* found = NULL;
  *ierror = MPI_Type_get_attr(MPI_Type_f2c(*datatype), *keyval, &found, flag);
  if (*ierror == MPI_SUCCESS && *flag) *value = (MPI_Aint)found;
}
FORTRAN_NAMES(mpi_type_get_attr)

ESP_MPI_API void mpi_attr_put_(const MPI_Fint* comm, const MPI_Fint* keyval, const MPI_Fint* value,
                               MPI_Fint* ierror) {
  *ierror = MPI_Attr_put(MPI_Comm_f2c(*comm), *keyval, (void*)(MPI_Aint)*value);
}
FORTRAN_NAMES(mpi_attr_put)

ESP_MPI_API void mpi_attr_get_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Fint* value,
                               MPI_Fint* flag, MPI_Fint* ierror) {
  MPI_Aint found = 0;
  *ierror = get_value(*comm, *keyval, &found, flag);
  if (*ierror == MPI_SUCCESS && *flag) *value = (MPI_Fint)found;
}
FORTRAN_NAMES(mpi_attr_get)
