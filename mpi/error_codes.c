/* Error classes and codes of the program's own. Their numbers follow MPI_ERR_LASTCODE, classes and
 * codes in one row. path: setup */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/facade.h"

static const char kNone[] = "not an error code or class of the program's own";

/* Under the lock. NULL: no number that was given. */
static OwnCode* find(int code) {
  const int index = code - (MPI_ERR_LASTCODE + 1);
  if (index < 0 || index >= kOwnCodes) return NULL;
  OwnCode* found = &state_own_codes()->of[index];
  return found->error_class != 0 ? found : NULL;
}

static int is_class(const OwnCode* found, int code) {
  return found != NULL && found->error_class == code;
}

int error_codes_class(int code) {
  state_lock();
  const OwnCode* found = find(code);
  const int error_class = found != NULL ? found->error_class : -1;
  state_unlock();
  return error_class;
}

int error_codes_text(int code, char* text) {
  state_lock();
  const OwnCode* found = find(code);
  if (found != NULL) {
    snprintf(text, MPI_MAX_ERROR_STRING, "%s", found->text != NULL ? found->text : "");
  }
  state_unlock();
  return found != NULL;
}

/* A number for a code of the class, or for a class when that is 0. Negative when there is none
 * left. */
static int add(int error_class) {
  state_lock();
  OwnCodes* codes = state_own_codes();
  int index = 0;
  while (index < kOwnCodes && codes->of[index].error_class != 0) ++index;
  const int code = index < kOwnCodes ? MPI_ERR_LASTCODE + 1 + index : -1;
  if (code >= 0) {
    codes->of[index] = (OwnCode){.error_class = error_class != 0 ? error_class : code};
    if (code > codes->last_used) codes->last_used = code;
  }
  state_unlock();
  return code;
}

static int add_to(const char* function, int error_class, int* result) {
  if (result == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  const int code = add(error_class);
  if (code < 0) {
    return raise_error(function, NULL, MPI_ERR_NO_MEM, "all numbers of error codes are given");
  }
  *result = code;
  return MPI_SUCCESS;
}

int MPI_Add_error_class(int* errorclass) {
  return add_to(__func__, 0, errorclass);
}

/* Classes of the standard may have codes of the program's, too. */
int MPI_Add_error_code(int errorclass, int* errorcode) {
  const int is_known = error_is_class(errorclass) || error_codes_class(errorclass) == errorclass;
  if (errorclass == MPI_SUCCESS || !is_known) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "not an error class");
  }
  return add_to(__func__, errorclass, errorcode);
}

static int set_text(const char* function, int code, char* text) {
  state_lock();
  OwnCode* found = find(code);
  char* old = found != NULL ? found->text : text;
  if (found != NULL) found->text = text;
  state_unlock();
  free(old);
  return found != NULL ? MPI_SUCCESS : raise_error(function, NULL, MPI_ERR_ARG, kNone);
}

int MPI_Add_error_string(int errorcode, const char* string) {
  if (string == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null string");
  char* text = strndup(string, MPI_MAX_ERROR_STRING - 1);
  if (text == NULL) return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  return set_text(__func__, errorcode, text);
}

int MPI_Remove_error_string(int errorcode) {
  return set_text(__func__, errorcode, NULL);
}

/* Under the lock. */
static const char* why_not_remove(int code, int as_class) {
  const OwnCode* found = find(code);
  if (found == NULL || is_class(found, code) != as_class) return kNone;
  for (int i = 0; as_class && i < kOwnCodes; ++i) {
    const OwnCode* other = &state_own_codes()->of[i];
    if (other != found && other->error_class == code) return "the error class has codes";
  }
  return NULL;
}

static int remove_code(const char* function, int code, int as_class) {
  char* text = NULL;
  state_lock();
  const char* problem = why_not_remove(code, as_class);
  if (problem == NULL) {
    OwnCode* found = find(code);
    text = found->text;
    *found = (OwnCode){0};
  }
  state_unlock();
  free(text);
  return problem == NULL ? MPI_SUCCESS : raise_error(function, NULL, MPI_ERR_ARG, problem);
}

int MPI_Remove_error_class(int errorclass) {
  return remove_code(__func__, errorclass, 1);
}

int MPI_Remove_error_code(int errorcode) {
  return remove_code(__func__, errorcode, 0);
}
