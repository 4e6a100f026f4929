#!/usr/bin/env bash
# persistent.sh openmpi|mpich|abi RANKS: persistent collectives by the accelerator.
set -euo pipefail
peer=$1 ranks=$2
source "${BASH_SOURCE[0]%/*}/job.sh"

compile persistent
timeout --kill-after=5 60 "$accel" --always --report "${launcher[@]}" -n "$ranks" \
  "$folder/persistent" "$folder/always" 2> "$folder/report" ||
  { cat "$folder/report"; fail "persistent"; }
# Otherwise they were the MPI's. The fourth number counts what was started.
((ranks == 1)) || grep -q -E "MPI_Allgather +[0-9]+ +0 +0 +1 " "$folder/report" ||
  { cat "$folder/report"; fail "not accelerated"; }
