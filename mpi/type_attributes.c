/* Attributes of datatypes. path: setup */
#include "mpi/attributes.h"

/* NULL: no datatype. */
static Attributes* attributes_of(MPI_Datatype datatype) {
  esp_type type;
  return type_of(datatype, &type) ? state_type_attributes(datatype) : NULL;
}

static int find_holder(const char* function, MPI_Datatype datatype, Holder* holder) {
  require_ready(function);
  *holder = (Holder){kOfTypes, datatype, attributes_of(datatype)};
  if (holder->attributes != NULL) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_TYPE, "not a datatype");
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* gone,
                           int* keyval, void* extra) {
  const KeyvalFunctions functions = {.copy_type = copy, .delete_type = gone};
  return keyval_create(__func__, kOfTypes, functions, keyval, extra);
}

int MPI_Type_free_keyval(int* keyval) {
  return keyval_free(__func__, kOfTypes, keyval);
}

int MPI_Type_set_attr(MPI_Datatype datatype, int keyval, void* value) {
  Holder holder;
  const int code = find_holder(__func__, datatype, &holder);
  return code == MPI_SUCCESS ? attributes_set(__func__, NULL, holder, keyval, value) : code;
}

int MPI_Type_get_attr(MPI_Datatype datatype, int keyval, void* value, int* flag) {
  Holder holder;
  const int code = find_holder(__func__, datatype, &holder);
  return code == MPI_SUCCESS ? attributes_get(__func__, NULL, holder, keyval, value, flag) : code;
}

int MPI_Type_delete_attr(MPI_Datatype datatype, int keyval) {
  Holder holder;
  const int code = find_holder(__func__, datatype, &holder);
  return code == MPI_SUCCESS ? attributes_delete(__func__, NULL, holder, keyval) : code;
}
