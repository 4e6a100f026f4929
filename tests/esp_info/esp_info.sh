#!/usr/bin/env bash
# esp_info.sh PROGRAM SOURCE_FOLDER ESP_RUN PLAYED_CUDA: output, exit codes and error messages of
# esp-info. PLAYED_CUDA: the library that plays CUDA's driver.
set -euo pipefail
program=$1
source_folder=$2
esp_run=$3
played=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/scripts/expect.sh
source "${BASH_SOURCE[0]%/*}/../scripts/expect.sh"

expect 0 '^espalier [0-9]+\.[0-9]+\.[0-9]+$' "$program" --version
expect 0 'cma_bytes +bytes moved' "$program" --counters

expect 0 '^RADIX += 0 +default' "$program" --config
expect 0 '^RADIX += 3 +environment' env ESPALIER_RADIX=3 "$program" --config
expect 0 'nearest known name is ESPALIER_RADIX' env ESPALIER_RADIKS=3 "$program" --config
expect 1 'ESPALIER_RADIX: "x" is not allowed' env ESPALIER_RADIX=x "$program" --config
"$program" --config --markdown | cmp - "$source_folder/docs/configuration.md"
expect 2 'requires --config' "$program" --markdown

expect 0 'may run on CPUs' "$program" --topology
expect 0 '4 cores, 2 last-level caches' \
  env ESPALIER_TOPOLOGY='pack:2 [numa] l3:1 core:2 pu:1' "$program" --topology
expect 1 'there is no file /nonexistent.xml' \
  env ESPALIER_TOPOLOGY=/nonexistent.xml "$program" --topology

expect 0 '^no RDMA device: |^chosen here: |not usable' "$program" --devices
expect 1 'DEVICE: there is no RDMA device "nothing0" here' \
  env ESPALIER_DEVICE=nothing0 "$program" --devices

expect 0 '^no driver of devices: off by DEVICES' env ESPALIER_DEVICES=off "$program" --devices
expect 0 '^no driver of devices: /nonexistent.so: cannot open' \
  env ESPALIER_CUDA_DRIVER=/nonexistent.so "$program" --devices
cuda=(env ESPALIER_CUDA_DRIVER="$played")
expect 0 '^driver of devices: CUDA 12.4 .played by a library of tests, no device., with' \
  "${cuda[@]}" "$program" --devices
expect 0 '^  device 1: Played device, no GPU at 0000:02:00.0, 256M of memory, .* 9.0, .* dma-buf' \
  "${cuda[@]}" PLAYED_CUDA_DEVICES=2 "$program" --devices
expect 0 '^  ([0-9]+ kernels for reductions|no kernels: the library was built without)' \
  "${cuda[@]}" "$program" --devices
expect 0 'which has no device here' "${cuda[@]}" PLAYED_CUDA_DEVICES=0 "$program" --devices
expect 0 '^no driver of devices: .*too old: it is of CUDA 11.0, 11.7 is needed' \
  "${cuda[@]}" PLAYED_CUDA_VERSION=11000 "$program" --devices
expect 0 '^driver of devices not usable: cuDeviceGetName: unknown error .999.' \
  "${cuda[@]}" PLAYED_CUDA_FAIL=cuDeviceGetName:1:999 "$program" --devices

expect 0 '^rank +0 of 1' "$program"
expect 0 '^peers' "$program" --every-rank
expect 1 'ESPALIER_CMA: "x" is not allowed' env ESPALIER_CMA=x "$program"
expect 1 'ESPALIER_WIRES on rank 0: "udp" is no wire; known are shm,rc,ud,tcp' \
  env ESPALIER_WIRES=udp "$program"

# Two nodes, which are connected over the loopback interface.
nodes=("$esp_run" --timeout 50 -n 3 --nodes 2)
export ESPALIER_WIRES=shm,tcp ESPALIER_TCP_INTERFACE=lo
expect 0 '^tcp +listens on 127\.0\.0\.1:[0-9]+ \(lo\)' "${nodes[@]}" "$program"
expect 0 'rank 2 .* tcp, 127\.0\.0\.1:[0-9]+' "${nodes[@]}" "$program"
expect 0 'rank 0 .* tcp, 127\.0\.0\.1:[0-9]+' "${nodes[@]}" "$program" --every-rank
expect 0 'ESPALIER_TCP_INTERFACE: no network interface matches "nothing0"; there are: lo ' \
  env ESPALIER_TCP_INTERFACE=nothing0,lo "${nodes[@]}" "$program"
expect 1 'ESPALIER_TCP_INTERFACE on rank [0-2]: no network interface matches "nothing0"' \
  env ESPALIER_TCP_INTERFACE=nothing0 "${nodes[@]}" "$program"
# A leak check at the end would need descriptors of its own.
# shellcheck disable=SC2016  # the inner shell expands it
expect 1 'the limit of open files, ulimit -n, is 8' \
  env ASAN_OPTIONS=detect_leaks=0 "${nodes[@]}" sh -c 'ulimit -n 8; exec "$0"' "$program"
expect 0 'nodes +2, [12] ranks on this one, which is number [01] .NODES=launcher.' \
  "${nodes[@]}" "$program"
expect 0 '^directory +[0-9]+ bytes for 3 ranks, one for the ranks of this node' \
  "${nodes[@]}" "$program" --every-rank
expect 0 '^directory +[0-9]+ bytes for 3 ranks, of this rank alone' \
  env ESPALIER_WIRES=tcp "${nodes[@]}" "$program"
expect 0 'nodes +3, 1 ranks on this one, which is number 0 .no shm in WIRES.' \
  env ESPALIER_WIRES=' tcp ' "${nodes[@]}" "$program"
expect 0 'rank +0 of 3 on .*\(node x, by NODE_NAME\)' \
  env ESPALIER_NODE_NAME=x "${nodes[@]}" "$program"
unset ESPALIER_WIRES ESPALIER_TCP_INTERFACE

echo '{"traceEvents":[{"ph":"i","pid":0}],"otherData":{"dropped_events":2}}' > "$folder/0.json"
echo '{"traceEvents":[{"ph":"i","pid":1}],"otherData":{"dropped_events":3}}' > "$folder/1.json"
echo 'no JSON' > "$folder/bad.json"
expect 0 '2 events of 2 files' "$program" --merge-traces "$folder"/{all,0,1}.json
expect 0 '"dropped_events":5' cat "$folder/all.json"
expect 1 'cannot read .*absent.json: No such file' \
  "$program" --merge-traces "$folder"/{all,absent}.json
expect 1 'bad.json is not a trace' "$program" --merge-traces "$folder"/{all,bad}.json
expect 1 'cannot write /dev/full' "$program" --merge-traces /dev/full "$folder/0.json"
expect 2 'merge-traces' "$program" --merge-traces "$folder/all.json"

expect 2 '^esp-info: .*frobnicate' "$program" --frobnicate
expect 2 'at most 1' "$program" --config --counters
exit $((failures > 0))
