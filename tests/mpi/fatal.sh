#!/usr/bin/env bash
# fatal.sh PROGRAM ESP_RUN: every case of fatal.c ends with the expected text and a non-zero status.
set -euo pipefail
program=$1 esp_run=$2 failures=0

expect() {  # NAME TEXT COMMAND...
  local name=$1 text=$2 output status=0
  shift 2
  output=$(timeout 30 "$@" 2>&1) || status=$?
  if ((status == 0 || status == 124)) || ! grep -qE "$text" <<< "$output"; then
    echo "FAILED $name: status $status, wanted \"$text\" in:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

expect before_init "MPI_Comm_rank: called before MPI_Init" "$program" before_init
expect init_twice "MPI_Init: called twice" "$program" init_twice
expect after_finalize "MPI_Barrier: called after MPI_Finalize" "$program" after_finalize
expect root "MPI_Bcast on MPI_COMM_WORLD: root is not a rank" "$program" root
expect name "rank 0 aborts the job: MPI_Bcast on the ocean: root is not a rank" "$program" name
expect call "MPI_Comm_call_errhandler on MPI_COMM_SELF: input or output failed" "$program" call
expect info "^MPI_Info_set: null info object" "$program" info
expect null_comm "rank 0 aborts the job: MPI_Barrier: null communicator" "$program" null_comm
# Whichever is first ends the job.
expect root_of_two "rank [01] aborts the job: MPI_Bcast on MPI_COMM_WORLD: root is not a rank" \
  "$esp_run" -n 2 "$program" root
# An error is told once, with the value and what it is held against.
said=$("$program" root 2>&1) || true
told="espalier: rank 0 aborts the job: MPI_Bcast on MPI_COMM_WORLD: root is not a rank of the"
[[ $said == "$told communicator: 77, and it has 1" ]] || { echo "FAILED once: $said"; failures=1; }
expect abort "42" "$esp_run" -n 3 "$program" abort
# Of three ranks that meet in a barrier the two others go on, and the job has the code.
for rank in 1 2; do
  expect abort_alone "rank $rank goes on" "$esp_run" --keep-going -n 3 "$program" abort_alone
done
"$esp_run" --keep-going -n 3 "$program" abort_alone > /dev/null 2>&1 && status=0 || status=$?
((status == 42)) || { echo "FAILED abort_alone: status $status"; failures=1; }
"$program" none 2>&1 | grep --quiet survived || { echo "FAILED none"; failures=1; }
exit $((failures > 0))
