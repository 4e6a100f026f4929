/* Constructors of derived datatypes but for arrays (type_arrays.c). path: setup */
#include <stdlib.h>

#include "mpi/datatype.h"

/* The arguments of a constructor, of either form. */
typedef struct Recipe {
  const char* function;
  int combiner;
  int is_large;
  MPI_Count count, blocklength, stride; /* the stride as the program says it */
  Numbers lengths, displs;
  MPI_Datatype oldtype;
  const MPI_Datatype* types; /* of each block, in its place */
  MPI_Datatype* newtype;
} Recipe;

int datatype_give(const char* function, Datatype* type, int error_class, Contents* contents,
                  MPI_Datatype* handle) {
  if (type != NULL && contents != NULL) {
    type->contents = contents;
    *handle = type;
    return MPI_SUCCESS;
  }
  if (type == NULL && error_class == MPI_SUCCESS) error_class = MPI_ERR_NO_MEM;
  if (type != NULL) datatype_release(type);
  if (contents != NULL) contents_free(contents);
  const char* text = "no memory";
  if (error_class == MPI_ERR_COUNT) text = "the size or extent would have more than 63 bits";
  if (error_class == MPI_ERR_UNSUPPORTED_OPERATION) text = "types are inside each other too often";
  return raise_error(function, NULL, error_class == MPI_SUCCESS ? MPI_ERR_NO_MEM : error_class,
                     text);
}

/* ---- checks ---- */

static int wrong(const Recipe* r, int error_class, const char* problem) {
  return raise_error(r->function, NULL, error_class, problem);
}

static int check_type(const Recipe* r, MPI_Datatype type) {
  return datatype_of(type) != NULL ? MPI_SUCCESS : wrong(r, MPI_ERR_TYPE, "not a datatype");
}

/* `lists`: lengths or displacements are arrays, which are not NULL where they have entries. */
static int check(const Recipe* r, int has_lengths, int has_displs) {
  require_ready(r->function);
  if (r->count < 0) return wrong(r, MPI_ERR_COUNT, "negative count");
  if (r->blocklength < 0) return wrong(r, MPI_ERR_ARG, "negative length of a block");
  if (r->newtype == NULL) return wrong(r, MPI_ERR_ARG, "null result");
  if (r->count > 0 && ((has_lengths && numbers_are_null(r->lengths)) ||
                       (has_displs && numbers_are_null(r->displs)))) {
    return wrong(r, MPI_ERR_ARG, "null lengths or displacements");
  }
  for (size_t i = 0; has_lengths && i < (size_t)r->count; ++i) {
    if (number_at(r->lengths, i) < 0) return wrong(r, MPI_ERR_ARG, "negative length of a block");
  }
  if (r->combiner != MPI_COMBINER_STRUCT) return check_type(r, r->oldtype);
  if (r->count > 0 && r->types == NULL) return wrong(r, MPI_ERR_ARG, "null datatypes");
  int code = MPI_SUCCESS;
  for (size_t i = 0; i < (size_t)r->count && code == MPI_SUCCESS; ++i) {
    code = check_type(r, r->types[i]);
  }
  return code;
}

/* ---- blocks at a stride ---- */

static Contents* contents_of_vector(const Recipe* r, Datatype* of) {
  const int one = r->combiner == MPI_COMBINER_CONTIGUOUS;
  const int in_bytes = r->combiner == MPI_COMBINER_HVECTOR;
  const Arguments room = {.counts = one ? 1 : 3, .addresses = (size_t)in_bytes, .types = 1};
  Contents* contents = contents_create(r->combiner, r->is_large, room);
  if (contents == NULL) return NULL;
  contents_put_count(contents, r->count);
  if (!one) {
    contents_put_count(contents, r->blocklength);
    (in_bytes ? contents_put_address : contents_put_count)(contents, r->stride);
  }
  contents_put_type(contents, of);
  return contents;
}

static int make_vector(const Recipe* r) {
  const int code = check(r, 0, 0);
  if (code != MPI_SUCCESS) return code;
  Datatype* of = datatype_of(r->oldtype);
  const ptrdiff_t extent = datatype_extent(of);
  ptrdiff_t stride = r->stride;
  int error_class = MPI_SUCCESS;
  if (r->combiner == MPI_COMBINER_CONTIGUOUS) stride = extent;
  if (r->combiner == MPI_COMBINER_VECTOR &&
      __builtin_mul_overflow((ptrdiff_t)r->stride, extent, &stride)) {
    return datatype_give(r->function, NULL, MPI_ERR_COUNT, NULL, r->newtype);
  }
  Part block = {.count = (size_t)r->blocklength, .stride = extent, .of = of};
  Datatype* inner = NULL;
  if (r->blocklength != 1) {
    inner = datatype_compose(&block, 1, &error_class);
    if (inner == NULL) return datatype_give(r->function, NULL, error_class, NULL, r->newtype);
  }
  const Part all = {.count = (size_t)r->count, .stride = stride, .of = inner != NULL ? inner : of};
  Datatype* type = datatype_compose(&all, 1, &error_class);
  if (inner != NULL) datatype_release(inner);
  return datatype_give(r->function, type, error_class, contents_of_vector(r, of), r->newtype);
}

/* ---- blocks at displacements ---- */

static int is_in_bytes(int combiner) {
  return combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK ||
         combiner == MPI_COMBINER_STRUCT;
}

static int has_one_length(int combiner) {
  return combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

static Contents* contents_of_blocks(const Recipe* r) {
  const size_t n = (size_t)r->count;
  const int in_bytes = is_in_bytes(r->combiner), one = has_one_length(r->combiner);
  const Arguments room = {.counts = 1 + (one ? 1 : n) + (in_bytes ? 0 : n),
                          .addresses = in_bytes ? n : 0,
                          .types = r->types != NULL ? n : 1};
  Contents* contents = contents_create(r->combiner, r->is_large, room);
  if (contents == NULL) return NULL;
  contents_put_count(contents, r->count);
  if (one) contents_put_count(contents, r->blocklength);
  for (size_t i = 0; i < n && !one; ++i) contents_put_count(contents, number_at(r->lengths, i));
  for (size_t i = 0; i < n; ++i) {
    (in_bytes ? contents_put_address : contents_put_count)(contents, number_at(r->displs, i));
  }
  if (r->combiner != MPI_COMBINER_STRUCT) {
    contents_put_type(contents, datatype_of(r->oldtype));
    return contents;
  }
  for (size_t i = 0; i < n; ++i) contents_put_type(contents, datatype_of(r->types[i]));
  return contents;
}

/* 0: a displacement overflows. */
static int list_parts(const Recipe* r, Part* parts) {
  const int in_bytes = is_in_bytes(r->combiner), one = has_one_length(r->combiner);
  for (size_t i = 0; i < (size_t)r->count; ++i) {
    Datatype* of = datatype_of(r->types != NULL ? r->types[i] : r->oldtype);
    const ptrdiff_t extent = datatype_extent(of);
    parts[i] = (Part){.at = number_at(r->displs, i),
                      .count = (size_t)(one ? r->blocklength : number_at(r->lengths, i)),
                      .stride = extent,
                      .of = of};
    if (!in_bytes && __builtin_mul_overflow(parts[i].at, extent, &parts[i].at)) return 0;
  }
  return 1;
}

static int make_blocks(const Recipe* r) {
  const int code = check(r, !has_one_length(r->combiner), 1);
  if (code != MPI_SUCCESS) return code;
  Datatype* type = NULL;
  int error_class = MPI_ERR_NO_MEM;
  Part* parts = calloc((size_t)r->count + 1, sizeof *parts);
  if (parts != NULL) {
    error_class = MPI_ERR_COUNT;
    if (list_parts(r, parts)) type = datatype_compose(parts, (size_t)r->count, &error_class);
  }
  free(parts);
  Contents* contents = type != NULL ? contents_of_blocks(r) : NULL;
  return datatype_give(r->function, type, error_class, contents, r->newtype);
}

/* ---- one element of another ---- */

static int make_one(const Recipe* r, int is_resized, MPI_Count lb, MPI_Count extent) {
  const int code = check(r, 0, 0);
  if (code != MPI_SUCCESS) return code;
  Datatype* of = datatype_of(r->oldtype);
  int error_class;
  const Part all = {.count = 1, .stride = datatype_extent(of), .of = of};
  Datatype* type = datatype_compose(&all, 1, &error_class);
  if (type != NULL && is_resized && !datatype_resize(type, lb, extent)) {
    datatype_release(type);
    return datatype_give(r->function, NULL, MPI_ERR_COUNT, NULL, r->newtype);
  }
  const Arguments room = {.addresses = is_resized ? 2 : 0, .types = 1};
  Contents* contents = contents_create(r->combiner, r->is_large, room);
  if (contents != NULL) {
    if (is_resized) contents_put_address(contents, lb);
    if (is_resized) contents_put_address(contents, extent);
    contents_put_type(contents, of);
  }
  return datatype_give(r->function, type, error_class, contents, r->newtype);
}

int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const Recipe r = {__func__, MPI_COMBINER_DUP, .oldtype = oldtype, .newtype = newtype};
  int code = make_one(&r, 0, 0, 0);
  if (code != MPI_SUCCESS) return code;
  atomic_store(&(*newtype)->is_committed, atomic_load(&datatype_of(oldtype)->is_committed));
  code = datatype_copy_attributes(__func__, datatype_of(oldtype), *newtype);
  if (code == MPI_SUCCESS) return code;
  datatype_release(*newtype);
  *newtype = MPI_DATATYPE_NULL;
  return code;
}

/* ---- both forms of each ---- */

#define FORMS(NAME, LARGE_NAME, NARROW, WIDE, COMBINER, MAKE, ...)                            \
  int NAME NARROW {                                                                           \
    const Recipe r = {__func__, MPI_COMBINER_##COMBINER, 0, .newtype = newtype, __VA_ARGS__}; \
    return MAKE;                                                                              \
  }                                                                                           \
  int LARGE_NAME WIDE {                                                                       \
    const Recipe r = {__func__, MPI_COMBINER_##COMBINER, 1, .newtype = newtype, __VA_ARGS__}; \
    return MAKE;                                                                              \
  }

/* An array of ints, or of the others. */
#define NUMBERS(array)                                   \
  _Generic((array),                                      \
      const int*: (Numbers){(const void*)(array), NULL}, \
      default: (Numbers){NULL, (const void*)(array)})

FORMS(MPI_Type_contiguous, MPI_Type_contiguous_c,
      (int count, MPI_Datatype oldtype, MPI_Datatype* newtype),
      (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype), CONTIGUOUS, make_vector(&r),
      .count = count, .blocklength = 1, .oldtype = oldtype)

FORMS(MPI_Type_vector, MPI_Type_vector_c,
      (int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype* newtype),
      (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      VECTOR, make_vector(&r), .count = count, .blocklength = blocklength, .stride = stride,
      .oldtype = oldtype)

FORMS(MPI_Type_create_hvector, MPI_Type_create_hvector_c,
      (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype),
      (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      HVECTOR, make_vector(&r), .count = count, .blocklength = blocklength, .stride = stride,
      .oldtype = oldtype)

FORMS(MPI_Type_indexed, MPI_Type_indexed_c,
      (int count, const int blocklengths[], const int displs[], MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displs[],
       MPI_Datatype oldtype, MPI_Datatype* newtype),
      INDEXED, make_blocks(&r), .count = count, .lengths = NUMBERS(blocklengths),
      .displs = NUMBERS(displs), .oldtype = oldtype)

FORMS(MPI_Type_create_hindexed, MPI_Type_create_hindexed_c,
      (int count, const int blocklengths[], const MPI_Aint displs[], MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displs[],
       MPI_Datatype oldtype, MPI_Datatype* newtype),
      HINDEXED, make_blocks(&r), .count = count, .lengths = NUMBERS(blocklengths),
      .displs = NUMBERS(displs), .oldtype = oldtype)

FORMS(MPI_Type_create_indexed_block, MPI_Type_create_indexed_block_c,
      (int count, int blocklength, const int displs[], MPI_Datatype oldtype, MPI_Datatype* newtype),
      (MPI_Count count, MPI_Count blocklength, const MPI_Count displs[], MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      INDEXED_BLOCK, make_blocks(&r), .count = count, .blocklength = blocklength,
      .displs = NUMBERS(displs), .oldtype = oldtype)

FORMS(MPI_Type_create_hindexed_block, MPI_Type_create_hindexed_block_c,
      (int count, int blocklength, const MPI_Aint displs[], MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      (MPI_Count count, MPI_Count blocklength, const MPI_Count displs[], MPI_Datatype oldtype,
       MPI_Datatype* newtype),
      HINDEXED_BLOCK, make_blocks(&r), .count = count, .blocklength = blocklength,
      .displs = NUMBERS(displs), .oldtype = oldtype)

FORMS(MPI_Type_create_struct, MPI_Type_create_struct_c,
      (int count, const int blocklengths[], const MPI_Aint displs[], const MPI_Datatype types[],
       MPI_Datatype* newtype),
      (MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displs[],
       const MPI_Datatype types[], MPI_Datatype* newtype),
      STRUCT, make_blocks(&r), .count = count, .lengths = NUMBERS(blocklengths),
      .displs = NUMBERS(displs), .types = types)

FORMS(MPI_Type_create_resized, MPI_Type_create_resized_c,
      (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype),
      (MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype), RESIZED,
      make_one(&r, 1, lb, extent), .oldtype = oldtype)
