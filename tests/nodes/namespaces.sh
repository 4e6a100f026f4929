#!/bin/bash
# namespaces.sh PROBE: a job of 4 ranks on two network namespaces that a veth pair joins: it
# calculates; then the link goes down under it, and every rank must end with a status that names
# another. Needs root and ip(8); without, 77 and the reason. Leaves nothing behind.
set -u
probe=$1
skip() { echo "not run: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no ip command (package iproute2)"
a=esp-$$-a b=esp-$$-b folder=$(mktemp -d) pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
  wait 2>/dev/null
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$folder"
}
trap cleanup EXIT
for space in "$a" "$b"; do
  ip netns add "$space" 2>"$folder/why" || skip "no namespaces: $(cat "$folder/why")"
done
ip link add va netns "$a" type veth peer name vb netns "$b" 2>"$folder/why" ||
  skip "no veth: $(cat "$folder/why")"
if ! { ip -n "$a" addr add 10.77.0.1/24 dev va && ip -n "$a" link set va up &&
  ip -n "$b" addr add 10.77.0.2/24 dev vb && ip -n "$b" link set vb up; }; then
  skip "the interfaces do not come up"
fi

# start MODE: ranks 0 and 1 in the first namespace, 2 and 3 in the second.
start() {
  rm -rf "$folder/meet"
  mkdir "$folder/meet"
  pids=()
  for rank in 0 1 2 3; do
    if [ $rank -lt 2 ]; then space=$a; else space=$b; fi
    ESPALIER_NODE_NAME=$space ip netns exec "$space" "$probe" "$1" "$folder/meet" $rank 4 \
      >"$folder/$rank.out" 2>&1 &
    pids+=($!)
  done
}
# finish TEXT: all ranks have ended with an OK.
finish() {
  local failed=0
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  pids=()
  cat "$folder"/?.out
  if [ $failed = 1 ] || [ "$(cat "$folder"/?.out | grep -c '^OK')" != 4 ]; then
    echo "FAILED: $1"
    exit 1
  fi
}
start files
finish "a job over two namespaces"
export ESPALIER_TIMEOUT=2
start lose
for ((tries = 0; tries < 500; ++tries)); do
  met=("$folder"/meet/2.[0-3])
  [ ${#met[@]} = 4 ] && break
  sleep 0.02
done
sleep 0.5
ip -n "$a" link set va down
finish "survivors of a link that is down"
