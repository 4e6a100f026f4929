#!/usr/bin/env bash
# waiting.sh openmpi|mpich|abi RANKS [multiple]: the cases of waiting.c, each within 20 seconds.
set -euo pipefail
peer=$1 ranks=$2 level=(${3+"$3"})
source "${BASH_SOURCE[0]%/*}/job.sh"

cases=(isend_barrier send_irecv_barrier root_receives after_blocking dup_between computation
       two_orders freed_under_way freed_with_message never_blocking mpi_among_started
       sent_at_the_end)
[[ -z ${level-} ]] || cases+=(two_threads)
compile waiting
failed=0
for name in "${cases[@]}"; do
  timeout --kill-after=5 20 "$accel" --always "${launcher[@]}" -n "$ranks" "$folder/waiting" \
    "$name" "$folder/$name" "${level[@]}" || { echo "FAILED: $name: $?"; failed=1; }
done
exit $failed
