// The same program in C++.
#include "../project/mpi.c"
