#!/usr/bin/env bash
# profile.sh PROGRAM PROFILER LAUNCHER...: the profiler counts the calls of the program, preloaded
# (PROFILER is its file), or linked before the library (PROFILER is -).
# profile.sh openmpi|mpich FOLDER: both ways with that MPI, of the sources in the folder. Skipped
# (77) where it is not installed.
set -euo pipefail
expected='profile: init 1 isend 4 irecv 3 wait 7 replace 2 mrecv 1 bcast 4 barrier 1'

expect() { # COMMAND...
  local text
  text=$("$@")
  printf '%s\n' "$text"
  grep --quiet --line-regexp "$expected" <<< "$text" || { echo "expected: $expected"; exit 1; }
}

case $1 in
  openmpi) compiler=mpicc.openmpi
           launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader" -n 3) ;;
  mpich) compiler=mpicc.mpich launcher=(mpiexec.mpich -n 3) ;;
  *) program=$1 profiler=$2
     shift 2
     if [[ $profiler == - ]]; then expect "$@" "$program"
     else expect "$@" env LD_PRELOAD="$profiler" "$program"; fi
     exit ;;
esac
for program in "$compiler" "${launcher[0]}"; do
  command -v "$program" > /dev/null || { echo "SKIP: no $program"; exit 77; }
done
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
"$compiler" -w -shared -fPIC -o "$folder/libprofiler.so" "$2/profiler.c"
"$compiler" -w -o "$folder/plain" "$2/profiled.c"
"$compiler" -w -o "$folder/linked" "$2/profiled.c" "$folder/libprofiler.so" -Wl,-rpath,"$folder"
expect "${launcher[@]}" env LD_PRELOAD="$folder/libprofiler.so" "$folder/plain"
expect "${launcher[@]}" "$folder/linked"
