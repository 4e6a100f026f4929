#!/usr/bin/env bash
# Measures calls on memory of a device (GPU) in at most five minutes, and writes OUT/gpu.md:
# bench/device/device.py. The driver is the library that ESPALIER_CUDA_DRIVER names, libcuda.so.1 if
# it is not set; on a played one (tests/played_cuda) the page says that no figure means anything.
# Usage: bench/device.sh BUILD OUT [--smoke]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 2 ] || { echo "usage: bench/device.sh BUILD OUT [--smoke]" >&2; exit 2; }
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/device/device.py" --build "$1" --out "$2" "${@:3}"
