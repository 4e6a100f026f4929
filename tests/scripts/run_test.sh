#!/usr/bin/env bash
# run_test.sh SOURCE_FOLDER: ./run in a folder with an odd name, where stand-ins take the place of
# the compilers: which programs it calls, with what, and what it says when something is wrong.
set -euo pipefail
source_folder=$1
# shellcheck source=tests/scripts/expect.sh
source "${BASH_SOURCE[0]%/*}/expect.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

project="$folder/an odd (name), #1"
run=$project/run
mkdir -p "$project"/{scripts,cmake}
cp "$source_folder/run" "$project"
cp "$source_folder"/scripts/* "$project/scripts"
cp "$source_folder/cmake/packages.txt" "$project/cmake"
mkdir "$project/tests" && touch "$project/tests/left_to_all.txt"

export CALLS=$folder/calls
bin=$folder/bin
PATH=$bin:$PATH
# Everything is installed, and nothing is built.
stand_in "$bin" apt-get <<< 'echo "FAILED: packages are installed" && exit 1'
stand_in "$bin" dpkg-query << 'END'
shift 2
printf 'installed %s\n' "$@"
END
stand_in "$bin" cmake << 'END'
[[ $1 == --version ]] && echo "cmake version 3.25.1" && exit
echo "cmake $*" >> "$CALLS"
[[ -z ${CMAKE_FAILS:-} ]] || { echo "CMake Error: no luck" && exit 1; }
END
stand_in "$bin" ctest << 'END'
[[ $* == *--show-only ]] && printf '  Test  #%s\n' '1: a.b' '2: a.b.c' '3: d' '4: f' '5: Up' && exit
echo "ctest $*" >> "$CALLS"
while (($#)); do [[ $1 == --output-junit ]] && report=$2; shift; done
[[ -z ${NO_TESTS:-} ]] && case='<testcase name="a" status="run"/>'
echo "<testsuite>${case:-}</testsuite>" > "$report"
END
stand_in "$bin" setarch <<< 'shift; "$@"'
for tool in clang-format-16 shellcheck; do
  stand_in "$bin" $tool << 'END'
for file; do [[ $file == ./* ]] && echo "${0##*/} $file" >> "$CALLS"; done
[[ ${FINDS:-} != "${0##*/}" ]]
END
done

# shellcheck disable=SC2317  # expect calls it
calls() {  # COMMAND...: the calls of ./run with it
  rm -f "$CALLS"
  "$run" "$@" > /dev/null 2>&1 || echo "exit code $?"
  cat "$CALLS"
}

# Help and mistakes, from another folder.
cd /
expect 0 '^usage: ./run COMMAND' "$run"
expect 0 '^usage: ./run COMMAND' "$run" --help
expect 1 "unknown command 'frobnicate'" "$run" frobnicate
expect 1 "what is 'now'\\?" "$run" build now
expect 1 "what is 'b c'\\?" "$run" test a b c

# Building: quiet, but for the output of a CMake that fails.
expect 0 'programs are in build/bin' "$run" build
expect 0 '^cmake --preset release -D ESPALIER_TESTS=OFF$' calls build
expect 0 '^cmake --build --preset release$' calls build
export CMAKE_FAILS=yes
expect 1 'CMake Error: no luck' "$run" build
expect 1 'FAILED +release: the build' "$run" test quick
unset CMAKE_FAILS

# The demo builds what it runs and no more.
stand_in "$project/examples/asp" demo.sh <<< 'echo "the demo: $*"'
expect 0 '^the demo: --query a b$' "$run" demo --query a b
expect 0 '^cmake --build --preset release --target asp esp-run$' calls demo

# A second call keeps how the folder was configured; a folder that was moved is refused.
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$project" > "$project/build/CMakeCache.txt"
expect 0 '^cmake --preset release$' calls build
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$folder/old place" > "$project/build/CMakeCache.txt"
expect 1 'made in .*/old place and cannot be moved: remove it' "$run" build
rm "$project/build/CMakeCache.txt"

# Tests: all configurations, one, some, none.
expect 0 '^3 passed, 0 failed, 0 skipped' "$run" test
expect 0 '^1 passed, 0 failed, 0 skipped' "$run" test quick
expect 0 'ctest --preset tsan .*--tests-regex a\|b$' calls test 'a|b'
# What is left to `all`, in which configuration; nothing where somebody says what to run.
printf '# comment\neach ^a\\.b$  because of c\nasan ^d   e\ntsan-only ^[A-Z]|f\n' \
  > "$project/tests/left_to_all.txt"
expect 0 'ctest --preset release .*--tests-information 0,0,0,2,3,4,5$' calls test
expect 0 'ctest --preset release .*--tests-information 0,0,0,2,3,4,5$' calls test quick
expect 0 'ctest --preset asan .*--tests-information 0,0,0,2,4,5$' calls test
expect 0 'ctest --preset tsan .*--tests-information 0,0,0,4,5$' calls test
expect 0 'ctest --preset asan .*/asan.xml$' calls test all
expect 0 'ctest --preset tsan .*--tests-regex g$' calls test g
expect 0 'ctest --preset release .*xml --tests-regex g$' calls test quick g
NO_TESTS=yes expect 1 'no test has such a name' "$run" test nonsense

# Packages: quiet, but for the output of a CPack that fails.
stand_in "$bin" cpack << 'END'
echo "cpack $*" >> "$CALLS"
[[ -z ${CPACK_FAILS:-} ]] || { echo "CPack Error: no luck" && exit 1; }
mkdir -p build/packages && touch build/packages/a.deb
END
expect 0 'build/packages/a.deb$' "$run" package
expect 0 '^cpack --config build/CPackConfig.cmake$' calls package
CPACK_FAILS=yes expect 1 'CPack Error: no luck' "$run" package
expect 1 "what is 'it'\\?" "$run" package it

# Lint: finds the sources without git, and not those below build/.
mkdir -p "$project/core/more words" "$project/build/CMakeFiles"
touch "$project/core/more words/x.hpp" "$project/build/CMakeFiles/compiler_id.cpp"
printf '#!/bin/sh\n' > "$project/core/script"
expect 0 'lint: clean' "$run" lint
expect 0 '^clang-format-16 ./core/more words/x.hpp$' calls lint
expect 0 '^shellcheck ./core/script$' calls lint
expect 0 '^cmake --build --preset lint -- -k 0$' calls lint
expect 1 '0' grep -c compiler_id "$CALLS"
FINDS=shellcheck expect 1 'lint: shellcheck found something' "$run" lint

# A folder that Ninja cannot work in.
mkdir "$folder/bed & breakfast"
cp -r "$project"/{run,scripts,cmake} "$folder/bed & breakfast"
expect 1 'Ninja cannot work in .*/bed & breakfast: ' "$folder/bed & breakfast/run" build

# A folder that cannot be written to: a file in the place of build/ stops root, too.
rm -rf "$project/build"
ln -s /proc/self/none "$project/build"
expect 1 'cannot write to .*an odd \(name\), #1/build' "$run" build
exit $((failures > 0))
