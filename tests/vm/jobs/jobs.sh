#!/usr/bin/env bash
# jobs.sh FOLDER: jobs of several processes over RDMA, in a guest with 8 nodes (tests/vm/rxe-run).
# FOLDER holds the programs. Says how each case went as googletest does, so that vm_tests.py finds
# it; every function job_NAME is a case. ESPALIER_VM_FILTER: cases to run, by name, with * and ?.
# shellcheck disable=SC2317  # the cases are called by their names
set -u
bin=$1 run=$1/esp-run probe=$1/jobs_probe fault=$1/fault_probe
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
export ESPALIER_TIMEOUT=60

# Before a rank: it takes the device of its node. Ranks of the nodes $WITHOUT find none.
cat > /tmp/node <<'END'
#!/bin/bash
node=$((PMIX_RANK * NODES / RANKS))
export ESPALIER_DEVICE=rxe$node
case " ${WITHOUT:-} " in
  *" $node "*)
    unset ESPALIER_DEVICE
    exec unshare -m bash -c 'mount -t tmpfs none /dev/infiniband && exec "$@"' - "$@" ;;
esac
exec "$@"
END
chmod +x /tmp/node

# job RANKS NODES WIRES COMMAND...: all ranks must end well.
job() {
  local -x RANKS=$1 NODES=$2 ESPALIER_WIRES=$3
  shift 3
  "$run" --timeout 90 -n "$RANKS" --nodes "$NODES" /tmp/node "$@"
}
# fault EXPECTED_OK RANKS NODES WIRES MODE...: as tests/proc/fault.sh.
fault() {
  local expected=$1
  local -x RANKS=$2 NODES=$3 ESPALIER_WIRES=$4
  shift 4
  "$here/../../proc/fault.sh" "$run" "$expected" "$RANKS" /tmp/node "$fault" "$@"
}
# On the way from every node; nothing: a good network again.
network() {
  local i
  for i in {0..7}; do
    if (($#)); then
      tc qdisc replace dev "n$i" root netem "$@" || return 1
    else
      tc qdisc del dev "n$i" root 2> /dev/null
    fi
  done
  return 0
}
# bad WIRES NETEM...: a job on 3 such nodes.
bad() {
  local wires=$1
  shift
  network "$@" && ESPALIER_RDMA_ACK_TIMEOUT=12 job 3 3 "$wires" "$probe" collect
}
link_up() { ip link set "n$1" up && ip -batch "/run/routes-n$1"; }

job_rc_and_ud_2_ranks_2_nodes() { job 2 2 shm,rc,ud "$probe" collect; }
job_rc_and_ud_8_ranks_4_nodes() { job 8 4 shm,rc,ud,tcp "$probe" collect; }
job_rc_and_ud_16_ranks_8_nodes() { job 16 8 shm,rc,ud "$probe" collect; }
job_ud_alone_4_ranks_2_nodes() { job 4 2 shm,ud "$probe" collect; }
job_ud_alone_8_ranks_8_nodes() { job 8 8 shm,ud "$probe" collect; }
job_rc_alone_4_ranks_4_nodes() { job 4 4 shm,rc "$probe" collect; }
job_rc_without_shared_memory_4_ranks() { job 4 2 rc,ud "$probe" collect; }
job_few_connections_6_ranks_6_nodes() {
  ESPALIER_RDMA_CONNECTIONS=1 job 6 6 shm,rc,ud "$probe" collect
}
job_flows_4_ranks_2_nodes() { job 4 2 shm,rc,ud "$bin/api_tests" flows; }
# One-sided operations and active messages.
job_regions_4_ranks_2_nodes() { job 4 2 shm,rc,ud "$bin/api_tests" regions; }
job_regions_ud() { job 4 4 ud "$bin/api_tests" regions; }
job_messages_4_ranks_2_nodes() { job 4 2 shm,rc,ud "$bin/api_tests" messages; }
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
job_esp_info() {
  local said
  said=$(WITHOUT="2" job 3 3 shm,rc,ud,tcp "$bin/esp-info")
  echo "$said"
  grep -q "^rdma  *rxe0:1 RoCE, active" <<< "$said" &&
    grep -q "rank 1 .* rc by rxe0:1.*ud: not needed, tcp: not needed" <<< "$said" &&
    grep -q "rank 2 .* tcp, .*rc: not open there, ud: not open there" <<< "$said"
}
job_loss_0_1_rc() { bad shm,rc,ud loss 0.1%; }
job_loss_0_1_ud() { bad shm,ud loss 0.1%; }
job_loss_1_rc() { bad shm,rc,ud loss 1%; }
job_loss_1_ud() { bad shm,ud loss 1%; }
job_loss_5_rc() { bad shm,rc,ud loss 5%; }
job_loss_5_ud() { bad shm,ud loss 5%; }
job_duplicates_rc() { bad shm,rc,ud duplicate 5%; }
job_duplicates_ud() { bad shm,ud duplicate 5%; }
job_reordered_rc() { bad shm,rc,ud delay 1ms reorder 80%; }
job_reordered_ud() { bad shm,ud delay 1ms reorder 80%; }
job_delayed_rc() { bad shm,rc,ud delay 1ms; }
job_delayed_ud() { bad shm,ud delay 1ms; }
job_killed_rc() { fault 3 4 2 shm,rc,ud die small kill; }
job_killed_ud() { fault 3 4 4 shm,ud die small kill; }
job_stopped_rc() { ESPALIER_TIMEOUT=2 fault 3 4 2 shm,rc,ud stop small; }
job_stopped_ud() { ESPALIER_TIMEOUT=2 fault 3 4 4 shm,ud stop small; }

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
  ESPALIER_TIMEOUT=3 ESPALIER_RDMA_ACK_TIMEOUT=12 begin job 3 3 "$1" "$probe" lose
  ip link set n1 down
  end || code=$?
  link_up 1
  return "$code"
}
job_link_down_rc() { cut shm,rc,ud; }
job_link_down_ud() { cut shm,ud; }
# The device of rank 0 goes, for good, and nothing else: the ranks of each node go on.
gone() {
  ESPALIER_SPIN_US=0 ESPALIER_YIELD_US=0 ESPALIER_TIMEOUT=5 LD_PRELOAD=$bin/device_gone.so \
    job 4 2 "$1" "$probe" gone
}
job_device_gone_rc() { gone shm,rc,ud; }
job_device_gone_ud() { gone shm,ud; }
# The same for a second; the job goes on.
flap() {
  ESPALIER_RDMA_ACK_TIMEOUT=12 begin job 3 3 "$1" "$probe" last 4
  ip link set n1 down
  sleep 1
  link_up 1
  end
}
job_link_down_and_up_rc() { flap shm,rc,ud; }
job_link_down_and_up_ud() { flap shm,ud; }

filter=${ESPALIER_VM_FILTER:-*} failed=0
unset ESPALIER_VM_FILTER
for name in $(declare -F | sed -n 's/^declare -f job_//p'); do
  # shellcheck disable=SC2254
  case Jobs.$name in $filter) ;; *) continue ;; esac
  echo "[ RUN      ] Jobs.$name"
  begin=$(date +%s%N)
  verdict="      OK "
  "job_$name" 2>&1 || { verdict="  FAILED  "; failed=1; }
  network
  echo "[$verdict] Jobs.$name ($((($(date +%s%N) - begin) / 1000000)) ms)"
done
echo "[==========]"
exit $failed
