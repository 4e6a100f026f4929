#!/bin/bash
# namespaces.sh PROBE PART: jobs of 6 ranks on three network namespaces that hang on a bridge.
#
#   work       they calculate
#   faults     a rank is killed; then the link of a namespace goes down; every survivor must end
#              with a status that names one of those lost
#   netem      they calculate while packets are late and lost
#   groups     (multicast_probe) publications leave a namespace once
#   refused    (multicast_probe) a namespace may join no group: all goes by messages
#   unheard    (multicast_probe) the bridge carries no multicast: all goes by messages soon
#
# All but those killed must end well, in time. Needs root, ip(8) and for netem tc(8), for unheard
# bridge(8); without, 77 and the reason. Leaves nothing behind.
set -u
probe=$1 part=$2
skip() { echo "SKIP: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no ip command (package iproute2)"
switch=esp-$$-s spaces=(esp-$$-a esp-$$-b esp-$$-c) folder=$(mktemp -d) pids=()
cleanup() {
  kill "${pids[@]}" 2>/dev/null  # What they are timeout(1) hands on.
  wait 2>/dev/null
  for space in "$switch" "${spaces[@]}"; do ip netns del "$space" 2>/dev/null; done
  rm -rf "$folder"
}
trap cleanup EXIT
try() { "$@" 2>"$folder/why" || skip "$*: $(cat "$folder/why")"; }
for space in "$switch" "${spaces[@]}"; do try ip netns add "$space"; done
try ip -n "$switch" link add br0 type bridge
try ip -n "$switch" link set br0 up
for i in 0 1 2; do
  try ip -n "$switch" link add "to$i" type veth peer name v netns "${spaces[i]}"
  try ip -n "$switch" link set "to$i" master br0 up
  try ip -n "${spaces[i]}" addr add "10.77.0.$((i + 1))/24" dev v
  try ip -n "${spaces[i]}" link set v up
done

# start MODE [LOST_HERE LOST_ELSEWHERE]: ranks 2i and 2i + 1 in namespace i. LOST_HERE: the ranks of
# which ranks 0 and 1 must name one; LOST_ELSEWHERE: the others.
start() {
  rm -rf "$folder/meet" "$folder"/*.out
  mkdir "$folder/meet"
  pids=()
  for rank in 0 1 2 3 4 5; do
    local space=${spaces[rank / 2]} lost=${2:-}
    [ $rank -lt 2 ] || lost=${3:-}
    # shellcheck disable=SC2086  # a list
    ESPALIER_NODE_NAME=$space timeout -k 5 50 ip netns exec "$space" "$probe" "$1" "$folder/meet" \
      $rank 6 $lost >"$folder/$rank.out" 2>&1 &
    pids+=($!)
  done
}
fail() {
  cat "$folder"/?.out
  echo "FAILED: $*"
  exit 1
}
# Waits until every rank calculates: only then is there something to disturb.
begun() {
  for ((tries = 0; tries < 500; ++tries)); do
    local told=("$folder"/meet/begun.[0-5])
    [ ${#told[@]} = 6 ] && return
    sleep 0.02
  done
  fail "the job did not begin"
}
# finish TEXT [KILLED]: all ranks but KILLED have ended well, with an OK.
finish() {
  local rank code wrong=()
  for rank in "${!pids[@]}"; do
    code=0
    wait "${pids[rank]}" 2>/dev/null || code=$?
    [ "$rank" = "${2:-}" ] && continue
    [ $code = 0 ] && grep -q '^OK' "$folder/$rank.out" || wrong+=("rank $rank (exit code $code)")
  done
  pids=()
  [ ${#wrong[@]} = 0 ] || fail "$1: ${wrong[*]}"
  cat "$folder"/?.out
}

# Of a counter that all ranks print at their end.
sum() {  # NAME FILES...
  sed -n "s/.*info: counters:.* $1 \([0-9]*\).*/\1/p" "${@:2}" |
    awk '{ sum += $1 } END { print sum + 0 }'
}
multicast_packets() {  # < /proc/net/netstat
  awk '$1 == "IpExt:" && !n { for (i = 2; i <= NF; ++i) if ($i == "OutMcastPkts") n = i; next }
       $1 == "IpExt:" { print $n }'
}

case $part in
  work)
    start files
    finish "a job over three namespaces"
    ;;
  faults)
    export ESPALIER_TIMEOUT=2
    start lose 3 3
    begun
    kill -9 "$(<"$folder/meet/begun.3")"
    finish "survivors of a rank that was killed" 3
    start lose "2 3 4 5" "0 1"
    begun
    ip -n "${spaces[0]}" link set v down
    finish "survivors of a link that is down"
    ;;
  groups)
    export ESPALIER_MULTICAST=on ESPALIER_COUNTERS=1
    start collect
    finish "multicast over three namespaces"
    sent=$(sum group_packets "$folder"/?.out)
    left=0
    for space in "${spaces[@]}"; do
      left=$((left + $(ip netns exec "$space" cat /proc/net/netstat | multicast_packets)))
    done
    echo "packets to groups: $sent, which have left as $left"
    ((sent > 0 && left >= sent && left < sent + sent / 3 + 500)) || fail "not sent once"
    ;;
  refused)
    export ESPALIER_MULTICAST=on
    try ip netns exec "${spaces[1]}" sysctl -qw net.ipv4.igmp_max_memberships=0
    start messages
    finish "a namespace that may join no group"
    grep -q "team 0 .*messages: rank [23] could not join: No buffer" "$folder/0.out" ||
      fail "no reason is given"
    ;;
  unheard)
    export ESPALIER_MULTICAST=on
    command -v bridge >/dev/null || skip "no bridge command (package iproute2)"
    for i in 0 1 2; do
      try bridge -n "$switch" link set dev "to$i" mcast_flood off
    done
    start falls
    finish "a bridge that carries no multicast"
    ;;
  netem)
    command -v tc >/dev/null || skip "no tc command (package iproute2)"
    for space in "${spaces[@]}"; do
      ip netns exec "$space" tc qdisc add dev v root netem delay 2ms 1ms loss 1% 2>"$folder/why" ||
        skip "no netem in this kernel: $(cat "$folder/why") (see vm.Jobs.namespaces_netem_tcp)"
    done
    start files
    finish "a job over a bad network"
    for space in "${spaces[@]}"; do
      ip netns exec "$space" tc -s qdisc show dev v | tee -a "$folder/struck"
    done
    grep -q 'dropped [1-9]' "$folder/struck" || { echo "FAILED: nothing was lost"; exit 1; }
    ;;
esac
