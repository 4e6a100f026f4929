#!/usr/bin/env bash
# Compares Espalier with Open MPI and MPICH on this machine: see --help, and docs/performance.md for
# the method. `run.sh nodes ...` does so over TCP between emulated nodes, `run.sh all` does both
# (--publish and --smoke go to both), `run.sh verbs ...` compares the RDMA transport with perftest,
# `run.sh threads ...` measures calls of several threads, `run.sh accel ...` other MPIs with and
# without the accelerator, `run.sh messages ...` messages matched by tag.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
export PYTHONDONTWRITEBYTECODE=1

both() {
  local option status=0
  for option in "$@"; do
    [[ $option == --publish || $option == --smoke ]] ||
      { echo "run.sh all: what is '$option'? --publish and --smoke go to both" >&2 && exit 2; }
  done
  python3 "$here/driver" "$@" || status=$?
  python3 "$here/nodes" "$@" || status=$?
  exit "$status"
}

case ${1:-} in
  accel) exec "$here/accel/accel.py" "${@:2}" ;;
  messages) exec "$here/messages/messages.py" "${@:2}" ;;
  threads) exec "$here/threads/threads.py" "${@:2}" ;;
  verbs) exec "$here/verbs/verbs.py" "${@:2}" ;;
  nodes) exec python3 "$here/nodes" "${@:2}" ;;
  all) both "${@:2}" ;;
esac
exec python3 "$here/driver" "$@"
