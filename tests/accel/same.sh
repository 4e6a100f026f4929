#!/usr/bin/env bash
# same.sh PEER RANKS PROGRAM...: what programs of this folder get from collectives, byte by
# byte, without the accelerator, with it wherever it can (--always), and with its choice.
set -euo pipefail
peer=$1 ranks=$2
shift 2
source "${BASH_SOURCE[0]%/*}/job.sh"

limit=(timeout --kill-after=5 60)
for program in "$@"; do
  compile "$program"
  "${limit[@]}" "${launcher[@]}" -n "$ranks" "$folder/$program" "$folder/plain"
  "${limit[@]}" "$accel" --always --report "${launcher[@]}" -n "$ranks" "$folder/$program" \
    "$folder/always" 2> "$folder/report" || { cat "$folder/report"; fail "$program with --always"; }
  "${limit[@]}" "$accel" "${launcher[@]}" -n "$ranks" "$folder/$program" "$folder/auto"
  # Otherwise nothing has been compared.
  ((ranks == 1)) || grep -q "MPI_Allgather .* espalier$" "$folder/report" ||
    grep -q "MPI_Allreduce .* espalier$" "$folder/report" ||
    { cat "$folder/report"; fail "$program was not accelerated"; }
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ -s $folder/plain.$rank ]] || fail "$program has kept nothing"
    for mode in always auto; do
      cmp "$folder/plain.$rank" "$folder/$mode.$rank" || fail "$program, rank $rank, $mode"
    done
  done
done
