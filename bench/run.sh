#!/usr/bin/env bash
# Compares Espalier with Open MPI and MPICH: see --help, and docs/performance.md for the method.
# `run.sh verbs ...` compares the RDMA transport with perftest.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1:-} == verbs ]]; then
  exec env PYTHONDONTWRITEBYTECODE=1 "$here/verbs/verbs.py" "${@:2}"
fi
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/driver" "$@"
