# shellcheck shell=bash
# Sourced by tests of programs: counts what was not as expected in `failures`.
failures=0

# expect EXIT_CODE PATTERN COMMAND...: checks the exit code and that the output has PATTERN.
expect() {
  local code=$1 pattern=$2 output actual=0
  shift 2
  output=$("$@" 2>&1) || actual=$?
  if [[ $actual -ne $code ]] || ! grep -qE -- "$pattern" <<< "$output"; then
    printf 'FAILED: %s\n  exit code %d, wanted %d, and /%s/ in:\n%s\n' "$*" "$actual" "$code" \
      "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

# stand_in FOLDER NAME: a program of this name, a bash script whose text comes from the input.
stand_in() {
  mkdir -p "$1"
  { echo '#!/bin/bash' && cat; } > "$1/$2"
  chmod +x "$1/$2"
}
