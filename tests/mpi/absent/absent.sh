#!/usr/bin/env bash
# absent.sh BIN FOLDER: a program that could reach an RMA window does not link, and the linker says
# why; one that only has functions that could links and runs; --missing=late links both. With every
# compiler that is here, and whatever becomes of the program.
set -euo pipefail
bin=$(readlink --canonicalize "$1") program=$(readlink --canonicalize "$2")/program.c
export ESP_CC ESP_CXX
scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
reason='undefined.*MPI_Win_create__Espalier_has_no_RMA_windows__see_docs_mpi_md'

fail() { echo "FAILED ($wrapper, $ESP_CC, $ESP_CXX, $options): $*" >&2; cat said >&2; exit 1; }
compile() { "$bin/$wrapper" "${language[@]}" "$@" > said 2>&1; }
refused() { ! compile "$@" && grep -q "$reason" said; }
silent() { compile "$@" && [[ ! -s said ]]; }
ends_job() {  # PROGRAM
  ! "$bin/esp-run" -n 1 "$1" call > said 2>&1 &&
    grep -q '^MPI_Win_create: Espalier has no RMA windows; see docs/mpi.md$' said
}

whole_programs() {
  for options in -O0 -O2 "-fPIE -pie" "-fPIC -no-pie" -flto -Wl,-z,now; do
    # shellcheck disable=SC2086
    {
      silent $options "$program" -o unreached || fail "not linked"
      ./unreached > said 2>&1 || fail "does not run"
      refused $options -D REACHED "$program" -o reached || fail "linked, or without the reason"
      silent $options -D REACHED "$program" --missing=late -o late || fail "not linked late"
      "$bin/esp-run" -n 2 ./late > said 2>&1 || fail "ends though nothing is called"
      ends_job ./late || fail "the call does not end the job"
    }
  done
}

# All that a program with -rdynamic has can be reached by libraries. Flags of the caller win.
what_can_be_reached() {
  options=-rdynamic
  refused -rdynamic "$program" -o dynamic || fail "linked, or without the reason"
  refused -Wl,--no-gc-sections "$program" -o whole || fail "sections were dropped"
  ESP_MISSING=late silent -rdynamic "$program" -o dynamic || fail "not linked late"
}

libraries() {
  options=archive
  compile -c -D AS_LIBRARY "$program" -o part.o || fail "not compiled"
  ar rc libpart.a part.o
  silent "$program" libpart.a -o archived || fail "not linked"
  refused -D IN_LIBRARY "$program" libpart.a -o archived || fail "linked, or without the reason"
  options=shared
  silent -fPIC -shared -D AS_LIBRARY "$program" -o libwindows.so || fail "not linked"
  refused -D IN_LIBRARY "$program" -L. -lwindows -o user || fail "linked, or without the reason"
  silent -fPIC -shared -D AS_LIBRARY --missing=late "$program" -o libwindows.so || fail "not late"
  silent -D IN_LIBRARY "$program" -L. -lwindows -Wl,-rpath,"$scratch" -o user || fail "not linked"
  ends_job ./user || fail "the call does not end the job"
}

wrapper=esp-cc ESP_CXX='' language=()
for ESP_CC in gcc clang-16; do
  command -v "$ESP_CC" > /dev/null || continue
  whole_programs
  what_can_be_reached
  libraries
done
wrapper=esp-c++ ESP_CC='' language=(-x c++)
for ESP_CXX in g++ clang++-16; do
  command -v "$ESP_CXX" > /dev/null || continue
  whole_programs
done

options='' wrapper=esp-cc ESP_CC=gcc language=()
if compile --missing=never "$program" -o unreached || ! grep -q 'neither early nor late' said; then
  fail "an unknown word is taken"
fi
[[ $("$bin/esp-cc" --show:link) != *absent* ]] || fail "linked late unasked"
[[ $("$bin/esp-cc" --show:link --missing=late) == *'-lespalier_mpi_absent -lespalier_mpi '* ]] ||
  fail "not shown"
