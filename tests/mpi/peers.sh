#!/usr/bin/env bash
# peers.sh openmpi|mpich SOURCE: a conformance program with somebody else's MPI, on 4 ranks.
# Skipped (77) where that MPI is not installed.
set -euo pipefail
peer=$1 source=$2 arguments=()
case $peer in
  openmpi) compiler=mpicc.openmpi
           launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader") ;;
  mpich) compiler=mpicc.mpich launcher=(mpiexec.mpich)
         arguments=(--no-argument-checks) ;;
  *) echo "unknown peer $peer"; exit 2 ;;
esac
for program in "$compiler" "${launcher[0]}"; do
  command -v "$program" > /dev/null || { echo "SKIP: no $program"; exit 77; }
done
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
"$compiler" -std=c11 -O1 -w -o "$folder/conformance" "$source"
"${launcher[@]}" -n 4 "$folder/conformance" "${arguments[@]}"
