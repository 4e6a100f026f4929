/* Keys of attributes: a list, of which programs make a few. path: setup */
#include "mpi/keyval.h"

#include <limits.h>
#include <stdlib.h>

enum { kFirstNumber = 1024 }; /* above those of the standard */

Keyval* keyval_find(HolderKind kind, int number) {
  Keyval* keyval = state_keyvals()->first;
  while (keyval != NULL && (keyval->number != number || keyval->kind != kind)) {
    keyval = keyval->next;
  }
  return keyval;
}

void keyval_release(Keyval* keyval) {
  if (--keyval->references > 0) return;
  Keyval** link = &state_keyvals()->first;
  while (*link != keyval) link = &(*link)->next;
  *link = keyval->next;
  free(keyval);
}

int keyval_create(const char* function, HolderKind kind, KeyvalFunctions functions, int* number,
                  void* extra) {
  require_ready(function);
  if (number == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  Keyval* keyval = malloc(sizeof *keyval);
  if (keyval == NULL) return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
  *keyval = (Keyval){.kind = kind, .functions = functions, .extra = extra, .references = 1};
  state_lock();
  Keyvals* keyvals = state_keyvals();
  if (keyvals->last_number < kFirstNumber) keyvals->last_number = kFirstNumber;
  const int is_left = keyvals->last_number < INT_MAX;
  if (is_left) {
    *number = keyval->number = ++keyvals->last_number;
    keyval->next = keyvals->first;
    keyvals->first = keyval;
  }
  state_unlock();
  if (is_left) return MPI_SUCCESS;
  free(keyval);
  return raise_error(function, NULL, MPI_ERR_NO_MEM, "all numbers of keys are given");
}

int keyval_free(const char* function, HolderKind kind, int* number) {
  require_ready(function);
  if (number == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null key");
  state_lock();
  Keyval* keyval = keyval_find(kind, *number);
  const int is_known = keyval != NULL && !keyval->is_freed;
  if (is_known) {
    keyval->is_freed = 1;
    keyval_release(keyval);
  }
  state_unlock();
  if (!is_known) return raise_error(function, NULL, MPI_ERR_KEYVAL, "not a key of the program's");
  *number = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int keyval_copies(const Keyval* keyval, Holder from, void* value, void** copy, int* copies) {
  const KeyvalFunctions* functions = &keyval->functions;
  *copies = 0;
  *copy = value;
  if (keyval->kind == kOfComms) {
    *copies = functions->copy_comm == MPI_COMM_DUP_FN;
    if (*copies || functions->copy_comm == MPI_COMM_NULL_COPY_FN) return MPI_SUCCESS;
    return functions->copy_comm(from.handle, keyval->number, keyval->extra, value, copy, copies);
  }
  *copies = functions->copy_type == MPI_TYPE_DUP_FN;
  if (*copies || functions->copy_type == MPI_TYPE_NULL_COPY_FN) return MPI_SUCCESS;
  return functions->copy_type(from.handle, keyval->number, keyval->extra, value, copy, copies);
}

int keyval_deletes(const Keyval* keyval, Holder holder, void* value) {
  const KeyvalFunctions* functions = &keyval->functions;
  if (keyval->kind == kOfComms) {
    if (functions->delete_comm == MPI_COMM_NULL_DELETE_FN) return MPI_SUCCESS;
    return functions->delete_comm(holder.handle, keyval->number, value, keyval->extra);
  }
  if (functions->delete_type == MPI_TYPE_NULL_DELETE_FN) return MPI_SUCCESS;
  return functions->delete_type(holder.handle, keyval->number, value, keyval->extra);
}
