# job.sh, sourced: how a test of the accelerator compiles a program and runs it. The caller has set
# `peer` (openmpi, mpich, or abi). Skipped (77) where that MPI is not installed. The MPI of the
# standard ABI is our own libmpi_abi.so, whose header here is made of the standard's table: so
# Espalier is below the program twice, as its MPI and as the accelerator.
accel=$BIN/esp-accel abi=$BIN/../mpi/lib
case $peer in
  openmpi) launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader") ;;
  mpich) launcher=(mpiexec.mpich) ;;
  abi) launcher=("$BIN/esp-run") ;;
  *) echo "unknown peer $peer"; exit 2 ;;
esac
compiler=mpicc.$peer
[[ $peer != abi ]] || compiler=cc
for program in "$compiler" "${launcher[0]}"; do
  command -v "$program" > /dev/null || { echo "SKIP: no $program"; exit 77; }
done
[[ -r $BIN/../lib/libespalier_accel_$peer.so ]] || { echo "SKIP: built without $peer"; exit 77; }
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT

# compile NAME: the program NAME.c beside this file.
compile() {
  local here=${BASH_SOURCE[0]%/*} options=()
  if [[ $peer == abi ]]; then
    python3 -B "$here/../mpi/abi/standard_header.py" "$folder/mpi.h"
    options=(-I"$folder" -L"$abi" -lmpi_abi -Wl,-rpath,"$abi")
  fi
  "$compiler" -std=gnu11 -O1 -w -pthread -o "$folder/$1" "$here/$1.c" "${options[@]}"
}

fail() {
  echo "FAILED: $*"
  exit 1
}
