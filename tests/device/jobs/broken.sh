#!/bin/sh
# broken.sh PROGRAM...: as a rank of a job; at rank 0 the played driver refuses a copy.
[ "$PMIX_RANK" -gt 0 ] || export PLAYED_CUDA_FAIL=cuMemcpyAsync:9:2
exec "$@"
