#!/bin/sh
# broken.sh FAILURES PROGRAM...: as a rank of a job; at rank 0 the played driver fails so.
[ "$PMIX_RANK" -gt 0 ] || export PLAYED_CUDA_FAIL="$1"
shift
exec "$@"
