#!/bin/sh
# broken.sh FAILURES PROGRAM...: as a rank of a job; at rank BROKEN_RANK (0) the driver fails so.
[ "$PMIX_RANK" -ne "${BROKEN_RANK:-0}" ] || export PLAYED_CUDA_FAIL="$1"
shift
exec "$@"
