/* types_contents: what datatypes say of how they were made, their names, types by size, and wrong
 * arguments, as one C program that knows nothing but <mpi.h>; see conformance.c. Any number of
 * processes.
 */
#include <string.h>

#include "conformance.h"

enum { kMost = 16 };

static int integers[kMost];
static MPI_Aint addresses[kMost];
static MPI_Datatype datatypes[kMost];

/* A type's contents are so many, and of that combiner. */
static void contents_of(MPI_Datatype type, int combiner, int ints, int places, int types) {
  int found_ints, found_places, found_types, found;
  CHECK_OK(MPI_Type_get_envelope(type, &found_ints, &found_places, &found_types, &found));
  CHECK(found == combiner);
  CHECK(found_ints == ints && found_places == places && found_types == types);
  CHECK_OK(MPI_Type_get_contents(type, ints, places, types, integers, addresses, datatypes));
}

static int has_integers(const int* expected, int count) {
  return memcmp(integers, expected, (size_t)count * sizeof *expected) == 0;
}

static void simple(void) {
  MPI_Datatype made, of;
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
  CHECK(integers[0] == 3 && datatypes[0] == MPI_INT);
  of = made;
  CHECK_OK(MPI_Type_vector(2, 3, 4, of, &made));
  contents_of(made, MPI_COMBINER_VECTOR, 3, 0, 1);
  CHECK(has_integers((int[]){2, 3, 4}, 3));
  /* What comes of derived types is a type of its own, which the program frees. */
  int bytes = 0;
  CHECK_OK(MPI_Type_free(&of));
  CHECK_OK(MPI_Type_size(datatypes[0], &bytes));
  CHECK(bytes == 12);
  CHECK_OK(MPI_Type_free(&datatypes[0]));
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_hvector(2, 3, 40, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_HVECTOR, 2, 1, 1);
  CHECK(has_integers((int[]){2, 3}, 2) && addresses[0] == 40);
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_dup(MPI_DOUBLE, &made));
  contents_of(made, MPI_COMBINER_DUP, 0, 0, 1);
  CHECK(datatypes[0] == MPI_DOUBLE);
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_resized(MPI_DOUBLE, -8, 32, &made));
  contents_of(made, MPI_COMBINER_RESIZED, 0, 2, 1);
  CHECK(addresses[0] == -8 && addresses[1] == 32);
  CHECK_OK(MPI_Type_free(&made));
}

static void lists(void) {
  const int lengths[] = {2, 1}, displs[] = {5, -3};
  const MPI_Aint places[] = {16, -24};
  const MPI_Datatype of[] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype made;
  CHECK_OK(MPI_Type_indexed(2, lengths, displs, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_INDEXED, 5, 0, 1);
  CHECK(has_integers((int[]){2, 2, 1, 5, -3}, 5));
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_HINDEXED, 3, 2, 1);
  CHECK(has_integers((int[]){2, 2, 1}, 3) && addresses[0] == 16 && addresses[1] == -24);
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_indexed_block(2, 7, displs, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
  CHECK(has_integers((int[]){2, 7, 5, -3}, 4));
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_hindexed_block(2, 7, places, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
  CHECK(has_integers((int[]){2, 7}, 2) && addresses[1] == -24);
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_struct(2, lengths, places, of, &made));
  contents_of(made, MPI_COMBINER_STRUCT, 3, 2, 2);
  CHECK(datatypes[0] == MPI_CHAR && datatypes[1] == MPI_DOUBLE);
  CHECK_OK(MPI_Type_free(&made));
}

static void arrays(void) {
  const int sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 2}, grid[] = {2, 2};
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  MPI_Datatype made;
  CHECK_OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made));
  contents_of(made, MPI_COMBINER_SUBARRAY, 8, 0, 1);
  CHECK(has_integers((int[]){2, 4, 6, 2, 3, 1, 2, MPI_ORDER_C}, 8));
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_create_darray(4, 3, 2, sizes, distributions, arguments, grid, MPI_ORDER_FORTRAN,
                                  MPI_INT, &made));
  contents_of(made, MPI_COMBINER_DARRAY, 12, 0, 1);
  CHECK(has_integers((int[]){4, 3, 2, 4, 6, distributions[0], distributions[1], arguments[0], 2, 2,
                             2, MPI_ORDER_FORTRAN},
                     12));
  CHECK_OK(MPI_Type_free(&made));
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1, combiner, none;
  CHECK_OK(MPI_Type_get_name(MPI_DOUBLE, name, &length));
  CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10);
  CHECK_OK(MPI_Type_get_envelope(MPI_DOUBLE, &none, &none, &none, &combiner));
  CHECK(combiner == MPI_COMBINER_NAMED);
  if (kOurs) { /* Open MPI crashes */
    CHECK_CLASS(MPI_Type_get_contents(MPI_DOUBLE, 0, 0, 0, integers, addresses, datatypes),
                MPI_ERR_TYPE);
  }
  MPI_Datatype made, copy;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &made));
  CHECK_OK(MPI_Type_get_name(made, name, &length));
  CHECK(length == 0 && name[0] == '\0');
  CHECK_OK(MPI_Type_set_name(made, "pair of ints"));
  CHECK_OK(MPI_Type_dup(made, &copy));
  CHECK_OK(MPI_Type_get_name(made, name, &length));
  CHECK(strcmp(name, "pair of ints") == 0 && length == 12);
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Type_free(&copy));
  CHECK_OK(MPI_Type_set_name(MPI_BYTE, "octet"));
  CHECK_OK(MPI_Type_get_name(MPI_BYTE, name, &length));
  CHECK(strcmp(name, "octet") == 0);
}

static void by_size(void) {
  MPI_Datatype type;
  int bytes;
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  CHECK_OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 8);
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
  CHECK_OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 2);
  CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type), MPI_ERR_ARG);
  if (!kOurs) return; /* others may be built without Fortran */
  MPI_Datatype again;
  CHECK_OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &type));
  CHECK_OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &again));
  CHECK(type == again);
  contents_of(type, MPI_COMBINER_F90_REAL, 2, 0, 0);
  CHECK(has_integers((int[]){12, MPI_UNDEFINED}, 2));
  CHECK_CLASS(MPI_Type_free(&again), MPI_ERR_TYPE);
  double value = rank, sum = -1;
  CHECK_OK(MPI_Allreduce(&value, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2.0);
  CHECK_OK(MPI_Type_create_f90_complex(6, 30, &type));
  CHECK_OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 8);
  CHECK_OK(MPI_Type_create_f90_integer(10, &type));
  CHECK_OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 8);
  CHECK_CLASS(MPI_Type_create_f90_integer(60, &type), MPI_ERR_ARG);
}

static void wrong_arguments(void) {
  MPI_Datatype made = MPI_DATATYPE_NULL, none = MPI_DATATYPE_NULL;
  int bytes = 0, buffer[8] = {0}, at = 0;
  CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_contiguous(1, none, &made), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_size(none, &bytes), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_commit(&none), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_free(&none), MPI_ERR_TYPE);
  MPI_Datatype predefined = MPI_INT;
  CHECK(MPI_Type_free(&predefined) != MPI_SUCCESS);
  const int sizes[] = {4}, parts[] = {3}, starts[] = {2};
  CHECK_CLASS(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, sizes, parts, sizes, 99, MPI_INT, &made), MPI_ERR_ARG);
  CHECK(made == MPI_DATATYPE_NULL);
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &made));
  CHECK_CLASS(MPI_Bcast(buffer, 1, made, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  if (kOurs) { /* Open MPI calls it an internal error */
    CHECK_CLASS(MPI_Type_get_contents(made, 0, 2, 2, integers, addresses, datatypes), MPI_ERR_ARG);
  }
  CHECK_OK(MPI_Type_commit(&made));
  CHECK_OK(MPI_Bcast(buffer, 1, made, 0, MPI_COMM_WORLD));
  CHECK(MPI_Pack(buffer, 1, made, buffer + 4, 7, &at, MPI_COMM_WORLD) != MPI_SUCCESS && at == 0);
  /* Predefined operators are not for derived types. */
  CHECK_CLASS(MPI_Allreduce(buffer, buffer + 4, 1, made, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
  CHECK_OK(MPI_Type_free(&made));
}

#ifdef ESPALIER_MPI_MPI_H
/* Forms with large counts, which Open MPI 4.1 has not. */
static void large_counts(void) {
  MPI_Datatype made, of;
  MPI_Count ints, places, counts, types, lb, extent, found[kMost];
  int combiner, narrow;
  const MPI_Count huge = (MPI_Count)1 << 40, lengths[] = {huge, 1}, displs[] = {0, 2 * huge};
  CHECK_OK(MPI_Type_contiguous_c(huge, MPI_CHAR, &of));
  CHECK_OK(MPI_Type_indexed_c(2, lengths, displs, MPI_CHAR, &made));
  CHECK_OK(MPI_Type_get_extent_c(made, &lb, &extent));
  CHECK(lb == 0 && extent == 2 * huge + 1);
  CHECK_OK(MPI_Type_get_envelope_c(made, &ints, &places, &counts, &types, &combiner));
  CHECK(ints == 0 && places == 0 && counts == 5 && types == 1 && combiner == MPI_COMBINER_INDEXED);
  CHECK_OK(MPI_Type_get_contents_c(made, 0, 0, 5, 1, integers, addresses, found, datatypes));
  CHECK(found[0] == 2 && found[1] == huge && found[2] == 1 && found[4] == 2 * huge);
  CHECK_CLASS(MPI_Type_get_envelope(made, &narrow, &narrow, &narrow, &combiner), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_get_contents(made, 9, 9, 9, integers, addresses, datatypes), MPI_ERR_TYPE);
  MPI_Status status;
  CHECK_OK(MPI_Status_set_elements_c(&status, MPI_CHAR, 3 * huge));
  CHECK_OK(MPI_Get_count(&status, MPI_CHAR, &narrow));
  CHECK(narrow == MPI_UNDEFINED);
  CHECK_OK(MPI_Get_count_c(&status, of, &counts));
  CHECK(counts == 3);
  CHECK_OK(MPI_Type_free(&of));
  CHECK_OK(MPI_Type_free(&made));
  CHECK_OK(MPI_Status_set_source(&status, 5));
  CHECK_OK(MPI_Status_set_tag(&status, 6));
  CHECK_OK(MPI_Status_set_error(&status, 7));
  int source, tag, error;
  CHECK_OK(MPI_Status_get_source(&status, &source));
  CHECK_OK(MPI_Status_get_tag(&status, &tag));
  CHECK_OK(MPI_Status_get_error(&status, &error));
  CHECK(source == 5 && tag == 6 && error == 7 && status.MPI_SOURCE == 5);
}
#endif

static void statuses(void) {
  MPI_Status status;
  int count = -1, is_cancelled = -1;
  CHECK_OK(MPI_Status_set_elements(&status, MPI_DOUBLE, 3));
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
  CHECK(count == 3);
  CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE, &count));
  CHECK(count == 3);
  CHECK_OK(MPI_Test_cancelled(&status, &is_cancelled));
  CHECK(is_cancelled == 1);
  CHECK_OK(MPI_Status_set_cancelled(&status, 0));
  CHECK_OK(MPI_Test_cancelled(&status, &is_cancelled));
  CHECK(is_cancelled == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  simple();
  lists();
  arrays();
  names();
  by_size();
  statuses();
  /* MPICH of Debian does not look at arguments. */
  if (argc < 2) wrong_arguments();
#ifdef ESPALIER_MPI_MPI_H
  large_counts();
#endif
  return conclude();
}
