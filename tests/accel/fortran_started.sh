#!/usr/bin/env bash
# fortran_started.sh openmpi|mpich: non-blocking collectives of Fortran, and requests of C that are
# completed there. Skipped (77) where there is no compiler.
set -euo pipefail
peer=$1
source "${BASH_SOURCE[0]%/*}/job.sh"
command -v "mpif90.$peer" > /dev/null || { echo "SKIP: no mpif90.$peer"; exit 77; }

limit=(timeout --kill-after=5 30)
"mpicc.$peer" -w -O1 -c -o "$folder/started_in_c.o" "${BASH_SOURCE[0]%/*}/started_in_c.c"
for way in MODULE HEADER; do
  "mpif90.$peer" -w -O1 -fallow-argument-mismatch -D$way -o "$folder/started" \
    "${BASH_SOURCE[0]%/*}/started.F90" "$folder/started_in_c.o"
  "${limit[@]}" "${launcher[@]}" -n 2 "$folder/started" || fail "$way: without the accelerator"
  "${limit[@]}" "$accel" --always --report "${launcher[@]}" -n 2 "$folder/started" \
    > "$folder/said" 2>&1 ||
    { cat "$folder/said"; fail "$way: with it"; }
  # Operation, bytes below, Espalier, MPI, started.
  for counted in "Allreduce +262144 +0 +0 +40" "Allreduce +8 +0 +0 +40" "Bcast +8 +0 +0 +40"; do
    grep -Eq "^  MPI_$counted " "$folder/said" ||
      { cat "$folder/said"; fail "$way: no line as '$counted'"; }
  done
done
