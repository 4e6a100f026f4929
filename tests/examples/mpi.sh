#!/usr/bin/env bash
# mpi.sh NAME SOURCE ESP_RUN PROGRAM [openmpi|mpich]: an example for any MPI library says the same
# on 1, 4 and 6 ranks, and the same compiled with somebody else's MPI. Skipped (77) where that is
# not installed.
set -euo pipefail
name=$1 source=$2 esp_run=$3 program=$4 peer=${5:-}

case $peer in
  '') ;;
  openmpi) launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader") ;;
  mpich) launcher=(mpiexec.mpich) ;;
  *) echo "unknown peer $peer"; exit 2 ;;
esac
scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT

"$esp_run" -n 1 "$program" > "$scratch/said"
cat "$scratch/said"
grep -q "^$name: " "$scratch/said"
[[ $(wc --lines < "$scratch/said") == 1 ]]
run() {  # LAUNCHER... PROGRAM
  "$@" > "$scratch/other"
  diff "$scratch/said" "$scratch/other" || { echo "said by $*"; exit 1; }
}

if [[ -z $peer ]]; then
  for ranks in 4 6; do run "$esp_run" -n "$ranks" "$program"; done
  run "$esp_run" -n 6 --nodes 2 --map round "$program"
  exit
fi
for command in "mpicc.$peer" "${launcher[0]}"; do
  command -v "$command" > /dev/null || { echo "SKIP: no $command"; exit 77; }
done
"mpicc.$peer" -std=c11 -O1 -Wall -Wextra -Werror "$source" -o "$scratch/program" -lm
for ranks in 1 4 6; do run "${launcher[@]}" -n "$ranks" "$scratch/program"; done
