#!/usr/bin/env bash
# choice.sh ESP_RUN API_TESTS ESP_INFO: profiles are found, must be the same and explain themselves.
set -euo pipefail
esp_run=$1
api_tests=$2
esp_info=$3
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/scripts/expect.sh
source "${BASH_SOURCE[0]%/*}/../scripts/expect.sh"
unset ESPALIER_TUNING
export HOME=$folder
unset XDG_CONFIG_HOME

# job SETTING...: a job that explains its choices.
job() {
  env ESPALIER_EXPLAIN=1 "$@" "$esp_run" --timeout 60 -n 3 "$api_tests" bcast
}

# Rules.
expect 0 'profile +none: choices go by rules' "$esp_info"
expect 0 'team 0: bcast of [0-9]+ bytes by 3 ranks on one node.*: publish.*; predicted .*; next ' \
  job
expect 0 'team 0: bcast of 1 bytes by 3 ranks on one node.*: short: lines of shared memory' job
expect 0 '^allreduce of 16384 bytes by 16 ranks on one node.*; predicted [0-9.]+ us; next ' \
  "$esp_info" --explain allreduce 16KiB -n 16
bcast='bcast of 1048576 bytes by 32 ranks on 4 nodes over rdma'
expect 0 "^$bcast, shared cores: tree.*levels of the machine" \
  "$esp_info" --explain bcast 1M -n 32 --nodes 4 --network rdma --cores 2
expect 0 "^$bcast, own cores: tree.*chain over 4 nodes.*a tree over nodes that costs least" \
  "$esp_info" --explain bcast 1M -n 32 --nodes 4 --network rdma --cores 8
# Groups of the network: none where ranks share cores, else by costs; and the setting.
shared="$bcast, shared cores"
expect 0 "^$shared: tree.(binomial|chain) over 4 nodes" \
  "$esp_info" --explain bcast 1M -n 32 --nodes 4 --network rdma --cores 2 --groups
expect 0 'tree.multicast over 128 nodes.*multicast, which costs least; predicted' \
  "$esp_info" --explain bcast 64K -n 256 --nodes 128 --network rdma --cores 8 --groups
expect 0 "^$shared: tree.binomial over 4 nodes|^$shared: tree.chain over 4 nodes" \
  env ESPALIER_MULTICAST=off \
  "$esp_info" --explain bcast 1M -n 32 --nodes 4 --network rdma --cores 2 --groups
expect 0 'leaders, multicast over 3 nodes, .*the setting MULTICAST' env ESPALIER_MULTICAST=on \
  "$esp_info" --explain allgather 1M -n 6 --nodes 3 --groups
expect 0 'no multicast .not all ranks have a group of the network.' env ESPALIER_MULTICAST=on \
  "$esp_info" --explain bcast 1M -n 6 --nodes 3
expect 0 'no multicast .multicast is for three nodes or more.' env ESPALIER_MULTICAST=on \
  "$esp_info" --explain bcast 1M -n 6 --nodes 2 --groups
expect 0 'alltoallv .*not predicted' "$esp_info" --explain alltoallv 1K -n 4
expect 1 'there is no collective "bcst": barrier, bcast, ' "$esp_info" --explain bcst 1K
expect 1 '"x" is no number of bytes' "$esp_info" --explain bcast x
expect 1 '2 ranks cannot be on 3 nodes' "$esp_info" --explain bcast 1K --nodes 3
expect 2 '' "$esp_info" --explain bcast

# A profile that the setting names, and one that is found.
odd=$here/odd.profile
expect 0 'bcast of 8000 bytes .*as in .*odd.profile:9' \
  env ESPALIER_TUNING="$odd" "$esp_info" --explain bcast 8000 -n 4
expect 0 'bcast of [0-9]+ bytes .*tree.*as in .*odd.profile' job ESPALIER_TUNING="$odd"
expect 0 'ring.*as in .*:6, windows of 3 and 32; measured 9.0 us at 64 bytes; next tree, 10.0 us' \
  env ESPALIER_TUNING="$odd" "$esp_info" --explain allreduce 1000 -n 4
mkdir -p "$folder/.config/espalier"
cp "$odd" "$folder/.config/espalier/profile"
expect 0 'profile +.*/.config/espalier/profile, 19 rows, made by hand, for tests' "$esp_info"
expect 0 'as in .*/.config/espalier/profile:' job
expect 0 'profile +none' env ESPALIER_TUNING=off "$esp_info"

# One rank has another.
output=$("$esp_run" --timeout 60 -n 3 "$here/../limits/rank_setting.sh" TUNING=off \
  "$api_tests" bcast 2>&1) || {
  printf 'FAILED: ranks with different profiles\n%s\n' "$output"
  exit 1
}
count=$(grep -c 'no profile is used: not all ranks have read the same' <<< "$output")
[[ $count == 1 ]] || { printf 'FAILED: said %s times\n%s\n' "$count" "$output"; exit 1; }

# Garbage: an error where it was asked for, a warning where it was found.
printf 'espalier profile 1\nbcast many\n' > "$folder/.config/espalier/profile"
expect 0 'no profile is used: .*profile:2: 2 columns, expected 14' job
expect 1 'ESPALIER_TUNING: .*:1: it does not begin with "espalier profile 1"' \
  env ESPALIER_TUNING="$here/choice.sh" "$esp_info"
mkfifo "$folder/fifo"
expect 1 'ESPALIER_TUNING: .*/fifo: not a regular file' \
  env ESPALIER_TUNING="$folder/fifo" timeout 20 "$esp_info"
expect 1 'ESPALIER_TUNING: /nowhere/profile: No such file' \
  env ESPALIER_TUNING=/nowhere/profile "$esp_info"
((failures == 0)) || exit 1
