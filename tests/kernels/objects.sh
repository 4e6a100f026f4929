#!/bin/bash
# The objects of the kernels, compiled for different instruction sets, define their tables and
# nothing else that the linker could exchange between them (core/kernels/kernel_table.hpp), and
# contain no fused multiply-add, which would round differently from the objects without it.
#
# usage: objects.sh OBJECT...
set -u -o pipefail

for program in nm objdump; do
  command -v $program >/dev/null || { echo "SKIP: no $program (package binutils)"; exit 77; }
done
[ $# -gt 0 ] || { echo "no objects given"; exit 1; }

failures=0
for object in "$@"; do
  name=$(basename "$object")
  defined=$(nm --demangle --extern-only --defined-only "$object") || exit 1
  tables=$(grep -c ' [DR] espalier::k[A-Za-z0-9]*Kernels$' <<<"$defined")
  others=$(grep -v ' [DR] espalier::k[A-Za-z0-9]*Kernels$' <<<"$defined" | grep .)
  fused=$(objdump --disassemble --no-show-raw-insn "$object" |
    grep -cE $'\t(vfn?m(add|sub)|fn?m(add|sub|la|ls))[a-z0-9]* ')
  if [ "$tables" -ne 1 ]; then
    echo "$name: $tables tables of kernels, expected 1"
    failures=1
  fi
  if [ -n "$others" ]; then
    printf '%s: symbols that other objects may define too:\n%s\n' "$name" "$others"
    failures=1
  fi
  if [ "$fused" -ne 0 ]; then
    echo "$name: $fused fused multiply-add instructions"
    failures=1
  fi
done
[ $failures -eq 0 ] && echo "$# objects as expected"
exit $failures
