/* What made a type: kept for MPI_Type_get_envelope and MPI_Type_get_contents. path: setup */
#include <stdlib.h>

#include "mpi/datatype.h"

Contents* contents_create(int combiner, int is_large, Arguments room) {
  const size_t narrow = room.integers + (is_large ? 0 : room.counts);
  const size_t wide = is_large ? room.counts + room.addresses : 0;
  Contents* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->combiner = combiner;
  made->is_large = is_large;
  made->integer = calloc(narrow + 1, sizeof *made->integer);
  made->address = calloc((is_large ? 0 : room.addresses) + 1, sizeof *made->address);
  made->count = calloc(wide + 1, sizeof *made->count);
  made->type = calloc(room.types + 1, sizeof(Datatype*));
  if (made->integer && made->address && made->count && made->type) return made;
  contents_free(made);
  return NULL;
}

void contents_put_integer(Contents* contents, int value) {
  contents->integer[contents->integers++] = value;
}

void contents_put_count(Contents* contents, MPI_Count value) {
  if (contents->is_large) {
    contents->count[contents->counts++] = value;
  } else {
    contents_put_integer(contents, (int)value);
  }
}

void contents_put_address(Contents* contents, MPI_Count value) {
  if (contents->is_large) {
    contents->count[contents->counts++] = value;
  } else {
    contents->address[contents->addresses++] = value;
  }
}

void contents_put_type(Contents* contents, Datatype* type) {
  datatype_retain(type);
  contents->type[contents->types++] = type;
}

void contents_free(Contents* contents) {
  for (size_t i = 0; i < contents->types; ++i) datatype_release(contents->type[i]);
  free(contents->integer);
  free(contents->address);
  free(contents->count);
  free((void*)contents->type);
  free(contents);
}

/* Predefined types have no arguments. */
static const Contents kNamed = {.combiner = MPI_COMBINER_NAMED};

static const Contents* contents_of(const Datatype* type) {
  return type->contents != NULL ? type->contents : &kNamed;
}

static int is_too_large(const char* function) {
  return raise_error(function, NULL, MPI_ERR_TYPE,
                     "the type was made with large counts: use the form that ends in _c");
}

int MPI_Type_get_envelope(MPI_Datatype handle, int* num_integers, int* num_addresses,
                          int* num_datatypes, int* combiner) {
  int code;
  const void* all = num_integers && num_addresses && num_datatypes ? combiner : NULL;
  const Datatype* type = datatype_check(__func__, handle, all, &code);
  if (type == NULL) return code;
  const Contents* contents = contents_of(type);
  if (contents->is_large) return is_too_large(__func__);
  *num_integers = (int)contents->integers;
  *num_addresses = (int)contents->addresses;
  *num_datatypes = (int)contents->types;
  *combiner = contents->combiner;
  return MPI_SUCCESS;
}

int MPI_Type_get_envelope_c(MPI_Datatype handle, MPI_Count* num_integers, MPI_Count* num_addresses,
                            MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) {
  int code;
  const int all = num_integers && num_addresses && num_large_counts && num_datatypes;
  const Datatype* type = datatype_check(__func__, handle, all ? combiner : NULL, &code);
  if (type == NULL) return code;
  const Contents* contents = contents_of(type);
  *num_integers = (MPI_Count)contents->integers;
  *num_addresses = (MPI_Count)contents->addresses;
  *num_large_counts = (MPI_Count)contents->counts;
  *num_datatypes = (MPI_Count)contents->types;
  *combiner = contents->combiner;
  return MPI_SUCCESS;
}

/* Where the program wants what. */
typedef struct Places {
  MPI_Count integers, addresses, counts, types;
  int* integer;
  MPI_Aint* address;
  MPI_Count* count;
  MPI_Datatype* type;
} Places;

static int has_place(size_t wanted, MPI_Count room, const void* place) {
  return wanted == 0 || (room >= 0 && (size_t)room >= wanted && place != NULL);
}

/* Types that are not predefined are references of the program's from here on. */
static int give_contents(const char* function, MPI_Datatype handle, Places to) {
  int code;
  const Datatype* type = datatype_check(function, handle, "", &code);
  if (type == NULL) return code;
  const Contents* from = contents_of(type);
  if (from->combiner == MPI_COMBINER_NAMED) {
    return raise_error(function, NULL, MPI_ERR_TYPE, "a predefined datatype has no contents");
  }
  if (from->is_large && to.counts < 0) return is_too_large(function);
  if (!has_place(from->integers, to.integers, to.integer) ||
      !has_place(from->addresses, to.addresses, to.address) ||
      !has_place(from->counts, to.counts, to.count) ||
      !has_place(from->types, to.types, (const void*)to.type)) {
    return raise_error(function, NULL, MPI_ERR_ARG, "no room for the contents");
  }
  for (size_t i = 0; i < from->integers; ++i) to.integer[i] = from->integer[i];
  for (size_t i = 0; i < from->addresses; ++i) to.address[i] = from->address[i];
  for (size_t i = 0; i < from->counts; ++i) to.count[i] = from->count[i];
  for (size_t i = 0; i < from->types; ++i) {
    datatype_retain(from->type[i]);
    to.type[i] = datatype_handle(from->type[i]);
  }
  return MPI_SUCCESS;
}

int MPI_Type_get_contents(MPI_Datatype handle, int max_integers, int max_addresses,
                          int max_datatypes, int integers[], MPI_Aint addresses[],
                          MPI_Datatype datatypes[]) {
  return give_contents(__func__, handle,
                       (Places){.integers = max_integers,
                                .addresses = max_addresses,
                                .counts = -1,
                                .types = max_datatypes,
                                .integer = integers,
                                .address = addresses,
                                .type = datatypes});
}

int MPI_Type_get_contents_c(MPI_Datatype handle, MPI_Count max_integers, MPI_Count max_addresses,
                            MPI_Count max_large_counts, MPI_Count max_datatypes, int integers[],
                            MPI_Aint addresses[], MPI_Count large_counts[],
                            MPI_Datatype datatypes[]) {
  return give_contents(__func__, handle,
                       (Places){.integers = max_integers,
                                .addresses = max_addresses,
                                .counts = max_large_counts < 0 ? 0 : max_large_counts,
                                .types = max_datatypes,
                                .integer = integers,
                                .address = addresses,
                                .count = large_counts,
                                .type = datatypes});
}
