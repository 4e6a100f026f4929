#!/usr/bin/env bash
# rank_setting.sh NAME=VALUE PROGRAM ARGS...: a rank of a job in which rank 1 has a setting of its
# own.
setting=$1
shift
if [ "${PMIX_RANK:?}" = 1 ]; then exec env "ESPALIER_$setting" "$@"; else exec "$@"; fi
