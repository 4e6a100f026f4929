#!/bin/bash
# fault.sh ESP_RUN EXPECTED_OK RANKS PROGRAM ARGS...: runs the job with --keep-going and counts the
# ranks that report OK. Environment goes through; NODES: emulated nodes. The job must end by itself,
# and every rank but the victim, which is rank 1, must end well after its OK, too: where all are
# expected there is no victim.
set -u
esp_run=$1 expected=$2 ranks=$3
shift 3
output=$("$esp_run" --keep-going --timeout 60 -n "$ranks" --nodes "${NODES:-1}" "$@" 2>&1)
code=$?
echo "$output"
echo "exit code of the job: $code"
ok=$(grep -c '^OK ' <<<"$output")
bad=$(grep -c '^BAD ' <<<"$output")
if grep -q "WARNING: ThreadSanitizer" <<<"$output"; then
  echo "FAILED: a data race"
  exit 1
fi
if [ "$code" = 124 ] || [ "$bad" != 0 ] || [ "$ok" != "$expected" ]; then
  echo "FAILED: $ok ranks OK (expected $expected), $bad BAD"
  exit 1
fi
if grep -Eq '^esp-run: rank ([02-9]|1[0-9]+) on ' <<<"$output" ||
  { [ "$expected" = "$ranks" ] && [ "$code" != 0 ]; }; then
  echo "FAILED: a rank that behaves did not end well"
  exit 1
fi
