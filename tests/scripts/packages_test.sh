#!/usr/bin/env bash
# packages_test.sh SOURCE_FOLDER: what ./run does about packages on several systems. The system is
# a folder of stand-ins in front of $PATH and a file in the place of /etc/os-release; apt-get notes
# its calls in `calls`.
set -euo pipefail
source_folder=$1
# shellcheck source=tests/scripts/expect.sh
source "${BASH_SOURCE[0]%/*}/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$source_folder"

# The system at hand; a test changes one thing in a subshell.
name='Debian GNU/Linux 12 (bookworm)' id=debian root=yes
bin=$folder/bin
export CALLS=$folder/calls
stand_in "$bin" apt-get << 'END'
echo "apt-get $*" >> "$CALLS"
[[ -z ${NO_NETWORK:-} ]]
END
stand_in "$bin" dpkg-query << 'END'
printf 'installed %s\n' ${INSTALLED:-}
exit 1
END
stand_in "$bin" cmake << 'END'
echo "cmake version ${CMAKE_VERSION:-3.25.1}"
END
stand_in "$bin" pkg-config << 'END'
[[ $2 != "${NO_LIBRARY:-}" ]]
END
for tool in c++ ninja python3 clang++-16; do stand_in "$bin" $tool <<< true; done
for tool in bash env sed grep sort; do ln -s "$(command -v $tool)" "$bin/$tool"; done

# ensure SET...: as ./run calls it, on the system at hand.
ensure() (
  say() { echo "== $*"; }
  die() {
    echo "run: $*"
    exit 1
  }
  source scripts/packages.sh
  # shellcheck disable=SC2034  # packages.sh reads it
  os_release=$folder/os-release
  printf 'PRETTY_NAME="%s"\nID=%s\n' "$name" "$id" > "$os_release"
  is_root() { [[ $root == yes ]]; }
  rm -f "$CALLS"
  PATH=$bin
  ensure_packages "$@"
  echo 'all is there'
)

calls() (  # SET...: what was called for them
  ensure "$@" > /dev/null
  [[ ! -e $CALLS ]] || cat "$CALLS"
  echo end
)

# Debian, as root: installs what is missing, and nothing else.
expect 0 '^== installing cmake g\+\+ ' ensure build
expect 0 'apt-get .*install --yes --no-install-recommends cmake g\+\+ ' calls build
INSTALLED=$(awk '$1 == "build" { print $2 }' cmake/packages.txt)
export INSTALLED
expect 0 '^all is there' ensure build
[[ $(calls build) == end ]] || { echo "FAILED: $(calls build)" && failures=1; }
expect 0 '^== installing clang-16 clang-format-16 clang-tidy-16 shellcheck$' ensure build lint
unset INSTALLED

# Without network, or with a newer system that lacks a package.
export NO_NETWORK=yes
expect 1 '^ +apt-get install --no-install-recommends cmake ' ensure build
expect 1 'It needs a network' ensure build
name='Debian GNU/Linux 13 (trixie)' expect 1 'this is Debian GNU/Linux 13 \(trixie\)' ensure build
unset NO_NETWORK

# Not root: with sudo, and without.
root=no
expect 1 'neither root nor sudo to install them. Ask for:' ensure build
expect 1 '^ +apt-get install --no-install-recommends cmake g' ensure build
stand_in "$bin" sudo << 'END'
echo sudo >> "$CALLS"
shift
"$@"
END
expect 0 '^sudo' calls build
root=yes

# Another system: nothing is installed, and the message names what is missing.
id=fedora name='Fedora Linux 40'
expect 0 '^all is there' ensure build
expect 0 '^all is there' ensure build test
NO_LIBRARY=pmix expect 1 '^run: missing: library pmix' ensure build
NO_LIBRARY=pmix expect 1 'this is Fedora Linux 40. Install these by' ensure build
NO_LIBRARY=gtest expect 0 '^all is there' ensure build
NO_LIBRARY=gtest expect 1 'missing: library gtest' ensure build test
expect 1 'missing: clang-tidy-16' ensure build lint
CMAKE_VERSION=3.22.1 expect 1 'CMake 3.25 or newer is needed, and this is 3.22.1' ensure build
CMAKE_VERSION=3.100.0 expect 0 '^all is there' ensure build
exit $((failures > 0))
