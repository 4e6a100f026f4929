#!/usr/bin/env bash
# Instructions per 8-byte broadcast and allreduce at 2 ranks, counted by callgrind inside the API
# function; of Espalier also those of a started broadcast and its wait together.
# Usage: bench/instructions.sh [espalier|openmpi|mpich] [BUILD_DIR] [ratchet]
#
# Waiting is kept out by order, not by subtraction: one rank enters every call 2 ms after the other
# (esp-bench calls --late), finds the data ready, and is the one that is counted; then the other
# way round. callgrind writes a count per call; the median over the calls leaves out the first ones
# (symbol lookup, plan making) and any that had to wait after all. Exit code 1 when Espalier's
# median is above the target: 300, of started ones 400. With "ratchet", 1 only when its least count,
# which no neighbour can disturb, is above bench/instructions.ceiling: what was reached, and may
# only be lowered.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
library=${1:-espalier}
bin=${2:-$here/../build}/bin
ratchet=${3:-}
calls=60

ceiling_of() { awk -v op="$1" '$1 == op {print $2}' "$here/instructions.ceiling"; }
fail() { echo "instructions.sh: $*" >&2; exit 2; }

case $library in
  espalier) launcher=("$bin/esp-run" -n 2); program=$bin/esp-bench; rank=PMIX_RANK; prefix=esp_ ;;
  openmpi)
    launcher=(mpirun.openmpi -n 2 --bind-to none --oversubscribe)
    [ "$(id -u)" -ne 0 ] || launcher+=(--allow-run-as-root)
    program=$bin/esp-bench-openmpi; rank=PMIX_RANK; prefix=MPI_ ;;
  mpich) launcher=(mpirun.mpich -n 2); program=$bin/esp-bench-mpich; rank=PMI_RANK; prefix=MPI_ ;;
  *) fail "$library: not one of espalier, openmpi, mpich" ;;
esac
[ -z "$ratchet" ] || [ "$ratchet" = ratchet ] || fail "$ratchet: not \"ratchet\""
[ -x "$program" ] || fail "$program is not built"
command -v "${launcher[0]}" > /dev/null || fail "${launcher[0]}: not found"
command -v valgrind > /dev/null || fail "valgrind is not installed"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# count OP FUNCTION LATE [STARTED]: median and least instructions per call of rank LATE inside
# FUNCTION, or inside FUNCTION_start and the wait for it.
count() {
  local out=$folder/$1.$3$4 counted=(--toggle-collect="$2" --dump-after="$2") how=()
  if [ -n "$4" ]; then
    counted=(--toggle-collect="$2_start" --toggle-collect=esp_request_wait
             --dump-after=esp_request_wait)
    how=(--started)
  fi
  # The early rank must not be asleep: waking it is not part of the call.
  ESPALIER_YIELD_US=1000000 \
    "${launcher[@]}" valgrind --quiet --tool=callgrind "${counted[@]}" \
    --callgrind-out-file="$out.%q{$rank}" --log-file="$out.log.%p" \
    "$program" calls --op "$1" --bytes 8 --calls $calls --late "$3" "${how[@]}" > "$out.text" 2>&1 \
    || { cat "$out.text" >&2; fail "the run under callgrind failed"; }
  # One part per call: OUT.RANK.1, .2, ...; the one without a number is what came after the last.
  cat "$out.$3".[0-9]* 2> /dev/null | awk '/^(totals|summary):/ && $2 > 0 {print $2}' \
    | sort -n | awk '{n[NR] = $1} END {if (NR) print n[int((NR + 1) / 2)], n[1]}'
}

missed=0
grown=0
echo "Instructions per 8-byte call of $library: median and least over $calls calls"
printf '%-12s %-5s %7s %7s\n' operation rank median least
# row OP LATE TARGET [STARTED]
row() {
  local function=$prefix$1 name=$1${4:+_start} mark=
  [ "$prefix" = esp_ ] || function="*MPI_${1^}"  # Debug symbols may say PMPI_Bcast
  read -r median least <<< "$(count "$1" "$function" "$2" "${4:-}")" || true
  [ -n "$median" ] || fail "callgrind counted nothing inside $function"
  if [ "$library" = espalier ]; then
    [ "$median" -le "$3" ] || { mark="MISS, target $3"; missed=1; }
    [ "$least" -le "$(ceiling_of "$name")" ] || { mark="$mark, above the ceiling"; grown=1; }
  fi
  printf '%-12s %-5s %7s %7s  %s\n' "$name" "$2" "$median" "$least" "$mark"
}

for op in bcast allreduce; do
  for late in 0 1; do row $op $late 300; done
done
if [ "$library" = espalier ]; then
  for late in 0 1; do row bcast $late 400 started; done
fi
if [ "$ratchet" = ratchet ]; then exit $grown; else exit $missed; fi
