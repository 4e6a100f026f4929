#!/usr/bin/env bash
# exported_symbols.sh LIBRARY PREFIX: every symbol that the shared library exports begins with
# PREFIX (an extended regular expression), and there is at least one.
set -euo pipefail
library=$1 prefix=$2

exported=$(nm --dynamic --defined-only --format=posix "$library" |
  awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }')
[[ -n $exported ]] || { echo "$library exports nothing"; exit 1; }
if strange=$(grep --invert-match --extended-regexp "^$prefix" <<< "$exported"); then
  echo "$library exports what is not part of its API:"
  c++filt <<< "$strange"
  exit 1
fi
wc --lines <<< "$exported" | sed 's/$/ symbols, all part of the API/'
