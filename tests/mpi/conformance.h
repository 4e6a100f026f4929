/* What the conformance programs share: counting of checks, and an operator that does not commute.
 */
#ifndef ESPALIER_TESTS_MPI_CONFORMANCE_H
#define ESPALIER_TESTS_MPI_CONFORMANCE_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

/* For the few checks that peers are known to fail, each with its reason. */
#ifdef ESPALIER_MPI_MPI_H
enum { kOurs = 1 };
#else
enum { kOurs = 0 };
#endif
#ifdef MPICH_VERSION
enum { kMpich = 1 };
#else
enum { kMpich = 0 };
#endif

/* The standard whose functions are there. */
#define KNOWN_STANDARD (MPI_VERSION * 10 + MPI_SUBVERSION)

static int rank, size, failures, checks;

static inline void check_at(int line, int holds, const char* what) {
  ++checks;
  if (holds || ++failures > 10) return;
  fprintf(stderr, "FAILED rank %d line %d: %s\n", rank, line, what);
}
#define CHECK(condition) check_at(__LINE__, (condition), #condition)
#define CHECK_OK(call) check_at(__LINE__, (call) == MPI_SUCCESS, #call)

static inline int class_of(int code) {
  int found = -1;
  MPI_Error_class(code, &found);
  return found;
}
#define CHECK_CLASS(call, expected) check_at(__LINE__, class_of(call) == (expected), #call)

/* Errors come back, also those that are of no communicator: before MPI 4.0 these go to
 * MPI_COMM_WORLD. */
static inline void return_errors(void) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

/* Ends MPI; 0 when nothing failed on any rank. */
static inline int conclude(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d checks on rank 0 of %d, %d failures on all\n", checks, size, all);
  MPI_Finalize();
  return all != 0;
}

/* x -> a x + b, as pairs of a and b; first the one, then the other: associative, does not commute.
 */
static inline uint64_t one_then_other(uint64_t one, uint64_t other) {
  const uint32_t a1 = (uint32_t)(one >> 32), b1 = (uint32_t)one;
  const uint32_t a2 = (uint32_t)(other >> 32), b2 = (uint32_t)other;
  return (uint64_t)(a1 * a2) << 32 | (uint32_t)(a2 * b1 + b2);
}

/* The user function of it. */
static MPI_Datatype seen_type;
static inline void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  const uint64_t* lower = in;
  uint64_t* higher = inout;
  seen_type = *type;
  for (int i = 0; i < *length; ++i) higher[i] = one_then_other(lower[i], higher[i]);
}

static inline uint64_t affine(int of_rank, int index) {
  return (uint64_t)(uint32_t)(2 * of_rank + 3) << 32 | (uint32_t)(index + 1);
}

/* Of ranks 0 to ranks - 1. */
static inline uint64_t composed(int ranks, int index) {
  uint64_t all = affine(0, index);
  for (int r = 1; r < ranks; ++r) all = one_then_other(all, affine(r, index));
  return all;
}

#endif
