/* What the programs on wrong arguments share: errors by class and a part of the text. */
#ifndef ESPALIER_TESTS_MPI_ARGUMENTS_H
#define ESPALIER_TESTS_MPI_ARGUMENTS_H

#include <string.h>

#include "conformance.h"

static inline void check_error(int line, int code, int error_class, const char* text) {
  char found[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, found, &length);
  const int right = class_of(code) == error_class && strstr(found, text) != NULL;
  if (!right) fprintf(stderr, "class %d, \"%s\"\n", class_of(code), found);
  check_at(line, right, text);
}
#define ERROR(call, error_class, text) check_error(__LINE__, (call), (error_class), (text))

#endif
