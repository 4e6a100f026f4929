#!/usr/bin/env bash
# errors.sh PEER: programs that are wrong get texts, and end as they want to.
set -euo pipefail
peer=$1
source "${BASH_SOURCE[0]%/*}/job.sh"

compile errors
for name in freed text; do
  timeout --kill-after=5 30 "$accel" --always "${launcher[@]}" -n 2 "$folder/errors" "$name" \
    > "$folder/said" 2>&1 || { cat "$folder/said"; fail "$name ends with $?"; }
  # Launchers may put the lines of several processes into one.
  [[ $(grep -o "went on" "$folder/said" | wc -l) == 2 ]] || { cat "$folder/said"; fail "$name"; }
done
grep -q "text: espalier: .*bcast" "$folder/said" || { cat "$folder/said"; fail "no text"; }
grep -q "class some" "$folder/said" || { cat "$folder/said"; fail "no class"; }

[[ $peer == openmpi ]] || exit 0
# The launcher's own option for the environment.
"$accel" --always --report "${launcher[@]}" -x MINE=3 -n 2 \
  "$folder/errors" text > "$folder/said" 2>&1 || { cat "$folder/said"; fail "-x"; }
grep -q "^espalier: collectives as" "$folder/said" || { cat "$folder/said"; fail "-x: no report"; }
