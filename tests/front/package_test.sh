#!/usr/bin/env bash
# package_test.sh BUILD_FOLDER: makes the Debian packages, and uses them in a clean root: Debian's
# minimal set, what the packages say they depend on, and a C compiler. Packages come from the mirror
# that this machine's apt uses.
set -euo pipefail
build=$1

skip() { echo "SKIP: $*" && exit 77; }
((EUID == 0)) || skip "a clean root is made by root only"
for program in mmdebstrap dpkg-shlibdeps file unshare; do
  command -v $program > /dev/null || skip "$program is not here (packages.txt, set package)"
done
unshare --mount --pid --fork true || skip "no namespaces for mounts and processes"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=/dev/null
suite=$(source /etc/os-release && echo "${VERSION_CODENAME:-}")
shopt -s nullglob
sources=(/etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources})
[[ -s ${sources[0]} ]] || unset 'sources[0]'
debootstrap() { mmdebstrap --mode=root --quiet --variant=minbase "$@" "${sources[@]}"; }
debootstrap --simulate "$suite" /dev/null 2> "$scratch/log" > /dev/null ||
  skip "no mirror of $suite: $(head -n 1 "$scratch/log")"

cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages" > "$scratch/log" 2>&1 ||
  { cat "$scratch/log" && exit 1; }
packages=("$scratch"/packages/*.deb)
for package in "${packages[@]}"; do
  dpkg-deb --field "$package" Package Version Depends
done

# Their names alone: whether the versions will do is what dpkg judges.
needed=$(dpkg-deb --field "$scratch"/packages/espalier_*.deb Depends | sed 's/ *([^)]*)//g; s/ //g')
root=$scratch/root
debootstrap --include="$needed,gcc,libc6-dev,pkg-config" "$suite" "$root"
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages"

cat > "$root/inside.sh" << 'END'
set -eux
dpkg -i /packages/*.deb
cd /tmp
examples=/usr/share/doc/espalier/examples
for name in esp-run esp-info esp-sim esp-noise esp-tune; do
  program=/usr/bin/$name
  ldd $program > libraries
  if grep 'not found' libraries; then exit 1; fi
  $program --help > /dev/null
  test -s /usr/share/man/man1/$name.1
done
test -s /usr/share/espalier/profiles/kowalewski-table-7.3.profile
cc -Wall -Werror $examples/hello_c/hello.c -o hello $(pkg-config --cflags --libs espalier)
esp-run -n 3 ./hello > said
test "$(grep -c '^hello from rank . of 3: answer 42, sum of ranks 3$' said)" = 3
esp-run -n 2 --nodes 2 ./hello > said
test "$(grep -c '^hello from rank . of 2: answer 42, sum of ranks 1$' said)" = 2
esp-cc $examples/hello_mpi/hello.c -o hello-mpi
esp-run -n 2 ./hello-mpi
# The usual names stand in a folder of their own.
test ! -e /usr/bin/mpirun
usual=$(dirname "$(find /usr/lib -path '*/espalier/mpi/bin')")
PATH=$usual/bin:$PATH mpicc -Wall -Werror $examples/jacobi/main.c -o jacobi
PATH=$usual/bin:$PATH mpirun -np 3 ./jacobi
cc $examples/hello_mpi/hello.c -o hello-usual -I"$usual/include" -L"$usual/lib" -lmpi \
  -Wl,-rpath,"$usual/lib"
esp-run -n 2 ./hello-usual
cc $examples/hello_mpi/hello.c -o hello-abi -I"$usual/include" -L"$usual/lib" -lmpi_abi
LD_LIBRARY_PATH=$usual/lib esp-run -n 2 ./hello-abi
dpkg --verify espalier libespalier-dev
test -z "$(dpkg --audit)"
# Programs run without the second package, and nothing stays of either.
dpkg -r libespalier-dev
esp-run -n 2 ./hello
dpkg --purge espalier libespalier-dev
test -z "$(find /usr /etc -name '*espalier*' -o -name 'esp-*')"
END
# The mounts end with their namespace.
# shellcheck disable=SC2016
unshare --mount --pid --fork bash -euc '
  mount -t proc proc "$1/proc"
  mount --rbind /sys "$1/sys"
  mount --rbind /dev "$1/dev"
  exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /inside.sh' - "$root"
echo "the packages work in a clean root of $suite"
