#!/usr/bin/env bash
# Compares Espalier with Open MPI and MPICH: see --help, and docs/performance.md for the method.
# `run.sh nodes ...` does so over TCP between emulated nodes, `run.sh verbs ...` compares the RDMA
# transport with perftest.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
case ${1:-} in
  verbs) exec env PYTHONDONTWRITEBYTECODE=1 "$here/verbs/verbs.py" "${@:2}" ;;
  nodes) exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/nodes" "${@:2}" ;;
esac
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/driver" "$@"
