/* Attributes of an object: a list, the newest first. While a function of the program runs others
 * may come and go, so that they are looked for again afterwards. path: setup */
#include "mpi/attributes.h"

#include <stdlib.h>

#include "mpi/keyval.h"

typedef struct Attribute {
  Keyval* keyval; /* owns a reference */
  void* value;
  struct Attribute* older;
} Attribute;

/* ---- the list, under the lock ---- */

static Attribute** find(Attributes* attributes, int number) {
  Attribute** link = &attributes->newest;
  while (*link != NULL && (*link)->keyval->number != number) link = &(*link)->older;
  return link;
}

static void push(Attributes* attributes, Attribute* attribute) {
  attribute->older = attributes->newest;
  attributes->newest = attribute;
}

static void take_out(Attributes* attributes, int number) {
  Attribute** link = find(attributes, number);
  Attribute* gone = *link;
  if (gone == NULL) return;
  *link = gone->older;
  keyval_release(gone->keyval);
  free(gone);
}

/* ---- one attribute ---- */

/* A copy of the attribute of a key, whose key somebody keeps; 0: there is none. */
static int look_up(Holder holder, int number, Attribute* copy) {
  state_lock();
  const Attribute* found = *find(holder.attributes, number);
  if (found != NULL) {
    *copy = *found;
    ++copy->keyval->references;
  }
  state_unlock();
  return found != NULL;
}

static void let_go(Keyval* keyval) {
  state_lock();
  keyval_release(keyval);
  state_unlock();
}

/* Of a key that is freed attributes can still be asked for and deleted. */
static int check_keyval(const char* function, Comm* comm, Holder holder, int number) {
  state_lock();
  const Keyval* keyval = keyval_find(holder.kind, number);
  state_unlock();
  if (keyval != NULL) return MPI_SUCCESS;
  return raise_error(function, comm, MPI_ERR_KEYVAL, "not a key for attributes of this kind");
}

/* The value takes the place of an older one, or becomes the newest, `made`, which is then NULL. */
static int put(Holder holder, int number, void* value, Attribute** made) {
  state_lock();
  Keyval* keyval = keyval_find(holder.kind, number);
  const int is_known = keyval != NULL && !keyval->is_freed;
  Attribute* old = is_known ? *find(holder.attributes, number) : NULL;
  if (old != NULL) {
    old->value = value;
  } else if (is_known) {
    ++keyval->references;
    **made = (Attribute){.keyval = keyval, .value = value};
    push(holder.attributes, *made);
    *made = NULL;
  }
  state_unlock();
  return is_known;
}

static int delete_value(const char* function, Comm* comm, Holder holder, const Attribute* old) {
  return raise_code(function, comm, keyval_deletes(old->keyval, holder, old->value));
}

int attributes_set(const char* function, Comm* comm, Holder holder, int number, void* value) {
  int code = check_keyval(function, comm, holder, number);
  if (code != MPI_SUCCESS) return code;
  Attribute* made = malloc(sizeof *made);
  if (made == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  Attribute old;
  if (look_up(holder, number, &old)) {
    code = delete_value(function, comm, holder, &old);
    let_go(old.keyval);
  }
  if (code == MPI_SUCCESS && !put(holder, number, value, &made)) {
    code = raise_error(function, comm, MPI_ERR_KEYVAL, "the key was freed");
  }
  free(made);
  return code;
}

int attributes_get(const char* function, Comm* comm, Holder holder, int number, void* value,
                   int* flag) {
  if (value == NULL || flag == NULL) {
    return raise_error(function, comm, MPI_ERR_ARG, "null result");
  }
  const int code = check_keyval(function, comm, holder, number);
  if (code != MPI_SUCCESS) return code;
  Attribute found;
  *flag = look_up(holder, number, &found);
  if (!*flag) return MPI_SUCCESS;
  let_go(found.keyval);
  *(void**)value = found.value;
  return MPI_SUCCESS;
}

int attributes_delete(const char* function, Comm* comm, Holder holder, int number) {
  int code = check_keyval(function, comm, holder, number);
  if (code != MPI_SUCCESS) return code;
  Attribute old;
  if (!look_up(holder, number, &old)) {
    return raise_error(function, comm, MPI_ERR_KEYVAL, "there is no attribute of the key");
  }
  code = delete_value(function, comm, holder, &old);
  state_lock();
  if (code == MPI_SUCCESS) take_out(holder.attributes, number);
  keyval_release(old.keyval);
  state_unlock();
  return code;
}

/* ---- all of an object ---- */

int attributes_delete_all(const char* function, Comm* comm, Holder holder) {
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    state_lock();
    const Attribute* newest = holder.attributes->newest;
    const int number = newest != NULL ? newest->keyval->number : MPI_KEYVAL_INVALID;
    state_unlock();
    if (number == MPI_KEYVAL_INVALID) break;
    code = attributes_delete(function, comm, holder, number);
  }
  return code;
}

/* What is there now, with its keys kept, the oldest first; NULL where there is no memory. */
static Attribute* list_all(Attributes* attributes, size_t* count) {
  state_lock();
  *count = 0;
  for (const Attribute* a = attributes->newest; a != NULL; a = a->older) ++*count;
  Attribute* all = malloc((*count + 1) * sizeof *all);
  size_t at = *count;
  for (const Attribute* a = attributes->newest; all != NULL && a != NULL; a = a->older) {
    all[--at] = *a;
    ++a->keyval->references;
  }
  state_unlock();
  return all;
}

static int copy_one(const char* function, Comm* comm, const Attribute* old, Holder from,
                    Holder to) {
  void* copy = NULL;
  int copies = 0;
  const int code = keyval_copies(old->keyval, from, old->value, &copy, &copies);
  if (code != MPI_SUCCESS) return raise_code(function, comm, code);
  if (!copies) return MPI_SUCCESS;
  Attribute* made = malloc(sizeof *made);
  if (made == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  *made = (Attribute){.keyval = old->keyval, .value = copy};
  state_lock();
  ++old->keyval->references;
  push(to.attributes, made);
  state_unlock();
  return MPI_SUCCESS;
}

int attributes_copy_all(const char* function, Comm* comm, Holder from, Holder to) {
  size_t count;
  int code = MPI_SUCCESS;
  Attribute* all = list_all(from.attributes, &count);
  if (all == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  for (size_t i = 0; i < count; ++i) {
    if (code == MPI_SUCCESS) code = copy_one(function, comm, &all[i], from, to);
    let_go(all[i].keyval);
  }
  free(all);
  if (code != MPI_SUCCESS) (void)attributes_delete_all(function, comm, to);
  return code;
}
