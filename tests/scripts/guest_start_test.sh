#!/usr/bin/env bash
# guest_start_test.sh SOURCE_FOLDER: what rxe-run does about guests that do not come up. The guest
# is a stand-in for qemu that leaves what a guest would leave.
set -euo pipefail
source_folder=$1
# shellcheck source=tests/scripts/expect.sh
source "${BASH_SOURCE[0]%/*}/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export COUNT=$folder/count

# The first $HANGS guests hang.
bin=$folder/bin
stand_in "$bin" qemu-system-x86_64 << 'END'
for word; do
  [[ $word != local,id=run,path=* ]] || run=${word#local,id=run,path=}
done
run=${run%%,*}
echo start >> "$COUNT"
if (($(wc -l < "$COUNT") <= ${HANGS:-0})); then
  exec sleep 60
fi
touch "$run/ready"
echo "${CODE:-0}" > "$run/exit_code"
END
# Everything that rxe-run asks for is there, and the kernel.
for tool in busybox cpio modprobe xz rdma apt-get dpkg-deb; do stand_in "$bin" $tool <<< true; done
stand_in "$bin" ldd <<< false
stand_in "$bin" uname <<< 'echo x86_64'
cache=$folder/cache/$(cat "$source_folder"/tests/vm/{kernel_cache.sh,guest_init,unpack_kernel.py} |
  cksum | cut -d ' ' -f 1)
mkdir -p "$cache"
echo 6.1 > "$cache/version"

# guest EXIT_CODE STARTS HANGS: of a command that ends so, when so many guests hang.
guest() {
  : > "$COUNT"
  export CODE=$1 HANGS=$3
  PATH=$bin:$PATH expect "$1" "${4:-}" \
    "$source_folder/tests/vm/rxe-run" --cache "$folder/cache" --boot 4 -- true
  [[ $(wc -l < "$COUNT") -eq $2 ]] || {
    echo "FAILED: $3 hang: started $(wc -l < "$COUNT") times"
    failures=$((failures + 1))
  }
}
if ! compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' > /dev/null; then
  echo "SKIP: no provider of Soft-RoCE (ibverbs-providers)"
  exit 77
fi
guest 0 1 0
guest 7 1 0
guest 0 2 1 'not up after 4 s; another one is started'
guest 3 3 2
expect 2 'boot needs a positive number' "$source_folder/tests/vm/rxe-run" --boot soon -- true
exit $((failures > 0))
