# shellcheck shell=bash
# Sourced by ./run: makes sure that the Debian packages of some sets of cmake/packages.txt are here.

packages_of() {  # SET... -> one package a line
  local sets=" $* " set package
  while read -r set package _; do
    [[ $sets == *" $set "* ]] && echo "$package"
  done < <(grep -v -e '^#' -e '^$' cmake/packages.txt) | sort -u
}

is_debian_like() {
  [[ -r /etc/os-release ]] && command -v apt-get dpkg-query > /dev/null &&
    grep -q -E '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo -- "$@"; fi
}

apt_install() {
  local install=(env DEBIAN_FRONTEND=noninteractive
    apt-get install --yes --no-install-recommends "$@")
  # A fresh image has no package lists; with old ones the first attempt may fail: update, retry.
  compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null || as_root apt-get update
  as_root "${install[@]}" || { as_root apt-get update && as_root "${install[@]}"; }
}

# Another system: nothing can be installed, so say which tools and libraries are missing.
check_tools() {
  local missing=() tool library
  for tool in c++ cmake ninja pkg-config; do
    command -v "$tool" > /dev/null || missing+=("$tool")
  done
  for library in pmix hwloc fmt; do
    pkg-config --exists "$library" 2> /dev/null || missing+=("library $library (with headers)")
  done
  ((${#missing[@]} == 0)) && return
  printf 'run: missing: %s\n' "${missing[@]}" >&2
  die "this is not a Debian system: install these by its own means, then call ./run again;" \
    "cmake/packages.txt says what each package is for"
}

ensure_packages() {  # SET...
  if ! is_debian_like; then
    check_tools
    return
  fi
  local wanted installed missing
  mapfile -t wanted < <(packages_of "$@")
  # dpkg-query names the architecture of some packages and fails when one is unknown: both are fine.
  # shellcheck disable=SC2016  # the ${...} are dpkg-query's
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${wanted[@]}" \
    2> /dev/null | sed -n 's/^installed //p' || true)
  mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | grep -v -x -F -f <(echo "$installed"))
  ((${#missing[@]} == 0)) && return
  if ((EUID != 0)) && ! command -v sudo > /dev/null; then
    die "these packages are missing, and there is neither root nor sudo to install them:" \
      "${missing[*]}" $'\n' "    ask for: apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  apt_install "${missing[@]}" ||
    die "apt-get could not install ${missing[*]}" $'\n' \
      "    is there a network and a Debian 12 package source? the messages above say more"
}
