#!/usr/bin/env bash
# esp_accel.sh: esp-accel as its users see it, with programs that have no MPI.
set -euo pipefail
accel=$BIN/esp-accel

fail() {
  echo "FAILED: $*"
  exit 1
}
# refuses PATTERN ARGUMENTS...
refuses() {
  local pattern=$1 code=0 said
  shift
  said=$("$accel" "$@" 2>&1) || code=$?
  [[ $code == 2 && $said =~ $pattern ]] || fail "$* ends with $code and says: $said"
}

refuses "^esp-accel: there is no option --alwas" --alwas true
refuses "^esp-accel: a command is missing, as in: esp-accel mpirun"
refuses "^esp-accel: a command is missing" --always --
refuses "^esp-accel: --save needs a file" --save
ESPALIER_ACCEL=sometimes refuses "ESPALIER_ACCEL is auto, always or off, not 'sometimes'" true

"$accel" true
! "$accel" false || fail "the exit status of false is lost"
[[ $("$accel" --always --report -- printenv ESPALIER_ACCEL ESPALIER_ACCEL_REPORT) == always$'\n'1 ]]
help=$("$accel" --help)
[[ $help == "esp-accel: runs an MPI job"* && $help == *"  --always "* && $help != *"set -eu"* ]] ||
  fail "help: $help"

# Where Open MPI's launcher has processes of other machines, these are to have the same.
said=$(OMPI_MCA_mca_base_env_list=MINE "$accel" --report printenv OMPI_MCA_mca_base_env_list)
[[ $said == "MINE;LD_PRELOAD;ESPALIER_ACCEL_REPORT" ]] || fail "forwarded: $said"

# What is preloaded stays first, and loads nothing in programs without MPI.
[[ $(LD_PRELOAD=libm.so.6 "$accel" printenv LD_PRELOAD) == */libespalier_accel.so:libm.so.6 ]] ||
  fail "another library that is preloaded is lost"
maps=$("$accel" bash -c 'grep -o "[^/]*espalier.*" /proc/self/maps | sort -u')
[[ $maps == libespalier_accel.so ]] || fail "loaded: $maps"
needed=$(ldd "$BIN/../lib/libespalier_accel.so" |
  grep -Ev "linux-vdso|ld-linux|libc\.so|libdl" || true)
[[ -z $needed ]] || fail "needed: $needed"
