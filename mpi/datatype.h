/* What stands behind an MPI_Datatype: how an element lies in memory, in two forms.
 *
 * *Parts* say what the program made: repeated elements of other types, down to the predefined ones.
 * They are what signatures, conversions and bounds go by. *Runs* say where bytes lie: pieces of
 * memory that are repeated at a stride, neighbours made one piece. They are what is copied by. Both
 * are trees that share what is inside, so that a vector of a million blocks is one run, and one of
 * a million such vectors another.
 *
 * Ownership: a datatype lives until it was freed by the program *and* the types made of it and the
 * operations that use it are gone. The predefined ones stand with the process-wide state. Threads:
 * immutable once it was given to the program, but for the references, the name, whether it is
 * committed, and the library's type, which has a lock. path: setup; runs: data
 */
#ifndef ESPALIER_MPI_DATATYPE_H
#define ESPALIER_MPI_DATATYPE_H

#include <stdint.h>

#include "mpi/facade.h"

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "the arrays of both forms are alike");

/* `count` elements of a type, of which each begins `stride` bytes after the one before. */
typedef struct Part {
  ptrdiff_t at;
  size_t count;
  ptrdiff_t stride;
  Datatype* of; /* referenced as long as what the part belongs to */
} Part;

/* `count` pieces of `bytes` bytes each, packed. Piece k is at `at` + k * `stride`. */
typedef struct Run {
  ptrdiff_t at;
  size_t count;
  ptrdiff_t stride;
  size_t bytes;
  size_t begin;           /* packed bytes of the element before it */
  const Datatype* inside; /* NULL: a piece is memory without gaps; else an element of that */
} Run;

/* The arguments that made a type, for MPI_Type_get_contents. */
typedef struct Contents {
  int combiner;
  int is_large; /* made by a _c form */
  size_t integers, addresses, counts, types;
  int* integer;
  MPI_Aint* address;
  MPI_Count* count;
  Datatype** type; /* a reference each */
} Contents;

/* How many predefined handles there are room for: 0x200 to 0x2ff. */
enum { kFirstDatatype = 0x200, kDatatypes = 0x100 };
/* Types that are made may be inside each other so often. */
enum { kDepthMax = 1000 };

struct MPI_ABI_Datatype {
  Number number;
  atomic_int references;
  atomic_int is_committed;
  int is_predefined; /* of the table: has no references */
  int is_permanent;  /* of the library's making: the program cannot free it */
  size_t size;       /* packed bytes */
  size_t elements;   /* of predefined types */
  ptrdiff_t lb, ub, true_lb, true_ub;
  int has_lb, has_ub; /* set by MPI_Type_create_resized, here or inside */
  size_t alignment;
  const Datatype* basic; /* that all elements are of; NULL: of several */
  int depth;
  size_t part_count, run_count;
  Part* parts; /* none: it is an element itself */
  Run* runs;
  Contents* contents;  /* NULL: predefined */
  Datatype* next_kind; /* type_fortran.c */
  Attributes attributes;
  /* Of the predefined ones. */
  esp_type type; /* that the library combines, if it has one */
  int is_known;  /* it has */
  char kind;     /* see types.c */
  size_t wide;   /* bytes in external32 */
  Run own_run;
  const char* default_name;
  /* Under the lock of the types. */
  char name[MPI_MAX_OBJECT_NAME];
  int is_named;
  int layout_state; /* 0: not asked for yet; 1: there is one; -1: there is none */
  esp_type layout;
};

static inline ptrdiff_t datatype_extent(const Datatype* type) {
  return type->ub - type->lb;
}
/* Elements follow each other without gaps: so many are one piece of memory, at `true_lb`. */
static inline int datatype_is_dense(const Datatype* type) {
  const Run* run = type->runs;
  return type->size == 0 || (type->run_count == 1 && run->inside == NULL && run->count == 1 &&
                             run->at == type->lb && run->bytes == (size_t)(type->ub - type->lb));
}
/* The same for so many elements: of one the gap behind it does not count. */
static inline int datatype_is_piece(const Datatype* type, size_t count) {
  if (datatype_is_dense(type)) return 1;
  const Run* run = type->runs;
  return count <= 1 && type->run_count == 1 && run->inside == NULL && run->count == 1;
}

/* ---- types.c: the predefined ones, handles ---- */

/* Fills the table, and empties it. 0: no memory. */
int types_open(Datatype* table);
void types_close(Datatype* table);
/* NULL for a handle that is no datatype. */
Datatype* datatype_of(MPI_Datatype handle);
MPI_Datatype datatype_handle(const Datatype* type);
void datatype_retain(const Datatype* type);
void datatype_release(const Datatype* type);
/* Raises what is wrong with an argument: NULL and the code, else the datatype. */
Datatype* datatype_check(const char* function, MPI_Datatype handle, const void* result, int* code);

/* ---- type_attributes.c: raise what a function of the program fails with ---- */

int datatype_copy_attributes(const char* function, Datatype* from, Datatype* to);
int datatype_delete_attributes(const char* function, Datatype* type);

/* ---- type_flatten.c ---- */

/* Makes a type of parts, of which those of no elements are left out; references what they are of.
 * NULL: no memory, or too large, or too deep, as *error_class says. */
Datatype* datatype_compose(const Part* parts, size_t count, int* error_class);
/* Bounds that are set. 0: the extent overflows. */
int datatype_resize(Datatype* type, ptrdiff_t lb, ptrdiff_t extent);

/* ---- type_contents.c ---- */

/* With room for so many arguments of each kind. Of a _c form counts and addresses are kept as large
 * counts, else counts as integers. NULL when there is no memory. */
typedef struct Arguments {
  size_t integers, counts, addresses, types;
} Arguments;
Contents* contents_create(int combiner, int is_large, Arguments room);
void contents_put_integer(Contents* contents, int value);
void contents_put_count(Contents* contents, MPI_Count value);
void contents_put_address(Contents* contents, MPI_Count value);
/* References it. */
void contents_put_type(Contents* contents, Datatype* type);
void contents_free(Contents* contents);

/* ---- type_make.c ---- */

/* An array of the one form of a function or the other. MPI_Aint and MPI_Count are one type. */
typedef struct Numbers {
  const int* narrow;
  const MPI_Count* wide;
} Numbers;
static inline Numbers numbers_of_narrow(const int* narrow) {
  return (Numbers){.narrow = narrow};
}
static inline Numbers numbers_of_wide(const MPI_Count* wide) {
  return (Numbers){.wide = wide};
}
/* By the type of the argument. */
#define NUMBERS_OF(array) \
  _Generic((array), const int*: numbers_of_narrow, const MPI_Count*: numbers_of_wide)(array)
static inline MPI_Count number_at(Numbers numbers, size_t i) {
  return numbers.wide != NULL ? numbers.wide[i] : numbers.narrow[i];
}
static inline int numbers_are_null(Numbers numbers) {
  return numbers.wide == NULL && numbers.narrow == NULL;
}
/* Gives a type that was made to the program, with the arguments that it takes over; raises what
 * went wrong instead: `type` is NULL and there is an error class, or there are no contents. */
int datatype_give(const char* function, Datatype* type, int error_class, Contents* contents,
                  MPI_Datatype* handle);

/* ---- type_layout.c: types of the library ---- */

/* The library's type whose elements of bytes lie as this type's behind `true_lb`, made on first
 * use. 0: there is none. */
int datatype_layout(const Datatype* type, esp_type* layout);
void datatype_forget_layout(Datatype* type);

/* ---- pack.c ---- */

/* Copies `bytes` packed bytes of `count` elements, from the packed position `first` on, out of the
 * elements at `buffer` and into them. Any part may be copied by itself. What lies on a device is
 * copied piece by piece, and waited for: nothing else fails. */
esp_status type_pack(const Datatype* type, const void* buffer, size_t count, size_t first,
                     size_t bytes, void* to);
esp_status type_unpack(const Datatype* type, void* buffer, size_t count, size_t first, size_t bytes,
                       const void* from);
/* Where the first byte of so many elements is and the last one ends, from the buffer on. 0: further
 * than numbers reach. */
int type_reach(const Datatype* type, size_t count, ptrdiff_t* lowest, ptrdiff_t* highest);
/* Do the elements lie on a device? */
int type_on_device(const Datatype* type, const void* buffer);

/* Where the elements of a buffer begin that lie so far behind it. The buffer may be MPI_BOTTOM. */
static inline void* displaced(const void* buffer, ptrdiff_t by) {
  return (void*)((uintptr_t)buffer + (uintptr_t)by);
}

#endif /* ESPALIER_MPI_DATATYPE_H */
