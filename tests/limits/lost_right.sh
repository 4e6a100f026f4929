#!/usr/bin/env bash
# lost_right.sh ESP_RUN PROBE HOW: see lost_right_probe.cpp. All ranks must report OK, and who is
# refused says so, once. Code 77: the right cannot be had, or not be lost, here.
set -u
esp_run=$1 probe=$2 how=$3
ranks=4
if [ "$how" = setuid ] && [ "$(id -u)" != 0 ]; then
  echo "SKIP: only root can become another user"
  exit 77
fi
output=$("$esp_run" --timeout 100 -n "$ranks" "$probe" "$how" 2>&1)
code=$?
echo "$output"
if grep -q '^SKIP: ' <<<"$output"; then exit 77; fi
if [ "$code" != 0 ] || [ "$(grep -c '^OK ' <<<"$output")" != "$ranks" ]; then
  echo "FAILED: not all of $ranks ranks are OK, exit code $code"
  exit 1
fi
# Not everybody comes to try before the owner of the memory sends copies to all.
refused=$(sed -n 's/^REFUSED rank //p' <<<"$output" | sort)
said=$(sed -n 's/^espalier\[\([0-9]*\)\] warning: CMA is refused.*/\1/p' <<<"$output" | sort)
if [ -z "$refused" ] || [ "$said" != "$refused" ]; then
  echo "FAILED: who is refused does not say so, or more than once"
  exit 1
fi
