# shellcheck shell=bash
# Sourced by ./run: makes sure that the Debian packages of some sets of cmake/packages.txt are here.
# Elsewhere nothing can be installed, so it says what is missing. Tested in tests/scripts.

os_release=/etc/os-release

system_name() {
  local name
  name=$(sed -n 's/^PRETTY_NAME="\?\([^"]*\)"\?$/\1/p' "$os_release" 2> /dev/null || true)
  echo "${name:-an unknown system}"
}

packages_of() {  # SET... -> one package a line
  local sets=" $* " set package
  while read -r set package _; do
    [[ $sets == *" $set "* ]] && echo "$package"
  done < <(grep -v -e '^#' -e '^$' cmake/packages.txt) | sort -u
}

is_debian_like() {
  [[ -r $os_release ]] && command -v apt-get > /dev/null && command -v dpkg-query > /dev/null &&
    grep -q -E '^ID(_LIKE)?=.*(debian|ubuntu)' "$os_release"
}

is_root() { ((EUID == 0)); }

as_root() {
  if is_root; then "$@"; else sudo -- "$@"; fi
}

apt_install() {
  # A fresh machine may be busy with its first updates: wait for its lock.
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300
    install --yes --no-install-recommends "$@")
  # A fresh image has no package lists; with old ones the first attempt may fail: update, retry.
  compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null || as_root apt-get update
  as_root "${install[@]}" || { as_root apt-get update && as_root "${install[@]}"; }
}

# Debian-like systems install what is missing; this is for the others. Tests skip what they lack of
# further programs, and say so.
tools_of() {  # SET... -> one program or pkg-config module a line, the latter as "library NAME"
  local set tools=()
  for set in "$@"; do
    case $set in
      build)
        tools+=(c++ cmake ninja pkg-config python3)
        tools+=("library "{pmix,hwloc,fmt,CLI11,nlohmann_json})
        ;;
      test) tools+=(python3 clang++-16 "library "{gtest,libseccomp}) ;;
      bench) tools+=(python3) ;;
      lint) tools+=(clang++-16 clang-tidy-16 clang-format-16 shellcheck) ;;
    esac
  done
  printf '%s\n' "${tools[@]}" | sort -u
}

check_tools() {  # SET...
  local missing=() tool
  while read -r tool; do
    case $tool in
      library*) pkg-config --exists "${tool#library }" 2> /dev/null ;;
      *) command -v "$tool" > /dev/null ;;
    esac || missing+=("$tool")
  done < <(tools_of "$@")
  ((${#missing[@]} == 0)) && return
  printf 'run: missing: %s\n' "${missing[@]}" >&2
  die "packages can be installed on Debian 12 only, and this is $(system_name). Install these by" \
    "its own means, libraries with their headers and pkg-config files, then call ./run again;" \
    "cmake/packages.txt says what each is for"
}

# What is there may be too old: the presets need CMake 3.25, which else says "Unrecognized version".
check_cmake() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version //p')
  printf '3.25\n%s\n' "$version" | sort --version-sort --check=quiet ||
    die "CMake 3.25 or newer is needed, and this is $version, on $(system_name)"
}

ensure_debian_packages() {  # SET...
  local wanted installed missing
  mapfile -t wanted < <(packages_of "$@")
  # dpkg-query names the architecture of some packages and fails when one is unknown: both are fine.
  # shellcheck disable=SC2016  # the ${...} are dpkg-query's
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${wanted[@]}" \
    2> /dev/null | sed -n 's/^installed //p' || true)
  mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | grep -v -x -F -f <(echo "$installed"))
  ((${#missing[@]} == 0)) && return
  local command="apt-get install --no-install-recommends ${missing[*]}"
  if ! is_root && ! command -v sudo > /dev/null; then
    die "packages are missing, and there is neither root nor sudo to install them. Ask for:" \
      $'\n' "    $command"
  fi
  say "installing ${missing[*]}"
  apt_install "${missing[@]}" || die "this did not work, see above:" \
    $'\n' "    $command" \
    $'\n' "    It needs a network, the package sources of Debian 12 (this is $(system_name))" \
    $'\n' "    and the right to call apt-get, as root or with sudo."
}

ensure_packages() {  # SET...
  if is_debian_like; then
    ensure_debian_packages "$@"
  else
    check_tools "$@"
  fi
  check_cmake
}
