#!/usr/bin/env bash
# names.sh HEADERS LIBRARY STUBS: what the headers list as absent is not in the library, and what
# --missing=late links has all of it: by its name, by the linker's one, and both of the profile.
set -euo pipefail
headers=$1 library=$2 stubs=$3

listed=$(sed -n -e 's/^ESP_MPI_NO_[A-Z]*(\(MPI_[A-Za-z_]*\),.*/\1/p' \
  -e 's/^ESP_MPI_ABSENT([A-Za-z_]*, \(MPI_[A-Za-z0-9_]*\),.*/\1/p' "$headers"/mpi_absent_*.h | sort)
[[ $(wc --lines <<< "$listed") -ge 150 ]] || { echo "few are listed: $listed"; exit 1; }
exported=$(nm --dynamic --defined-only --format=posix "$library" | cut --delimiter=' ' -f 1 | sort)
both=$(comm -12 <(printf '%s\n' "$listed") <(printf '%s\n' "$exported"))
[[ -z $both ]] || { echo "absent, and in $library: $both"; exit 1; }

weak=$(nm --defined-only --format=posix "$stubs" | awk '$2 == "W" { print $1 }' | sort)
plain=$(grep --invert-match __Espalier_has_no_ <<< "$weak")
with_reason=$(sed -n 's/__Espalier_has_no_.*__see_docs_mpi_md$//p' <<< "$weak")
expected=$(printf '%s\n' "$listed" "${listed//MPI_/PMPI_}")
diff <(sort <<< "$expected") <(sort <<< "$plain") || { echo "plain names differ"; exit 1; }
diff <(sort <<< "$expected") <(sort <<< "$with_reason") || { echo "reasons differ"; exit 1; }
