#!/usr/bin/env bash
# ends.sh PEER: jobs that end otherwise than by MPI_Finalize do so with the accelerator as
# they do without it, within the time limit.
set -euo pipefail
peer=$1
source "${BASH_SOURCE[0]%/*}/job.sh"

compile ends
for name in abort killed_before killed_in killed_started no_finalize; do
  codes=()
  for mode in off always; do
    code=0
    ESPALIER_ACCEL=$mode timeout --kill-after=5 30 "$accel" "${launcher[@]}" -n 2 "$folder/ends" \
      "$name" > "$folder/said" 2>&1 || code=$?
    codes+=("$code")
    [[ $code != 124 && $code != 137 ]] || [[ $name == killed* && $code == 137 ]] ||
      { cat "$folder/said"; fail "$name, $mode: it hangs"; }
    ! grep -q "not ended" "$folder/said" || fail "$name, $mode: it went on"
    ! grep -q "terminate called" "$folder/said" || { cat "$folder/said"; fail "$name, $mode"; }
  done
  [[ ${codes[0]} == "${codes[1]}" ]] ||
    { cat "$folder/said"; fail "$name ends with ${codes[1]}, without the accelerator ${codes[0]}"; }
  [[ $name != abort || ${codes[1]} == 7 ]] || fail "abort ends with ${codes[1]}"
done
