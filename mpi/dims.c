/* MPI_Dims_create: how to divide a number of processes among dimensions. path: setup */
#include <stdlib.h>

#include "mpi/facade.h"

enum { kMostDivisors = 1536 }; /* that an int has */

typedef struct Divisors {
  int count;
  int of[kMostDivisors]; /* ascending */
} Divisors;

static void find_divisors(int number, Divisors* divisors) {
  int small = 0, large = kMostDivisors;
  for (int d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    divisors->of[small++] = d;
    if (d != number / d) divisors->of[--large] = number / d;
  }
  while (large < kMostDivisors) divisors->of[small++] = divisors->of[large++];
  divisors->count = small;
}

/* Whether `dims` factors of at most `largest` can make the number, if divisors did not matter. */
static int can_make(int number, int dims, int largest) {
  while (dims-- > 0 && number > 1) number = number / largest + (number % largest != 0);
  return number <= 1;
}

/* Factors in descending order of which the first is as small as it can be, then the second, and so
 * on; 0 when there are none within the bound. */
static int divide(const Divisors* divisors, int number, int dims, int largest, int* factors) {
  if (dims == 0) return number == 1;
  for (int i = 0; i < divisors->count && divisors->of[i] <= largest; ++i) {
    const int factor = divisors->of[i];
    if (number % factor != 0 || !can_make(number, dims, factor)) continue;
    factors[0] = factor;
    if (divide(divisors, number / factor, dims - 1, factor, factors + 1)) return 1;
  }
  return 0;
}

/* Entries that are not 0 stay as they are. */
int MPI_Dims_create(int nnodes, int ndims, int dims[]) {
  require_ready(__func__);
  const char* problem = NULL;
  if (nnodes < 1) problem = "the number of nodes is not positive";
  if (ndims < 0) problem = "negative number of dimensions";
  if (problem == NULL && ndims > 0 && dims == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null dims");
  }
  int rest = nnodes, open = 0;
  for (int d = 0; d < ndims && problem == NULL; ++d) {
    if (dims[d] < 0) problem = "negative entry of dims";
    if (dims[d] > 0 && rest % dims[d] != 0) problem = "the number of nodes is no multiple of dims";
    if (dims[d] > 0 && problem == NULL) rest /= dims[d];
    open += dims[d] == 0;
  }
  if (problem == NULL && open == 0 && ndims > 0 && rest != 1) {
    problem = "the number of nodes is not the product of dims";
  }
  if (problem != NULL) return raise_error(__func__, NULL, MPI_ERR_DIMS, problem);
  if (open == 0) return MPI_SUCCESS;
  int* factors = malloc((size_t)open * sizeof *factors);
  Divisors* divisors = malloc(sizeof *divisors);
  if (factors != NULL && divisors != NULL) {
    find_divisors(rest, divisors);
    (void)divide(divisors, rest, open, rest, factors);
    for (int d = 0, next = 0; d < ndims; ++d) {
      if (dims[d] == 0) dims[d] = factors[next++];
    }
  }
  const int failed = factors == NULL || divisors == NULL;
  free(factors);
  free(divisors);
  return failed ? raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory") : MPI_SUCCESS;
}
