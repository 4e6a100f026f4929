#!/usr/bin/env bash
# report.sh openmpi|mpich: what the accelerator says that it has done, and that it is not there
# where it is not wanted, or not installed.
set -euo pipefail
peer=$1
source "${BASH_SOURCE[0]%/*}/job.sh"
job=(timeout --kill-after=5 30 "${launcher[@]}" -n 2 "$folder/report")
said=$folder/said

# says PATTERN: a line of what the job has said.
says() {
  grep -Eq -- "$1" "$said" || { cat "$said"; fail "no line is like: $1"; }
}
says_not() {
  ! grep -Eq -- "$1" "$said" || { cat "$said"; fail "a line is like: $1"; }
}

compile report
for mode in auto always; do
  ESPALIER_ACCEL=$mode "$accel" --report "${job[@]}" > "$said" 2>&1
  says "^espalier: communicator MPI_COMM_WORLD of 2 processes"
  says "^  operation +bytes below +espalier +MPI +started +bytes"
  says "^  MPI_Allreduce +1 calls fell through to the MPI: an operator of the program"
  says "^  MPI_Reduce +1 calls fell through to the MPI: a type that is not predefined"
  says "^  MPI_Barrier +1 calls fell through to the MPI: a communicator of one process"
  says "^espalier: communicator never blocking of 2 processes"
  says "^  MPI_Barrier +1 calls fell through to the MPI: started before any blocking collective"
  says "^espalier: communicator between of 1 process$"
  says "^  MPI_Barrier +1 calls fell through to the MPI: an intercommunicator"
  # 50 calls of 8 bytes, 3 of 100.
  if [[ $mode == always ]]; then
    says "^  MPI_Allreduce +16 +50 +0 +0 +400 .* espalier$"
    says "^  MPI_Bcast +128 +3 +0 +0 +300 .* espalier$"
  else
    says "^  MPI_Allreduce +16 +(18 +32|32 +18) +0 +400 .* (espalier|MPI)$"
    says "^  MPI_Bcast +128 +3 +0 +0 +300 .* still timed$"
  fi
done

ESPALIER_ACCEL_REPORT=1 "$accel" --always "${job[@]}" maps > "$said" 2>&1
says "^espalier: collectives as rank 0 has counted them"
says "/libespalier_accel_$peer.so$"
says "/libespalier.so"

"$accel" "${job[@]}" > "$said" 2>&1
says_not espalier

ESPALIER_ACCEL=off "$accel" --report "${job[@]}" maps > "$said" 2>&1
says "/libespalier_accel.so$"
says_not "libespalier_accel_|libespalier\.so|^espalier:"

# A profile, also of what was called on a communicator that is gone.
"$accel" --save "$folder/profile" "${job[@]}"
for row in "MPI_Allreduce 2 1 4" "MPI_Allgather 2 1 3"; do
  grep -Eq "^$peer $row (espalier|mpi)$" "$folder/profile" ||
    { cat "$folder/profile"; fail "the profile has no $row"; }
done
sed -i 's/ espalier$/ mpi/' "$folder/profile"
"$accel" --profile "$folder/profile" --report "${job[@]}" > "$said" 2>&1
says "^  MPI_Allreduce +16 +0 +50 +0 +400 .* MPI$"
says "^  MPI_Bcast +128 .* still timed$"
"$accel" --profile /dev/null "${job[@]}" > "$said" 2>&1
says "^espalier: /dev/null is not an accelerator profile that can be read: it begins otherwise"
"$accel" --profile "$folder/none" "${job[@]}" > "$said" 2>&1
says "^espalier: $folder/none is not an .* that can be read: No such file or directory"
printf '%s\nfoo\nopenmpi MPI_Barrier 2 1 0 mpii\n' "$(head -1 "$folder/profile")" > "$folder/odd"
"$accel" --profile "$folder/odd" "${job[@]}" > "$said" 2>&1
says "^espalier: $folder/odd:2: not a row of a profile"
says "^espalier: $folder/odd:3: not a row of a profile"
echo "mine" > "$folder/mine"
ESPALIER_ACCEL_SAVE="$folder/mine" "$accel" "${job[@]}" > "$said" 2>&1
says "^espalier: $folder/mine is something else than a profile, and stays as it is"
[[ $(< "$folder/mine") == mine ]] || fail "a file that is no profile is overwritten"

# The MPI of a plugin, which the program itself does not see.
cc -O1 -o "$folder/host" "${BASH_SOURCE[0]%/*}/host.c" -ldl
"mpicc.$peer" -O1 -w -shared -fPIC -o "$folder/plugin.so" "${BASH_SOURCE[0]%/*}/report.c"
plugin=("${job[@]:0:${#job[@]}-1}" "$folder/host" "$folder/plugin.so")
ESPALIER_ACCEL=off "$accel" "${plugin[@]}" || fail "a plugin's MPI is lost by off"
"$accel" --always --report "${plugin[@]}" > "$said" 2>&1
says "^  MPI_Allreduce +16 +50 +0 +0 +400 .* espalier$"

# Without the accelerator for this MPI.
mkdir "$folder/bin" "$folder/lib"
cp "$accel" "$folder/bin"
cp "$BIN/../lib/libespalier_accel.so" "$folder/lib"
"$folder/bin/esp-accel" --always "${job[@]}" maps > "$said" 2>&1
says "^espalier: collectives are not accelerated: .*libespalier_accel_$peer.so: cannot open"
says_not "libespalier\.so"
rm "$folder/lib/libespalier_accel.so"
! "$folder/bin/esp-accel" "${job[@]}" > "$said" 2>&1 || fail "it starts without its library"
says "^esp-accel: .*/lib/libespalier_accel.so is missing"
