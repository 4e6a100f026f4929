#!/usr/bin/env bash
# jobs.sh FOLDER: jobs of several processes over RDMA, in a guest with 8 nodes (tests/vm/rxe-run).
# FOLDER holds the programs. Says how each case went as googletest does, so that vm_tests.py finds
# it; every function job_NAME is a case. ESPALIER_VM_FILTER: cases to run, by name, with * and ?,
# several with colons between them.
# shellcheck disable=SC2317  # the cases are called by their names
set -u
bin=$1 run=$1/esp-run probe=$1/jobs_probe fault=$1/fault_probe flows=$1/flows_probe
multicast=$1/multicast_probe
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
export ESPALIER_TIMEOUT=60

# Before a rank: it takes the device of its node. Ranks of the nodes $WITHOUT find none.
cat > /tmp/node <<'END'
#!/bin/bash
node=${PMIX_HOSTNAME##*-node}
export ESPALIER_DEVICE=rxe$node
[[ -z ${COUNTED:-} ]] || export SENT_BYTES=/sys/class/net/n$node/statistics/tx_bytes
case " ${WITHOUT:-} " in
  *" $node "*)
    unset ESPALIER_DEVICE
    exec unshare -m bash -c 'mount -t tmpfs none /dev/infiniband && exec "$@"' - "$@" ;;
esac
exec "$@"
END
chmod +x /tmp/node

# job RANKS NODES WIRES COMMAND...: all ranks must end well. MAP: how they are dealt out. LIMIT: in
# so many seconds.
job() {
  local ranks=$1 nodes=$2
  local -x ESPALIER_WIRES=$3
  shift 3
  "$run" --timeout "${LIMIT:-90}" -n "$ranks" --nodes "$nodes" --map "${MAP:-block}" /tmp/node "$@"
}
# fault EXPECTED_OK RANKS NODES WIRES MODE...: as tests/proc/fault.sh.
fault() {
  local expected=$1 ranks=$2
  local -x NODES=$3 ESPALIER_WIRES=$4
  shift 4
  "$here/../../proc/fault.sh" "$run" "$expected" "$ranks" /tmp/node "$fault" "$@"
}
# On the way from every node; nothing: a good network again.
network() {
  if (($#)); then
    # shellcheck disable=SC2059  # a format with the faults in it
    printf "qdisc replace dev n%d root netem ${*//%/%%}\n" {0..7} | tc -batch - || return 1
    adapters_sent=$(sent_by_adapters)
  else
    printf 'qdisc del dev n%d root\n' {0..7} | tc -force -batch - 2> /dev/null
  fi
  return 0
}
sent_by_adapters() {
  awk '{ sum += $1 } END { print sum }' /sys/class/infiniband/rxe*/ports/1/hw_counters/sent_pkts
}
# struck NETEM...: how many packets that has happened to since network(). What it lost and what it
# let overtake netem counts. Duplicates are what left it beyond what adapters gave it; a hundredth
# is for packets that are not theirs.
struck() {
  local mine=$(($(sent_by_adapters) - adapters_sent))
  printf 'qdisc show dev n%d\n' {0..7} | tc -s -batch - | awk -v fault="$*" -v mine="$mine" '
    $1 == "Sent" { sent += $4; dropped += $7; overtook += $11 }
    END {
      if (fault ~ /loss/) print dropped
      else if (fault ~ /reorder/) print overtook
      else if (fault ~ /duplicate/) print int(sent - 1.01 * mine)
      else print sent
    }'
}
# bad RANKS NODES WIRES NETEM...: a job on such a network, until something has happened to it.
bad() {
  local ranks=$1 nodes=$2 wires=$3 number command=(collect)
  local -x ESPALIER_RDMA_ACK_TIMEOUT=12
  shift 3
  network "$@" || return 1
  for _ in {1..8}; do
    job "$ranks" "$nodes" "$wires" "$probe" "${command[@]}" || return 1
    number=$(struck "$@")
    echo "$*: happened to $number packets"
    ((number <= 0)) || return 0
    command=(last 2)
  done
  return 1
}
link_up() { ip link set "n$1" up && ip -batch "/run/routes-n$1"; }

# ready_job: a job in which no packet finds its receiver without a place for it, as credits promise.
# Adapters count them.
not_ready() {
  awk '{ sum += $1 } END { print sum }' /sys/class/infiniband/rxe*/ports/1/hw_counters/*_rnr_err
}
ready_job() {
  local before
  before=$(not_ready)
  job "$@" || return 1
  echo "packets for which a receiver was not ready: $(($(not_ready) - before))"
  (($(not_ready) == before))
}

job_rc_and_ud_2_ranks_2_nodes() { ready_job 2 2 shm,rc,ud "$probe" collect; }
job_rc_and_ud_8_ranks_4_nodes() { ready_job 8 4 shm,rc,ud,tcp "$probe" collect; }
job_rc_and_ud_16_ranks_8_nodes() { ready_job 16 8 shm,rc,ud "$probe" collect; }
job_ud_alone_4_ranks_2_nodes() { job 4 2 shm,ud "$probe" collect; }
job_ud_alone_8_ranks_8_nodes() { job 8 8 shm,ud "$probe" collect; }
job_rc_alone_4_ranks_4_nodes() { ready_job 4 4 shm,rc "$probe" collect; }
job_rc_without_shared_memory_4_ranks() { ready_job 4 2 rc,ud "$probe" collect; }
job_few_connections_6_ranks_6_nodes() {
  ESPALIER_RDMA_CONNECTIONS=1 job 6 6 shm,rc,ud "$probe" collect
}
job_flows_4_ranks_2_nodes() { ready_job 4 2 shm,rc,ud "$bin/api_tests" flows; }
job_flows_ud() { job 2 2 ud "$bin/api_tests" flows; }
# 64 operations of every kind at once, on eight teams.
job_crowd_rc() { ready_job 4 2 shm,rc,ud "$bin/api_tests" crowd_teams; }
job_crowd_ud() { job 4 4 ud "$bin/api_tests" crowd_teams; }
# Nothing unexpected, windows kept, segments handed on one by one (tests/nodes).
expected() { ESPALIER_LEVEL_SHAPES=node:chain job 6 3 "$1" "$flows" expected "" 0 4 32 2; }
job_expected_rc() { expected shm,rc,ud; }
job_expected_ud() { expected shm,ud; }
# Five segments of 16 KiB are on their way at once.
pipeline() {
  network rate "$3" delay "$4" &&
    ESPALIER_WIRES=$1 python3 -B "$here/../../nodes/overlap.py" "$2" "$run" /tmp/node "$flows"
}
job_pipeline_rc() { pipeline shm,rc,ud slow 16mbit 32ms; }
job_pipeline_ud() { pipeline shm,ud slow 10mbit 50ms; }
job_pipeline_that_waits() { pipeline shm,rc,ud slow_waits 16mbit 32ms; }
# Levels inside nodes, ranks all over the place, every root.
levels() {
  MAP=random:3 ESPALIER_LEVELS=on ESPALIER_TOPOLOGY="pack:2 core:2 pu:1" job 8 2 "$1" "$probe" roots
}
job_levels_random_map_rc() { levels shm,rc,ud; }
job_levels_random_map_ud() { levels shm,ud; }
job_random_map_8_ranks_4_nodes() { MAP=random:5 job 8 4 shm,rc,ud "$probe" roots; }
# A descriptor to sleep on.
job_events_rc() { job 4 4 rc,ud "$bin/api_tests" events; }
job_events_ud() { job 4 4 ud "$bin/api_tests" events; }
job_events_shm_and_rc() { job 4 2 shm,rc,ud "$bin/api_tests" events; }
job_events_shm_and_ud() { job 4 2 shm,ud "$bin/api_tests" events; }
job_task_loop_rc() { job 4 2 shm,rc,ud "$bin/task_loop"; }
job_task_loop_ud() { job 4 4 ud "$bin/task_loop"; }
job_pgas_array_rc() { job 4 2 shm,rc,ud "$bin/pgas_array"; }
job_pgas_array_ud() { job 2 2 ud "$bin/pgas_array"; }
# One-sided operations and active messages.
job_regions_4_ranks_2_nodes() { ready_job 4 2 shm,rc,ud "$bin/api_tests" regions; }
job_reach_ranks_that_compute() { job 4 2 shm,rc,ud "$probe" reach; }
job_regions_ud() { job 4 4 ud "$bin/api_tests" regions; }
job_messages_4_ranks_2_nodes() { ready_job 4 2 shm,rc,ud "$bin/api_tests" messages; }
job_completions_4_ranks_2_nodes() { ready_job 4 2 shm,rc,ud "$bin/api_tests" completions; }
job_completions_rc() { ready_job 3 3 rc,ud "$bin/api_tests" completions; }
job_completions_ud() { job 3 3 ud "$bin/api_tests" completions; }
job_messages_ud() { job 4 4 ud "$bin/api_tests" messages; }
job_remote_killed_rc() { fault 3 4 4 rc,ud remote kill; }
# Whoever waits sleeps at once, on both ports.
job_asleep() { ESPALIER_SPIN_US=0 ESPALIER_YIELD_US=0 job 4 2 shm,rc,ud "$probe" collect; }
job_progress_thread() { ESPALIER_PROGRESS_THREAD=1 job 4 2 shm,rc,ud "$probe" collect; }
job_some_without_device() { WITHOUT="1" job 6 3 shm,rc,ud,tcp "$probe" collect; }
job_forced_without_device() {
  local said
  said=$(WITHOUT="1" job 4 2 shm,rc,ud "$probe" collect 2>&1) && return 1
  echo "$said"
  # Whoever of the two finds it out first.
  grep -q "cannot be reached.*rc: not \(here: \|open there\).*ESPALIER_WIRES is" <<< "$said"
}
# An ordinary user's limit of locked memory: enough for the packets of the datagrams, not for those
# that connections send from. (Who has CAP_IPC_LOCK is exempt.)
LITTLE=(prlimit --memlock=8388608:8388608 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)
job_little_locked_memory() {
  local said
  said=$(job 2 2 shm,rc,ud,tcp "${LITTLE[@]}" "$bin/esp-info") || return 1
  echo "$said"
  grep -q "^rdma .*no connections: rxe0: ibv_reg_mr: .*ulimit -l" <<< "$said" &&
    grep -q "rank 1 .* ud by rxe0:1" <<< "$said" || return 1
  job 4 2 shm,rc,ud,tcp "${LITTLE[@]}" "$probe" collect
}
# The first that was named is there, and cannot be opened.
job_second_device() {
  local said
  local -x REFUSED_DEVICE=rxe7 LD_PRELOAD=$bin/device_gone.so
  # shellcheck disable=SC2016  # by the rank's shell
  local second=(bash -c 'ESPALIER_DEVICE=rxe7,$ESPALIER_DEVICE exec "$@"' -)
  said=$(job 2 2 shm,rc,ud "${second[@]}" "$bin/esp-info" 2>&1) || return 1
  echo "$said"
  grep -q "rxe0:1 instead of: rxe7: ibv_create_qp (UD): " <<< "$said" &&
    grep -q "^rdma  *rxe0:1 RoCE, active" <<< "$said" &&
    job 2 2 shm,rc,ud "${second[@]}" "$probe" collect
}
# Memory of the played device of GPUs, which the adapters of this guest read and write by a played
# registration (played_dma_buf.cpp); without that Soft-RoCE takes none, and it goes by the host.
directly() {
  local played=$bin/../played/libcuda.so.1
  LIMIT=180 DEVICE_LIBRARY=$played ESPALIER_CUDA_DRIVER=$played job "$@"
}
job_devices_directly() {
  local -x LD_PRELOAD=$bin/played_dma_buf.so
  directly 3 3 rc,ud "$bin/device_direct" collectives told messages mixed &&
    directly 6 3 shm,rc,ud "$bin/device_shared" mixed
}
job_devices_directly_loss_1() {
  local -x LD_PRELOAD=$bin/played_dma_buf.so ESPALIER_RDMA_ACK_TIMEOUT=12
  network loss 1%
  directly 3 3 rc,ud "$bin/device_direct" collectives mixed
  local how=$?
  network
  return "$how"
}
# From the host to devices, by multicast.
job_devices_by_multicast() {
  local -x LD_PRELOAD=$bin/played_dma_buf.so ESPALIER_MULTICAST=on
  directly 4 4 rc,ud "$bin/device_direct" by_group || return 1
  network loss 1%
  directly 4 4 rc,ud "$bin/device_direct" by_group
  local how=$?
  network
  LD_PRELOAD='' EXPECT_DIRECT=0 directly 4 4 rc,ud "$bin/device_direct" by_group && return "$how"
}
job_devices_by_the_host() {
  local -x EXPECT_DIRECT=0
  directly 3 3 rc,ud "$bin/device_direct" collectives told messages mixed &&
    PLAYED_DMA_BUF=22 LD_PRELOAD=$bin/played_dma_buf.so \
      directly 3 3 rc,ud "$bin/device_direct" collectives told mixed
}

# Nobody names a device: each rank takes one of the nearest, ranks of a node different ones.
job_devices_chosen_automatically() {
  local said
  local -x ESPALIER_WIRES=rc,ud ESPALIER_TIMEOUT=20
  said=$("$run" --timeout 60 --tag -n 4 "$bin/esp-info" --every-rank) || return 1
  echo "$said"
  (($(sed -n 's/.*rdma  *\(rxe[0-7]\):1 RoCE, active.*/\1/p' <<< "$said" |
    sort -u | wc -l) == 4)) &&
    "$run" --timeout 60 -n 4 "$probe" collect
}
job_esp_info() {
  local said
  said=$(WITHOUT="2" job 3 3 shm,rc,ud,tcp "$bin/esp-info") || return 1
  echo "$said"
  grep -q "^rdma  *rxe0:1 RoCE, active" <<< "$said" &&
    grep -q "rank 1 .* rc by rxe0:1.*ud: not needed, tcp: not needed" <<< "$said" &&
    grep -q "rank 2 .* tcp, .*rc: not open there, ud: not open there" <<< "$said"
}
# One connection for three peers: exactly what is said of the others.
job_esp_info_few_connections() {
  local said beyond
  said=$(ESPALIER_RDMA_CONNECTIONS=1 job 4 4 shm,rc,ud "$bin/esp-info") || return 1
  echo "$said"
  beyond=$(grep "^  rank [123] .* ud by rxe0:1, " <<< "$said")
  # The one may be the partner of another by now.
  local why="rc: \(others have this rank's connections\|no queue pair left\)"
  (($(wc -l <<< "$beyond") >= 2)) && grep -q "others have this rank's connections" <<< "$beyond" &&
    ! grep -v "datagrams of 4096 bytes, .* (shm: another node, $why, tcp: excluded by WIRES)$" \
      <<< "$beyond"
}
# Connections of a tree over the nodes, counted at the end: two ends per edge between heads, at most
# as many as a head has neighbours (the root: 3), and none of anybody else.
job_connections_16_ranks_8_nodes() {
  local said code=0
  said=$(ESPALIER_COUNTERS=1 ESPALIER_MULTICAST=off \
    job 16 8 shm,rc,ud "$probe" tree 2>&1) || code=$?
  echo "$said"
  ((code == 0)) || return 1
  sed -n 's/^espalier\[\([0-9]*\)\].* queue_pairs \([0-9]*\).*/\1 \2/p' <<< "$said" | sort -n |
    awk '{ print "rank " $1 ": " $2 " queue pairs"; sum += $2 }
    $1 % 2 == 0 && ($2 < 1 || $2 > degree[$1 / 2]) || $1 % 2 == 1 && $2 > 0 { wrong = 1 }
    BEGIN { split("3 1 2 1 3 1 2 1", list); for (i in list) degree[i - 1] = list[i] }
    END { exit wrong || sum != 14 }'
}
# Every fault meets small and large jobs, over connections and over datagrams alone.
job_loss_0_1_rc() { bad 3 3 shm,rc,ud loss 0.1%; }
job_loss_0_1_ud() { bad 2 2 shm,ud loss 0.1%; }
job_loss_0_1_rc_8_ranks() { bad 8 4 shm,rc,ud loss 0.1%; }
job_loss_1_rc() { bad 2 2 shm,rc,ud loss 1%; }
job_loss_1_ud() { bad 3 3 shm,ud loss 1%; }
job_loss_1_ud_8_ranks() { bad 8 4 shm,ud loss 1%; }
job_loss_5_rc() { bad 3 3 shm,rc,ud loss 5%; }
job_loss_5_ud() { bad 2 2 shm,ud loss 5%; }
job_loss_5_rc_16_ranks() { bad 16 8 shm,rc,ud loss 5%; }
job_duplicates_rc() { bad 2 2 shm,rc,ud duplicate 5%; }
job_duplicates_ud() { bad 3 3 shm,ud duplicate 5%; }
job_duplicates_ud_8_ranks() { bad 8 4 shm,ud duplicate 5%; }
job_reordered_rc() { bad 3 3 shm,rc,ud delay 1ms reorder 80%; }
job_reordered_ud() { bad 2 2 shm,ud delay 1ms reorder 80%; }
job_reordered_ud_16_ranks() { bad 16 8 shm,ud delay 1ms reorder 80%; }
job_delayed_rc() { bad 2 2 shm,rc,ud delay 1ms; }
job_delayed_ud() { bad 3 3 shm,ud delay 1ms; }
job_delayed_rc_8_ranks() { bad 8 4 shm,rc,ud delay 1ms; }
# TCP between namespaces, where the kernel of the machine has no netem.
job_namespaces_netem_tcp() {
  ESPALIER_WIRES=shm,tcp "$here/../../nodes/namespaces.sh" "$bin/nodes_probe" netem
}
job_killed_rc() { fault 3 4 2 shm,rc,ud die small kill; }
job_killed_ud() { fault 3 4 4 shm,ud die small kill; }
job_killed_large_rc() { fault 3 4 4 rc,ud die bcast kill; }
job_killed_large_reduce_rc() { fault 3 4 4 rc,ud die reduce kill; }
job_killed_large_ud() { fault 3 4 4 ud die allreduce kill; }
job_killed_between_nodes_and_memory() { fault 3 4 2 shm,rc,ud die allreduce kill; }
job_stopped_inside_rc() { ESPALIER_TIMEOUT=6 fault 3 4 4 rc,ud stop allreduce inside; }
job_stopped_rc() { ESPALIER_TIMEOUT=6 fault 3 4 2 shm,rc,ud stop small; }
job_stopped_inside_ud() { ESPALIER_TIMEOUT=6 fault 3 4 4 shm,ud stop allreduce inside; }
job_stopped_inside_bcast_ud() { ESPALIER_TIMEOUT=6 fault 3 4 4 shm,ud stop bcast inside; }
# To this side a rank that is silent for longer than it may is dead; why stands in the log.
job_silence_is_warned_of() {
  local said
  said=$(NODES=4 ESPALIER_WIRES=shm,ud ESPALIER_TIMEOUT=25 ESPALIER_RDMA_SILENCE=1 "$run" \
    --timeout 60 -n 4 --nodes 4 /tmp/node "$fault" stop small 2>&1)
  echo "$said"
  grep -q "warning: rank 1 is lost: .*it has answered nothing for 1 s (RDMA_SIL" <<< "$said"
}
job_silence_ends_waits_for_words() {
  ESPALIER_RDMA_SILENCE=1 fault 1 2 2 shm,ud await stop &&
    ESPALIER_RDMA_SILENCE=1 fault 1 2 2 shm,rc,ud await stop
}
# Who asks for an address that no port has goes on without, and is told.
job_wrong_gid_is_warned_of() {
  local said
  said=$(ESPALIER_GID_INDEX=77 ESPALIER_WIRES=shm,rc,ud,tcp "$run" --timeout 60 -n 2 --nodes 2 \
    "$bin/esp-info" 2>&1) || return 1
  echo "$said"
  grep -q "warning: RDMA cannot be used: rxe0:1: .*77" <<< "$said" &&
    grep -q "rank 1 .* tcp" <<< "$said"
}
# Devices that are neither InfiniBand nor RoCE, and ports whose address nobody could send to (0: no
# known link layer; 1: InfiniBand, where these have no LID): the job goes on by TCP.
played_link() {
  local said
  local -x PLAYED_LINK_LAYER=$1 LD_PRELOAD=$bin/device_gone.so
  local -x ESPALIER_WIRES=shm,rc,ud,tcp
  said=$("$run" --timeout 60 -n 2 --nodes 2 "$bin/esp-info" 2>&1) || return 1
  echo "$said"
  grep -q "rank 1 .* tcp, .*not here: .*rxe0:1: $2" <<< "$said" &&
    "$run" --timeout 60 -n 4 --nodes 2 "$probe" collect
}
job_devices_of_another_kind() { played_link 0 "it is neither InfiniBand nor RoCE"; }
job_addresses_without_sense() { played_link 1 "it would have an RDMA address with a bad LID"; }
# Devices that refuse inline data after a while: each rank says it once, and all goes on.
inline_refused() {
  local said
  local -x INLINE_POSTS=20 LD_PRELOAD=$bin/device_gone.so
  said=$(job 3 3 "$1" "$probe" collect 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  sed -n 's/^espalier\[\([0-9]\)\] warning: rxe\1: a send with inline data .*/\1/p' <<< "$said" |
    sort | cmp - <(seq 0 2)
}
job_inline_refused_rc() { inline_refused rc,ud; }
job_inline_refused_ud() { inline_refused ud; }
# The counters say what the settings did: of the ranks of both jobs those of the first register.
register() { ESPALIER_COUNTERS=1 job 2 2 rc,ud "$probe" register "$1" 2>&1; }
job_counters_of_the_cache() {
  local cached copied
  cached=$(ESPALIER_RDMA_CACHE_BYTES=64M register 40) || { echo "$cached"; return 1; }
  copied=$(register 2) || { echo "$copied"; return 1; }
  echo "$cached"
  echo "$copied"
  (($(grep -c "^espalier.* packet_bytes [1-9]" <<< "$cached"$'\n'"$copied") == 4)) &&
    (($(grep -c "^espalier.* registrations [1-9]" <<< "$cached") == 2)) &&
    [[ $copied != *registrations* ]]
}

# begin COMMAND...: in the background, -> pid; back when the job calculates.
begin() {
  "$@" > /tmp/said 2>&1 &
  pid=$!
  until grep -q begun /tmp/said; do
    kill -0 "$pid" 2> /dev/null || break
    sleep 0.1
  done
  sleep 0.5
}
end() {
  local code=0
  wait "$pid" || code=$?
  cat /tmp/said
  return "$code"
}
# cut WIRES: the link of node 1 goes down under a job, for good; all of its ranks end by themselves.
cut() {
  local code=0
  ESPALIER_RDMA_SILENCE=2 ESPALIER_RDMA_ACK_TIMEOUT=12 begin job 3 3 "$1" "$probe" lose 1
  ip link set n1 down
  end || code=$?
  link_up 1
  grep -q "espalier\[1\].* rank [02] is lost: .*; this rank's own port is down" /tmp/said ||
    return 1
  return "$code"
}
job_link_down_rc() { cut shm,rc,ud; }
job_link_down_ud() { cut shm,ud; }
# The device of rank 0 goes, for good, and nothing else: the ranks of each node go on.
gone() {
  ESPALIER_SPIN_US=0 ESPALIER_YIELD_US=0 ESPALIER_RDMA_SILENCE=4 LD_PRELOAD=$bin/device_gone.so \
    job 4 2 "$1" "$probe" gone
}
job_device_gone_rc() { gone shm,rc,ud; }
job_device_gone_ud() { gone shm,ud; }
# The same for a second, which the job cannot end in; it goes on, and its connections are made anew.
flap() {
  local flaps code=0
  local -x UNTIL=/tmp/link_is_up
  rm -f "$UNTIL"
  flaps=$(< /sys/class/net/n1/carrier_down_count)
  ESPALIER_COUNTERS=1 ESPALIER_RDMA_ACK_TIMEOUT=12 begin job 3 3 "$1" "$probe" last 4
  ip link set n1 down
  sleep 1
  kill -0 "$pid" || code=1
  link_up 1 || code=1
  touch "$UNTIL"
  end || code=$?
  flaps=$(($(< /sys/class/net/n1/carrier_down_count) - flaps))
  echo "node 1 lost its link $flaps times"
  ((flaps > 0)) || code=1
  return "$code"
}
job_link_down_and_up_rc() {
  flap shm,rc,ud || return 1
  # Node 1 has two peers.
  (($(sed -n 's/^espalier\[1\].* queue_pairs \([0-9]*\).*/\1/p' /tmp/said) > 2))
}
job_link_down_and_up_ud() { flap shm,ud; }

# Nodes publish by multicast. to_groups FUNCTION ARGUMENTS...: a function of this file does so.
to_groups() {
  local -x ESPALIER_MULTICAST=${MULTICAST:-on}
  local probe=$multicast
  "$@"
}
# once RANKS WIRES: as the adapters count, too.
once() { LIMIT=180 COUNTED=yes to_groups ready_job "$1" "$1" "$2" "$multicast" collect; }
job_multicast_rc_4_nodes() { once 4 rc,ud; }
job_multicast_rc_8_nodes() { once 8 rc,ud; }
job_multicast_ud_4_nodes() { once 4 ud; }
job_multicast_ud_8_nodes() { once 8 ud; }
# From one byte to 64 MiB, and from three sources at once.
sizes() { LIMIT=300 ESPALIER_TIMEOUT=120 to_groups job 4 4 "$1" "$multicast" sizes 64; }
job_multicast_sizes_rc() { sizes rc,ud; }
job_multicast_sizes_ud() { sizes ud; }
job_multicast_rc_6_ranks_3_nodes() {
  MAP=random:7 to_groups job 6 3 shm,rc,ud "$multicast" collect
}
job_multicast_off() { MULTICAST=off to_groups job 3 3 rc,ud "$multicast" none; }
job_multicast_two_nodes() { to_groups job 2 2 rc,ud "$multicast" none; }
job_multicast_teams_rc() { to_groups job 6 6 rc,ud "$multicast" teams; }
job_multicast_teams_ud() { to_groups job 6 6 ud "$multicast" teams; }
job_multicast_few_groups_rc() {
  ESPALIER_MULTICAST_GROUPS=2 to_groups job 4 4 rc,ud "$multicast" teams
}
job_multicast_loss_0_1_rc() { to_groups bad 4 4 rc,ud loss 0.1%; }
job_multicast_loss_1_rc() { to_groups bad 4 4 rc,ud loss 1%; }
job_multicast_loss_1_ud() { to_groups bad 4 4 ud loss 1%; }
job_multicast_loss_5_rc() { to_groups bad 4 4 rc,ud loss 5%; }
job_multicast_loss_5_ud() { to_groups bad 4 4 ud loss 5%; }
job_multicast_duplicates_rc() { to_groups bad 4 4 rc,ud duplicate 5%; }
job_multicast_duplicates_ud() { to_groups bad 4 4 ud duplicate 5%; }
job_multicast_reordered_rc() { to_groups bad 4 4 rc,ud delay 1ms reorder 80%; }
job_multicast_reordered_ud() { to_groups bad 4 4 ud delay 1ms reorder 80%; }
job_multicast_placed_rc() { ESPALIER_MULTICAST=on job 4 4 rc,ud "$probe" placed; }
job_multicast_placed_ud() { ESPALIER_MULTICAST=on job 4 4 ud "$probe" placed; }
job_multicast_placed_loss_1_rc() {
  network loss 1% && ESPALIER_MULTICAST=on job 4 4 rc,ud "$probe" placed
}
job_multicast_link_down_and_up_rc() { to_groups flap rc,ud; }
job_multicast_link_down_and_up_ud() { to_groups flap ud; }
broken() {  # EXPECTED_OK WIRES MODE
  local -x NODES=5 ESPALIER_WIRES=$2 ESPALIER_MULTICAST=on
  "$here/../../proc/fault.sh" "$run" "$1" 5 /tmp/node "$multicast" "$3"
}
job_multicast_killed_rc() { broken 4 rc,ud die; }
job_multicast_killed_ud() { broken 4 ud die; }
job_multicast_stopped_rc() { broken 5 rc,ud stop; }
job_multicast_stopped_ud() { broken 5 ud stop; }
job_multicast_slow_rc() { broken 5 rc,ud slow; }
# Says how much of broadcasts of several sources overlaps.
job_multicast_overlap() {
  local nodes
  for nodes in 2 4; do
    to_groups job "$nodes" "$nodes" rc,ud "$multicast" measure 2 &&
      MULTICAST=off to_groups job "$nodes" "$nodes" rc,ud "$multicast" measure 2 || return 1
  done
}

filters=${ESPALIER_VM_FILTER:-*} failed=0
unset ESPALIER_VM_FILTER
is_wanted() {  # NAME
  local filter
  while IFS= read -r filter; do
    # shellcheck disable=SC2053  # a pattern
    [[ $1 == $filter ]] && return
  done <<< "${filters//:/$'\n'}"
  return 1
}
for name in $(declare -F | sed -n 's/^declare -f job_//p'); do
  is_wanted "Jobs.$name" || continue
  echo "[ RUN      ] Jobs.$name"
  begin=$(date +%s%N)
  verdict="      OK "
  "job_$name" 2>&1 || { verdict="  FAILED  "; failed=1; }
  network
  echo "[$verdict] Jobs.$name ($((($(date +%s%N) - begin) / 1000000)) ms)"
done
echo "[==========]"
exit $failed
