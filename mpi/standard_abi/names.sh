#!/bin/sh
# names.sh NM LIBRARY OUT: a source that has every function of MPI which the library exports. None
# of them is ever called (CMakeLists.txt).
set -eu
nm=$1 library=$2 out=$3
functions=$("$nm" --dynamic --defined-only --format=posix "$library" |
  sed -n 's/^\(P\{0,1\}MPI_[A-Za-z0-9_]*\) [TW] .*/\1/p')
test -n "$functions"
{
  echo '#define NAME(name) __attribute__((visibility("default"))) void name(void)'
  for function in $functions; do echo "NAME($function) { __builtin_trap(); }"; done
} > "$out"
