#!/usr/bin/env bash
# fortran.sh openmpi|mpich: blocking collectives of Fortran give what they should, and the report
# says that all of them were Espalier's. Skipped (77) where there is no compiler.
set -euo pipefail
peer=$1
source "${BASH_SOURCE[0]%/*}/job.sh"
command -v "mpif90.$peer" > /dev/null || { echo "SKIP: no mpif90.$peer"; exit 77; }

limit=(timeout --kill-after=5 20)
for way in MODULE HEADER; do
  "mpif90.$peer" -w -O1 -fallow-argument-mismatch -D$way -o "$folder/fortran" \
    "${BASH_SOURCE[0]%/*}/fortran.F90"
  "${limit[@]}" "${launcher[@]}" -n 3 "$folder/fortran" || fail "$way: without the accelerator"
  "${limit[@]}" "$accel" --always --report "${launcher[@]}" -n 3 "$folder/fortran" \
    > "$folder/said" 2>&1 ||
    { cat "$folder/said"; fail "$way: with it"; }
  ! grep "fell through" "$folder/said" || fail "$way: a call was the MPI's"
  for name in Barrier Bcast Reduce Allreduce Scan Exscan Reduce_scatter_block Reduce_scatter \
      Allgather Allgatherv Alltoall Alltoallv Gather Gatherv Scatter Scatterv; do
    grep -Eq "^  MPI_$name +[0-9]+ +[1-9][0-9]* +0 +0 .* espalier$" "$folder/said" ||
      { cat "$folder/said"; fail "$way: MPI_$name was not Espalier's"; }
  done
done
