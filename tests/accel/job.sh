# job.sh, sourced: how a test of the accelerator compiles a program and runs it. The caller has set
# `peer` (openmpi or mpich). Skipped (77) where that MPI is not installed.
accel=$BIN/esp-accel
case $peer in
  openmpi) launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root -mca oob_tcp_if_include lo
                     -mca btl "self,vader") ;;
  mpich) launcher=(mpiexec.mpich) ;;
  *) echo "unknown peer $peer"; exit 2 ;;
esac
for program in "mpicc.$peer" "${launcher[0]}"; do
  command -v "$program" > /dev/null || { echo "SKIP: no $program"; exit 77; }
done
[[ -r $BIN/../lib/libespalier_accel_$peer.so ]] || { echo "SKIP: built without $peer"; exit 77; }
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT

# compile NAME: the program NAME.c beside this file.
compile() {
  "mpicc.$peer" -std=gnu11 -O1 -w -pthread -o "$folder/$1" "${BASH_SOURCE[0]%/*}/$1.c"
}

fail() {
  echo "FAILED: $*"
  exit 1
}
