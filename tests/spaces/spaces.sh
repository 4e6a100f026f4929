#!/bin/bash
# spaces.sh PROBE file|share|killed|net: jobs whose ranks are in different namespaces of one
# machine. file: a stranger in the one PID namespace has the number that a rank has in the other,
# and a user's file open at every descriptor; not a byte of it may change. share: ranks share
# memory. killed: a rank in another PID namespace is killed, and all others are told of its death.
# net: ranks of different network namespaces are connected by TCP, and say why. Where the system
# makes no such namespaces: 77 and the reason. Leaves nothing behind.
set -u
probe=$1 part=$2
skip() { echo "SKIP: $*"; exit 77; }
command -v unshare >/dev/null || skip "no unshare command (package util-linux)"
folder=$(mktemp -d) pids=() spaces=()
cleanup() {
  kill -9 "${pids[@]}" 2>/dev/null  # What they are unshare(1) ends with it.
  wait 2>/dev/null
  for space in "${spaces[@]}"; do ip netns del "$space" 2>/dev/null; done
  rm -rf "$folder"
}
trap cleanup EXIT
try() { "$@" >"$folder/why" 2>&1 || skip "$*: $(cat "$folder/why")"; }
fail() {
  cat "$folder"/?.out
  echo "FAILED: $*"
  exit 1
}
mkdir "$folder/meet"

# A sanitizer's leak check looks for threads in /proc, by numbers of the own namespace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# A PID namespace with its own /proc, and one that sees the machine's.
own=(unshare --pid --fork --kill-child --mount-proc)
foreign=(unshare --pid --fork --kill-child)
# As a container of a user who is not root has it.
user=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)

# start RANK SIZE MODE [ARGUMENT] -- COMMAND...: COMMAND starts the probe, or is empty.
start() {
  local rank=$1 size=$2 mode=$3 argument=$4
  shift 5
  "$@" "$probe" "$mode" "$folder/meet" "$rank" "$size" "$argument" >"$folder/$rank.out" 2>&1 &
  pids[rank]=$!
}
# finish [KILLED]: all ranks but KILLED have ended well, with an OK.
finish() {
  local rank code wrong=()
  for rank in "${!pids[@]}"; do
    code=0
    wait "${pids[rank]}" 2>/dev/null || code=$?
    [ "$rank" = "${1:-}" ] && continue
    [ $code = 0 ] && grep -q '^OK' "$folder/$rank.out" || wrong+=("rank $rank (exit code $code)")
  done
  pids=()
  [ ${#wrong[@]} = 0 ] || fail "${wrong[*]}"
  cat "$folder"/?.out
}
# said RANK PATTERN
said() { grep -Eq -- "$2" "$folder/$1.out" || fail "rank $1 did not say \"$2\""; }

case $part in
  file)
    try "${own[@]}" true
    head -c 1300000 /dev/urandom >"$folder/file"
    cp "$folder/file" "$folder/before"
    # Both first processes are number 1 of their namespaces: rank 0, and a shell.
    start 0 2 work "" -- "${own[@]}"
    # shellcheck disable=SC2016  # the inner shell expands it
    start 1 2 work "" -- "${own[@]}" bash -c '
      for n in {3..40}; do eval "exec $n<>\"\$0\""; done
      "$@"; exit $?' "$folder/file"
    for rank in 0 1; do wait "${pids[rank]}" 2>/dev/null || true; done
    cmp "$folder/file" "$folder/before" || fail "the file was changed"
    finish
    said 1 '^nodes +1, 2 ranks on this one'
    said 1 '^OK .* some by shared memory'
    ;;
  share)
    try "${own[@]}" true
    try "${user[@]}" true
    # The first one sees the processes of all others, who do not see its or each other's.
    start 0 4 work "" --
    start 1 4 work "" -- "${own[@]}"
    start 2 4 work "" -- "${foreign[@]}"
    start 3 4 work "" -- "${user[@]}"
    finish
    for rank in 0 1 2 3; do
      said $rank '^nodes +1, 4 ranks on this one'
      said $rank '^OK .* some by shared memory'
    done
    said 1 '^CMA +denied for rank 0: .*PID namespace'
    said 1 '^  rank 2 .* shm without CMA'
    grep -q '^CMA .*EPERM' "$folder/0.out" && exit 0  # It is denied here.
    for rank in 1 2 3; do said 0 "^  rank $rank .* shm with CMA"; done
    # Without anybody asking, while a rank waits.
    rm -rf "$folder"/meet/* "$folder"/?.out
    export ESPALIER_CMA_THRESHOLD_BYTES=1
    start 0 2 pull "" --
    start 1 2 pull "" -- "${own[@]}"
    finish
    ;;
  killed)
    try "${own[@]}" true
    start 0 4 lose 1 --
    start 1 4 lose 1 -- "${own[@]}"
    start 2 4 lose 1 -- "${own[@]}"
    start 3 4 lose 1 -- "${foreign[@]}"
    for ((tries = 0; tries < 1500; ++tries)); do
      told=("$folder"/meet/begun.[0-3])
      [ ${#told[@]} = 4 ] && break
      sleep 0.02
    done
    [ ${#told[@]} = 4 ] || fail "the job did not begin"
    kill -9 "${pids[1]}"
    finish 1
    ;;
  net)
    [ "$(id -u)" = 0 ] || skip "network namespaces need root"
    command -v ip >/dev/null || skip "no ip command (package iproute2)"
    spaces=(esp-$$-a esp-$$-b)
    for space in "${spaces[@]}"; do try ip netns add "$space"; done
    try ip -n "${spaces[0]}" link add v type veth peer name v netns "${spaces[1]}"
    for i in 0 1; do
      try ip -n "${spaces[i]}" addr add "10.78.0.$((i + 1))/24" dev v
      try ip -n "${spaces[i]}" link set v up
      start $i 2 work "" -- ip netns exec "${spaces[i]}"
    done
    finish
    said 0 '^  rank 1 .* tcp, .*shm: another network namespace of this machine'
    said 1 '^nodes +2, 1 ranks on this one'
    said 1 '^OK .* some by sockets'
    ;;
esac
