#!/usr/bin/env bash
# program.sh PROGRAM ESP_FC ESP_RUN: a Fortran program on 1, 2 and 4 ranks.
# program.sh PROGRAM openmpi|mpich: the same source with somebody else's MPI, on 4.
# Skipped (77) where there is no Fortran compiler, or not that MPI.
set -euo pipefail
source=$1 which=$2 launcher=()
sizes=(4)
case $which in
  openmpi) launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader") compiler=mpif90.openmpi ;;
  mpich) launcher=(mpiexec.mpich) compiler=mpif90.mpich ;;
  *) launcher=("$3") compiler=$which sizes=(1 2 4) ;;
esac
for program in gfortran "$compiler" "${launcher[0]}"; do
  command -v "$program" > /dev/null || { echo "SKIP: no $program"; exit 77; }
done
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
# Peers' mpif.h and module say nothing about buffers, of which a program has several types.
options=(-O1 -w -fallow-argument-mismatch)
[[ $# -eq 2 ]] || options=(-O1 -Wall -Werror -Wno-unused-dummy-argument -std=gnu)
[[ $source != *.f || $# -eq 2 ]] || options=(-O1 -w -fallow-argument-mismatch)
"$compiler" "${options[@]}" -J "$folder" "$source" "$(dirname "$0")/checks.f" -o "$folder/program"
for size in "${sizes[@]}"; do "${launcher[@]}" -n "$size" "$folder/program"; done
