/* MPI_MINLOC and MPI_MAXLOC of Fortran's pairs of reals, which the library does not combine, as
 * operators of the user. Of equal values the lower index counts. path: data */
#include "mpi/facade.h"

#define WINS(NAME, TYPE, before)                                                      \
  static void NAME(const TYPE* in, TYPE* inout, MPI_Count count) {                    \
    for (MPI_Count i = 0; i < count; ++i, in += 2, inout += 2) {                      \
      const int is_first = in[0] before inout[0];                                     \
      const int is_tie = !is_first && !(inout[0] before in[0]) && in[1] < inout[1];   \
      /* As of other types a number that is none wins. */                             \
      if (inout[0] != inout[0] || (in[0] == in[0] && !is_first && !is_tie)) continue; \
      inout[0] = in[0];                                                               \
      inout[1] = in[1];                                                               \
    }                                                                                 \
  }

WINS(least_of_floats, float, <)
WINS(greatest_of_floats, float, >)
WINS(least_of_doubles, double, <)
WINS(greatest_of_doubles, double, >)

static void take_least(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* extra) {
  (void)extra;
  if (type == MPI_2REAL) {
    least_of_floats(in, inout, count);
  } else {
    least_of_doubles(in, inout, count);
  }
}

static void take_greatest(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* extra) {
  (void)extra;
  if (type == MPI_2REAL) {
    greatest_of_floats(in, inout, count);
  } else {
    greatest_of_doubles(in, inout, count);
  }
}

int pair_ops_make(Op* made[2]) {
  return MPIX_Op_create_x(take_least, NULL, 1, NULL, &made[0]) == MPI_SUCCESS &&
         MPIX_Op_create_x(take_greatest, NULL, 1, NULL, &made[1]) == MPI_SUCCESS;
}
