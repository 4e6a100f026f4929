# shellcheck shell=bash
# Sourced by rxe-run: the kernel of the guest, its modules and its initial file system.
#
# They are made from Debian's kernel package, which is fetched (not installed) by apt: about 70 MB,
# ten seconds. A cache is made beside its place and moved there whole, so that several calls at
# once and calls that are ended leave nothing half done. It is made again when this file changes.

# The device, below it the network with its faults, and what is needed to see this machine's files.
guest_modules=(rdma_rxe rdma_ucm ib_uverbs crc32_generic crc32_pclmul veth bridge sch_netem)
early_modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay)

# fetch_kernel FOLDER [APT OPTIONS...]: the package behind linux-image-amd64, into FOLDER.
fetch_kernel() {
  local folder=$1 name
  shift
  name=$(apt-cache "$@" depends linux-image-amd64 2> /dev/null |
    sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
  [[ -n $name ]] || return 1
  (cd "$folder" && timeout 240 apt-get -qq -o APT::Sandbox::User=root "$@" download "$name") >&2
}

# The system's package lists may be missing or old, and only root may renew them: then own ones.
fetch_kernel_somehow() {  # FOLDER
  local own=(-o "Dir::State::Lists=$1/lists" -o "Dir::Cache=$1/cache")
  fetch_kernel "$1" 2> /dev/null && return
  mkdir -p "$1"/lists/partial "$1"/cache/archives/partial
  timeout 240 apt-get -qq "${own[@]}" -o APT::Sandbox::User=root update > /dev/null 2>&1 || return 1
  fetch_kernel "$1" "${own[@]}"
}

module_files() {  # TREE VERSION MODULE... -> the files to load, in order
  local tree=$1 version=$2 module
  shift 2
  for module; do
    modprobe -d "$tree" -S "$version" --show-depends "$module" || return 1
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

make_initial_files() {  # TREE VERSION FOLDER
  local tree=$1 version=$2 folder=$3 file name
  mkdir -p "$folder"/{bin,modules,proc,sys,dev,lower,overlay,root}
  cp "$(command -v busybox)" "$folder/bin/busybox"
  install -m 755 "${here:?}/guest_init" "$folder/init"
  for file in $(module_files "$tree" "$version" "${early_modules[@]}"); do
    name=$(basename "${file%.xz}")
    case $file in
      *.xz) xz -dc "$file" > "$folder/modules/$name" ;;
      *) cp "$file" "$folder/modules/$name" ;;
    esac
    echo "$name" >> "$folder/modules/order"
  done
}

# Keeps of all modules those that a guest may want.
make_module_tree() {  # TREE VERSION TARGET
  local tree=$1 version=$2 target=$3 file
  for file in $(module_files "$tree" "$version" "${early_modules[@]}" "${guest_modules[@]}"); do
    install -D -m 644 "$file" "$target/${file#"$tree"/}"
  done
  cp "$tree/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} \
    "$target/lib/modules/$version"
  depmod -b "$target" "$version"
}

make_cache() {  # FOLDER
  local folder=$1 version package
  mkdir -p "$folder"/{package,tree,initial}
  fetch_kernel_somehow "$folder/package" ||
    cannot "apt cannot fetch the kernel package (linux-image-amd64)"
  package=$(compgen -G "$folder/package/linux-image-*.deb" | head -n 1)
  dpkg-deb -x "$package" "$folder/tree"
  version=$(basename "$folder"/tree/boot/vmlinuz-*)
  version=${version#vmlinuz-}
  python3 "$here/unpack_kernel.py" "$folder/tree/boot/vmlinuz-$version" "$folder/vmlinux"
  depmod -b "$folder/tree" "$version"
  make_module_tree "$folder/tree" "$version" "$folder/modules" 2> /dev/null ||
    cannot "the kernel $version lacks one of the modules ${early_modules[*]} ${guest_modules[*]}"
  make_initial_files "$folder/tree" "$version" "$folder/initial"
  (cd "$folder/initial" && find . | LC_ALL=C sort | cpio -o -H newc --quiet) \
    > "$folder/initramfs.cpio"
  rm -rf "$folder"/{package,tree,initial}
  echo "$version" > "$folder/version"
}

# fill_cache FOLDER -> `cache`, the folder with vmlinux, initramfs.cpio and modules; `version`
fill_cache() {
  local made
  mkdir -p "$1" 2> /dev/null || cannot "cannot make the folder $1"
  cache=$(realpath "$1")/$(cat "$here"/{kernel_cache.sh,guest_init,unpack_kernel.py} | cksum |
    cut -d ' ' -f 1)
  if [[ ! -s $cache/version ]]; then
    echo "rxe-run: preparing a kernel in $cache" >&2
    made=$(mktemp -d "$1/making.XXXXXX")
    # shellcheck disable=SC2064  # this folder, whatever the variable holds then
    trap "rm -rf '$made'" EXIT
    (set -e && make_cache "$made") || exit
    mv -T "$made" "$cache" 2> /dev/null || [[ -s $cache/version ]] || cannot "cannot write $cache"
    rm -rf "$made"
    trap - EXIT
  fi
  version=$(< "$cache/version")
}
