#!/usr/bin/env bash
# limits.sh LIMIT ESP_RUN PROGRAM ARGS...: a job under a limit of the system. All ranks must report
# OK, in time, and leave nothing in /dev/shm. LIMIT: what `ulimit` takes, or a state of /dev/shm:
# "tiny" or "read-only". Code 77: such a state cannot be made here.
set -u
limit=$1 esp_run=$2
shift 2
ranks=4

# The part within the limit. /dev/shm: a mount that only this process and its children see.
if [ "${inside:-}" = "" ]; then
  export inside=yes
  case $limit in
    tiny | read-only)
      unshare -Urm true 2>/dev/null || { echo "SKIP: no user namespaces here"; exit 77; }
      exec unshare -Urm "$0" "$limit" "$esp_run" "$@"
      ;;
  esac
fi
no_mount() { echo "SKIP: no mount may be made here"; exit 77; }
case $limit in
  tiny) mount -t tmpfs -o size=4k none /dev/shm || no_mount ;;
  read-only) mount -t tmpfs -o ro none /dev/shm || no_mount ;;
esac

names() { find /dev/shm -name '*esp*' 2>/dev/null | sort; }
before=$(names)
run() { "$esp_run" --keep-going --timeout 60 -n "$ranks" "$@" 2>&1; }
case $limit in
  tiny | read-only) output=$(run "$@") ;;
  *)
    # For the ranks only: what the launcher needs is another matter.
    output=$(run bash -c "ulimit $limit && exec \"\$@\"" limited "$@")
    ;;
esac
code=$?
echo "$output"
ok=$(grep -c '^OK ' <<<"$output")
if [ "$code" = 124 ] || [ "$ok" != "$ranks" ] || grep -q '^BAD ' <<<"$output"; then
  echo "FAILED: $ok of $ranks ranks OK, exit code $code"
  exit 1
fi
if [ "$(names)" != "$before" ]; then
  echo "FAILED: left in /dev/shm: $(names)"
  exit 1
fi
