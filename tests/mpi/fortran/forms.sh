#!/usr/bin/env bash
# forms.sh ESP_FC ESP_RUN: mpif.h in free and in fixed form, names with two underscores, C beside
# Fortran, what the module finds wrong, and what esp-fc says and CMake makes of it. Skipped (77)
# without gfortran.
set -euo pipefail
compiler=$1 run=$2
command -v gfortran > /dev/null || { echo "SKIP: no gfortran"; exit 77; }
scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "$1"
  exit 1
}

program() {  # FIRST_LINE SECOND_LINE
  echo "      program p
      $1
      implicit none
      $2
      integer sum, ierr
      call mpi_init(ierr)
      sum = 1
      call mpi_allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, &
MPI_COMM_WORLD, ierr)
      if (sum .ne. 2) stop 1
      call mpi_finalize(ierr)
      end"
}

program '' "include 'mpif.h'" > free.f90
"$compiler" free.f90 -o free
"$run" -n 2 ./free
program '' "include 'mpif.h'" | sed 's/ &$//; s/^MPI_COMM_WORLD/     \& MPI_COMM_WORLD/' > fixed.f
"$compiler" -std=legacy -fsecond-underscore -c fixed.f
"$compiler" fixed.o -o fixed
"$run" -n 2 ./fixed
program 'use mpi' '' > module.f90
"$compiler" module.f90 -o module
"$run" -n 2 ./module

# Handles and statuses go to C and back.
cat > mixed.f90 << 'END'
program mixed
  use mpi
  implicit none
  integer :: status(MPI_STATUS_SIZE), comm, request, number, ierr
  integer, external :: passes
  call MPI_Init(ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Irecv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, comm, request, ierr)
  if (passes(comm, request, number, status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE) /= 1) stop 1
  if (request /= MPI_REQUEST_NULL .or. status(MPI_TAG) /= 3) stop 2
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program mixed
END
cat > passes.c << 'END'
#include <mpi.h>
int passes_(MPI_Fint* comm, MPI_Fint* request, int* number, MPI_Fint* status, MPI_Fint* none,
            MPI_Fint* nothing) {
  MPI_Comm c = MPI_Comm_f2c(*comm);
  MPI_Request r = MPI_Request_f2c(*request);
  MPI_Status s;
  int rank, size;
  MPI_Comm_rank(c, &rank);
  MPI_Comm_size(c, &size);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 3, c);
  MPI_Wait(&r, &s);
  *request = MPI_Request_c2f(r);
  MPI_Status_c2f(&s, status);
  return *number == (rank + size - 1) % size && none == MPI_F_STATUS_IGNORE &&
         nothing == MPI_F_STATUSES_IGNORE && status != MPI_F_STATUS_IGNORE;
}
END
"${compiler%fc}cc" -c passes.c
"$compiler" mixed.f90 passes.o -o mixed
"$run" -n 2 ./mixed

sed 's/MPI_SUM, //' module.f90 > wrong.f90
! "$compiler" -c wrong.f90 2> wrong.txt || fail "a missing argument is no error"
grep --quiet "Missing actual argument" wrong.txt || fail "$(cat wrong.txt)"

"$compiler" --show free.f90 | grep --quiet -- "-lespalier_mpifort -lespalier_mpi" || fail "--show"
"$compiler" --show:link | grep --quiet -- "-lespalier_mpifort" || fail "--show:link"
"$compiler" --show:compile | grep --quiet "include/espalier-fortran" || fail "--show:compile"
"$compiler" --help | grep --quiet "ESP_FC" || fail "--help"
"$compiler" --version | grep --quiet "GNU Fortran" || fail "--version"

mkdir project
cat > project/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
if(NOT MPI_Fortran_HAVE_F77_HEADER OR NOT MPI_Fortran_HAVE_F90_MODULE)
  message(FATAL_ERROR "no mpif.h, or no module")
endif()
add_executable(program ../module.f90)
target_link_libraries(program PRIVATE MPI::MPI_Fortran)
END
cmake -S project -B made -D MPI_Fortran_COMPILER="$compiler" > cmake.txt 2>&1 ||
  fail "$(cat cmake.txt)"
cmake --build made > cmake.txt 2>&1 || fail "$(cat cmake.txt)"
"$run" -n 2 made/program
