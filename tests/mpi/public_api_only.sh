#!/usr/bin/env bash
# public_api_only.sh LIBRARY: what the facade takes from elsewhere is the public C API (esp_*) and
# libc (versioned GLIBC_*), and it names no other library.
set -euo pipefail
library=$1

undefined=$(nm --dynamic --undefined-only --format=posix "$library" | awk '{ print $1 }')
ours='^esp_[a-z_]+(@ESPALIER_[0-9]+)?$'
runtime='@GLIBC_|^_ITM_|^__gmon_start__$|^__cxa_finalize|^__(asan|ubsan|tsan|sanitizer)_'
strange=$(grep --invert-match --extended-regexp "$ours|$runtime" <<< "$undefined" || true)
needed=$(readelf --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep --invert-match --extended-regexp '^lib(espalier|c|asan|ubsan|tsan)\.so' || true)
if [[ -n $strange$needed ]]; then
  echo "$library uses what is not the public API:"
  printf '%s\n' "$strange" "$needed"
  exit 1
fi
echo "$(grep --count '^esp_' <<< "$undefined") functions of the public API, nothing else of ours"
