#!/usr/bin/env bash
# help.sh ESP_CC LIBRARY: `esp-cc --help` lists the functions that the library exports, neither more
# nor fewer.
set -euo pipefail
wrapper=$1 library=$2

help=$("$wrapper" --help)
grep --quiet -- '--show:compile' <<< "$help" || { echo "the options are missing: $help"; exit 1; }
name='\bMPIX?_(T_[a-z]+|[A-Z][a-z]+)[a-z0-9_]*\b'
listed=$(grep --only-matching --extended-regexp "$name" <<< "$help" |
  sort)
exported=$(nm --dynamic --defined-only --format=posix "$library" |
  sed -n 's/^\(MPIX\?_[A-Za-z0-9_]*\) T.*/\1/p' | sort)
diff <(printf '%s\n' "$listed") <(printf '%s\n' "$exported") ||
  { echo "not what $library exports"; exit 1; }
echo "$(wc --lines <<< "$listed") functions"
