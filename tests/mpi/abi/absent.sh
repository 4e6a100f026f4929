#!/usr/bin/env bash
# absent.sh COMPILER PYTHON BUILD SOURCE: a program of the standard ABI that names what is not there
# runs until it calls that, whenever the loader looks for its names.
set -euo pipefail
read -ra compiler <<< "$1"
python=$2 build=$3 source=$4
here=$(dirname "$(readlink --canonicalize "$0")")
libraries=$build/mpi/lib

scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT
"$python" -B "$here/standard_header.py" "$scratch/mpi.h"
for binding in now lazy; do
  "${compiler[@]}" -O0 -w -D REACHED -I"$scratch" "$source" -o "$scratch/$binding" \
    -L"$libraries" -lmpi_abi -Wl,-rpath,"$libraries" -Wl,-z,"$binding"
  "$build/bin/esp-run" -n 2 "$scratch/$binding"
  if "$build/bin/esp-run" -n 1 "$scratch/$binding" call > "$scratch/said" 2>&1 ||
    ! grep --quiet '^MPI_Win_create: Espalier has no RMA windows; see docs/mpi.md$' "$scratch/said"
  then
    echo "FAILED with -z $binding:"; cat "$scratch/said"; exit 1
  fi
done
