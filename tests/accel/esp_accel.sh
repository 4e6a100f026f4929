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

folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
echo "int main(void) {}" > "$folder/main.c"
refuses "^esp-accel: --save: $folder/main.c is something else than a profile" \
  --save "$folder/main.c" true
refuses "^esp-accel: --save: $folder/none cannot be written" --save "$folder/none/profile" true
[[ $(< "$folder/main.c") == "int main(void) {}" ]] || fail "a file that is no profile is changed"
said=$(cd "$folder" && "$accel" --save kept printenv ESPALIER_ACCEL_SAVE)
[[ $said == "$folder/kept" ]] || fail "--save of a relative path: $said"
said=$(ESPALIER_ACCEL=off "$accel" --always printenv ESPALIER_ACCEL)
[[ $said == off ]] || fail "off and --always: $said"

# A prefix that LD_PRELOAD cannot name.
mkdir -p "$folder/a b/bin" "$folder/a b/lib"
cp "$accel" "$folder/a b/bin"
cp "$BIN/../lib/libespalier_accel.so" "$folder/a b/lib"
said=$("$folder/a b/bin/esp-accel" true 2>&1) && fail "a prefix with a space is taken"
[[ $said == *"takes no path with a space or a colon"* ]] || fail "a prefix with a space: $said"

# -x of Open MPI's launcher excludes the variable; -x of the program does not.
printf '#!/bin/sh\necho "$*;$OMPI_MCA_mca_base_env_list"\n' > "$folder/mpirun"
chmod +x "$folder/mpirun"
said=$("$accel" --report "$folder/mpirun" -n 2 -x A=1 true -x)
[[ $said == "-n 2 -x LD_PRELOAD -x ESPALIER_ACCEL_REPORT -x A=1 true -x;" ]] || fail "-x: $said"
said=$("$accel" --report "$folder/mpirun" -n 2 true -x)
[[ $said == "-n 2 true -x;LD_PRELOAD;ESPALIER_ACCEL_REPORT" ]] || fail "-x of a program: $said"

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
