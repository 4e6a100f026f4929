#!/usr/bin/env bash
# one_rank.sh DENY_CMA PROGRAM ARGS...: a rank of a job in which rank 1 may not read others' memory.
deny=$1
shift
if [ "${PMIX_RANK:?}" = 1 ]; then exec "$deny" EPERM "$@"; else exec "$@"; fi
