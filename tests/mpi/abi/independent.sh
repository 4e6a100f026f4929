#!/usr/bin/env bash
# independent.sh COMPILER PYTHON BUILD RANKS SOURCE [ARGUMENT]: a program that has seen nothing of
# ours but libmpi_abi.so: compiled with the header of standard_header.py, linked with -lmpi_abi. All
# checks are made, as with our header, whose guard says so.
set -euo pipefail
read -ra compiler <<< "$1"
python=$2 build=$3 ranks=$4 source=$5 arguments=("${@:6}")
here=$(dirname "$(readlink --canonicalize "$0")")
libraries=$build/mpi/lib name=$(basename "$source" .c)

scratch=$(mktemp --directory)
trap 'rm -rf "$scratch"' EXIT
"$python" -B "$here/standard_header.py" "$scratch/mpi.h"
"${compiler[@]}" -std=c11 -O0 -w -Werror=implicit-function-declaration \
  -Werror=incompatible-pointer-types -pthread -D ESPALIER_MPI_MPI_H -I"$scratch" \
  "$source" -o "$scratch/$name" -L"$libraries" -lmpi_abi -Wl,-rpath,"$libraries" -ldl
needed=$(readelf --dynamic "$scratch/$name" | sed -n 's/.*(NEEDED).*\[\(.*mpi.*\)\]/\1/p')
[[ $needed == libmpi_abi.so.0 ]] || { echo "it needs: $needed"; exit 1; }
"$build/bin/esp-run" -n "$ranks" "$scratch/$name" "${arguments[@]}"
