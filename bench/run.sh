#!/usr/bin/env bash
# Compares Espalier with Open MPI and MPICH: see --help, and docs/performance.md for the method.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/driver" "$@"
