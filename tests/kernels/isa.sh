#!/usr/bin/env bash
# isa.sh ESP_RUN ISA_PROBE ESP_INFO: ESPALIER_ISA takes effect, every instruction set gives the same
# bits, and one that this machine does not have, or nobody knows, ends with a clear error.
set -u
esp_run=$1 probe=$2 esp_info=$3
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
under() { ESPALIER_ISA=$1 "$esp_run" --timeout 60 -n 4 "$probe" 2>&1; }

expected=$(under auto) || fail "auto: $expected"
grep -q '^[1-9][0-9]* reductions, hash [0-9a-f]*$' <<< "$expected" || fail "auto: $expected"
ran=0 refused=0
for isa in generic sse2 neon avx2 avx512; do
  if output=$(under $isa); then
    ran=$((ran + 1))
    [ "$output" = "$expected" ] || fail "$isa: $output, but with auto: $expected"
    in_use=$(ESPALIER_ISA=$isa "$esp_info" | sed -n 's/^kernels *//p')
    [ "$in_use" = $isa ] || fail "$isa: the kernels in use are $in_use"
  else
    refused=$((refused + 1))
    grep -q "ESPALIER_ISA=$isa, but this processor and this build have kernels for [a-z]" \
      <<< "$output" || fail "$isa: $output"
  fi
done
echo "$expected: $ran instruction sets, $refused refused"
((ran > 0 && refused > 0)) || fail "$ran ran, $refused were refused"
output=$(under mmx) && fail "mmx was accepted"
grep -q 'ESPALIER_ISA: "mmx" is not allowed; allowed is auto, generic, sse2' <<< "$output" \
  || fail "mmx: $output"
exit $((failures > 0))
