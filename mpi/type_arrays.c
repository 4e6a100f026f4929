/* Parts of arrays as datatypes: MPI_Type_create_subarray, MPI_Type_create_darray.
 *
 * Dimension by dimension, from that whose neighbours are the nearest in memory: what the dimension
 * selects are repetitions, at a stride, of what was selected so far. path: setup
 */
#include "mpi/datatype.h"

/* An array that is being selected of: the last dimension's type, which is referenced, and how far
 * apart its elements are. */
typedef struct Selection {
  Datatype* type;
  ptrdiff_t stride;
  int error_class;
} Selection;

/* Of a dimension of `size`: the parts, in elements of it. */
static void select_parts(Selection* s, Part* parts, size_t count, MPI_Count size) {
  for (size_t i = 0; i < count; ++i) {
    parts[i].of = parts[i].of != NULL ? parts[i].of : s->type;
    if (__builtin_mul_overflow(parts[i].at, s->stride, &parts[i].at) ||
        __builtin_mul_overflow(parts[i].stride, s->stride, &parts[i].stride)) {
      s->error_class = MPI_ERR_COUNT;
    }
  }
  if (s->error_class != MPI_SUCCESS) return;
  Datatype* of = s->type;
  s->type = datatype_compose(parts, count, &s->error_class);
  datatype_release(of);
  if (__builtin_mul_overflow(s->stride, (ptrdiff_t)size, &s->stride))
    s->error_class = MPI_ERR_COUNT;
}

/* An element reaches over all of the array. */
static Datatype* conclude(Selection* s) {
  if (s->error_class == MPI_SUCCESS && !datatype_resize(s->type, 0, s->stride)) {
    s->error_class = MPI_ERR_COUNT;
  }
  if (s->error_class == MPI_SUCCESS) return s->type;
  if (s->type != NULL) datatype_release(s->type);
  return NULL;
}

static Selection begin(Datatype* of) {
  datatype_retain(of);
  return (Selection){of, datatype_extent(of), MPI_SUCCESS};
}

/* The i-th dimension from the nearest one on. */
static size_t dimension(int order, int dims, int i) {
  return (size_t)(order == MPI_ORDER_C ? dims - 1 - i : i);
}

static int wrong(const char* function, int error_class, const char* problem) {
  return raise_error(function, NULL, error_class, problem);
}

static int check(const char* function, int dims, int order, MPI_Datatype oldtype,
                 const MPI_Datatype* newtype) {
  require_ready(function);
  if (dims < 1) return wrong(function, MPI_ERR_ARG, "no dimensions");
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
    return wrong(function, MPI_ERR_ARG, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  }
  if (newtype == NULL) return wrong(function, MPI_ERR_ARG, "null result");
  return datatype_of(oldtype) != NULL ? MPI_SUCCESS
                                      : wrong(function, MPI_ERR_TYPE, "not a datatype");
}

/* ---- a part of an array ---- */

typedef struct Subarray {
  const char* function;
  int is_large, dims, order;
  Numbers sizes, subsizes, starts;
} Subarray;

static Contents* contents_of_subarray(const Subarray* a, Datatype* of) {
  const size_t dims = (size_t)a->dims;
  const Arguments room = {.integers = 2, .counts = 3 * dims, .types = 1};
  Contents* contents = contents_create(MPI_COMBINER_SUBARRAY, a->is_large, room);
  if (contents == NULL) return NULL;
  contents_put_integer(contents, a->dims);
  for (size_t d = 0; d < dims; ++d) contents_put_count(contents, number_at(a->sizes, d));
  for (size_t d = 0; d < dims; ++d) contents_put_count(contents, number_at(a->subsizes, d));
  for (size_t d = 0; d < dims; ++d) contents_put_count(contents, number_at(a->starts, d));
  contents_put_integer(contents, a->order);
  contents_put_type(contents, of);
  return contents;
}

static int make_subarray(const Subarray* a, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const int code = check(a->function, a->dims, a->order, oldtype, newtype);
  if (code != MPI_SUCCESS) return code;
  if (numbers_are_null(a->sizes) || numbers_are_null(a->subsizes) || numbers_are_null(a->starts)) {
    return wrong(a->function, MPI_ERR_ARG, "null sizes or starts");
  }
  for (size_t d = 0; d < (size_t)a->dims; ++d) {
    const MPI_Count size = number_at(a->sizes, d), part = number_at(a->subsizes, d);
    const MPI_Count start = number_at(a->starts, d);
    if (size < 1 || part < 1 || part > size || start < 0 || start > size - part) {
      return wrong(a->function, MPI_ERR_ARG, "the part is empty, or not inside the array");
    }
  }
  Datatype* of = datatype_of(oldtype);
  Selection s = begin(of);
  for (int i = 0; i < a->dims && s.error_class == MPI_SUCCESS; ++i) {
    const size_t d = dimension(a->order, a->dims, i);
    Part part = {
        .at = number_at(a->starts, d), .count = (size_t)number_at(a->subsizes, d), .stride = 1};
    select_parts(&s, &part, 1, number_at(a->sizes, d));
  }
  Datatype* type = conclude(&s);
  return datatype_give(a->function, type, s.error_class, contents_of_subarray(a, of), newtype);
}

int MPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[],
                             int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const Subarray a = {__func__, 0, ndims, order, {sizes, NULL}, {subsizes, NULL}, {starts, NULL}};
  return make_subarray(&a, oldtype, newtype);
}

int MPI_Type_create_subarray_c(int ndims, const MPI_Count sizes[], const MPI_Count subsizes[],
                               const MPI_Count starts[], int order, MPI_Datatype oldtype,
                               MPI_Datatype* newtype) {
  const Subarray a = {__func__, 1, ndims, order, {NULL, sizes}, {NULL, subsizes}, {NULL, starts}};
  return make_subarray(&a, oldtype, newtype);
}

/* ---- what a process has of a distributed array ---- */

typedef struct Darray {
  const char* function;
  int is_large, size, rank, dims, order;
  Numbers gsizes;
  const int *distribs, *dargs, *psizes;
} Darray;

static Contents* contents_of_darray(const Darray* a, Datatype* of) {
  const size_t dims = (size_t)a->dims;
  const Arguments room = {.integers = 4 + 3 * dims, .counts = dims, .types = 1};
  Contents* contents = contents_create(MPI_COMBINER_DARRAY, a->is_large, room);
  if (contents == NULL) return NULL;
  contents_put_integer(contents, a->size);
  contents_put_integer(contents, a->rank);
  contents_put_integer(contents, a->dims);
  for (size_t d = 0; d < dims; ++d) contents_put_count(contents, number_at(a->gsizes, d));
  for (size_t d = 0; d < dims; ++d) contents_put_integer(contents, a->distribs[d]);
  for (size_t d = 0; d < dims; ++d) contents_put_integer(contents, a->dargs[d]);
  for (size_t d = 0; d < dims; ++d) contents_put_integer(contents, a->psizes[d]);
  contents_put_integer(contents, a->order);
  contents_put_type(contents, of);
  return contents;
}

static int check_dimension(const Darray* a, size_t d) {
  const MPI_Count size = number_at(a->gsizes, d);
  const int distribution = a->distribs[d], arg = a->dargs[d], processes = a->psizes[d];
  if (size < 1 || processes < 1) return wrong(a->function, MPI_ERR_ARG, "an empty dimension");
  if (distribution < MPI_DISTRIBUTE_NONE || distribution > MPI_DISTRIBUTE_CYCLIC) {
    return wrong(a->function, MPI_ERR_ARG, "not a distribution");
  }
  if (distribution == MPI_DISTRIBUTE_NONE) {
    if (processes == 1) return MPI_SUCCESS;
    return wrong(a->function, MPI_ERR_ARG, "several processes where nothing is distributed");
  }
  if (arg == MPI_DISTRIBUTE_DFLT_DARG) return MPI_SUCCESS;
  if (arg < 1) return wrong(a->function, MPI_ERR_ARG, "a distribution's argument is not positive");
  if (distribution == MPI_DISTRIBUTE_BLOCK && (MPI_Count)arg * processes < size) {
    return wrong(a->function, MPI_ERR_ARG, "the blocks do not cover the dimension");
  }
  return MPI_SUCCESS;
}

static int check_darray(const Darray* a) {
  if (numbers_are_null(a->gsizes) || !a->distribs || !a->dargs || !a->psizes) {
    return wrong(a->function, MPI_ERR_ARG, "null sizes or distributions");
  }
  MPI_Count processes = 1;
  for (size_t d = 0; d < (size_t)a->dims; ++d) {
    const int code = check_dimension(a, d);
    if (code != MPI_SUCCESS) return code;
    processes = processes > a->size ? processes : processes * a->psizes[d];
  }
  if (processes != a->size) return wrong(a->function, MPI_ERR_ARG, "the grid has another size");
  if (a->rank < 0 || a->rank >= a->size) return wrong(a->function, MPI_ERR_RANK, "not a rank");
  return MPI_SUCCESS;
}

/* A process's blocks of a dimension, each `block` long: whole ones, and one that the end cuts off.
 */
static void select_blocks(Selection* s, MPI_Count size, MPI_Count processes, MPI_Count at,
                          MPI_Count block) {
  MPI_Count round;
  if (__builtin_mul_overflow(processes, block, &round)) {
    s->error_class = MPI_ERR_COUNT;
    return;
  }
  const MPI_Count begins = at * block;
  const MPI_Count rounds = begins < size ? (size - begins - 1) / round + 1 : 0;
  const MPI_Count last = rounds > 0 ? size - begins - (rounds - 1) * round : 0;
  const int is_cut = rounds > 0 && last < block;
  const MPI_Count whole = is_cut ? rounds - 1 : rounds;
  const ptrdiff_t extent = s->stride;
  const Part one = {.count = (size_t)block, .stride = extent, .of = s->type};
  Datatype* all_of_block = datatype_compose(&one, 1, &s->error_class);
  if (all_of_block == NULL) return;
  Part parts[2] = {
      {.at = begins, .count = (size_t)whole, .stride = round, .of = all_of_block},
      {.at = begins + whole * round, .count = (size_t)(is_cut ? last : 0), .stride = 1}};
  select_parts(s, parts, 2, size);
  datatype_release(all_of_block);
}

static void select_dimension(Selection* s, const Darray* a, size_t d, MPI_Count at) {
  const MPI_Count size = number_at(a->gsizes, d), processes = a->psizes[d];
  MPI_Count block = a->dargs[d];
  if (a->distribs[d] == MPI_DISTRIBUTE_NONE) {
    block = size;
  } else if (block == MPI_DISTRIBUTE_DFLT_DARG) {
    block = a->distribs[d] == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
  }
  if (block > size) block = size; /* of one that begins inside, else of none */
  select_blocks(s, size, processes, at, block);
}

static int make_darray(const Darray* a, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  int code = check(a->function, a->dims, a->order, oldtype, newtype);
  if (code == MPI_SUCCESS) code = check_darray(a);
  if (code != MPI_SUCCESS) return code;
  Datatype* of = datatype_of(oldtype);
  Selection s = begin(of);
  for (int i = 0; i < a->dims && s.error_class == MPI_SUCCESS; ++i) {
    const size_t d = dimension(a->order, a->dims, i);
    int behind = 1; /* The grid of processes is row-major, whatever the order of the array. */
    for (size_t e = d + 1; e < (size_t)a->dims; ++e) behind *= a->psizes[e];
    select_dimension(&s, a, d, a->rank / behind % a->psizes[d]);
  }
  Datatype* type = conclude(&s);
  return datatype_give(a->function, type, s.error_class, contents_of_darray(a, of), newtype);
}

int MPI_Type_create_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[],
                           const int dargs[], const int psizes[], int order, MPI_Datatype oldtype,
                           MPI_Datatype* newtype) {
  const Darray a = {__func__, 0, size, rank, ndims, order, {gsizes, NULL}, distribs, dargs, psizes};
  return make_darray(&a, oldtype, newtype);
}

int MPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count gsizes[],
                             const int distribs[], const int dargs[], const int psizes[], int order,
                             MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const Darray a = {__func__, 1, size, rank, ndims, order, {NULL, gsizes}, distribs, dargs, psizes};
  return make_darray(&a, oldtype, newtype);
}
