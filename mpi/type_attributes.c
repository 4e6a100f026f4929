/* Attributes of datatypes. path: setup */
#include "mpi/attributes.h"
#include "mpi/datatype.h"

static Holder holder_of(Datatype* type) {
  return (Holder){kOfTypes, datatype_handle(type), &type->attributes};
}

static int find_holder(const char* function, MPI_Datatype datatype, Holder* holder) {
  require_ready(function);
  Datatype* type = datatype_of(datatype);
  if (type == NULL) return raise_error(function, NULL, MPI_ERR_TYPE, "not a datatype");
  *holder = holder_of(type);
  return MPI_SUCCESS;
}

int datatype_copy_attributes(const char* function, Datatype* from, Datatype* to) {
  return attributes_copy_all(function, NULL, holder_of(from), holder_of(to));
}

int datatype_delete_attributes(const char* function, Datatype* type) {
  return attributes_delete_all(function, NULL, holder_of(type));
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
