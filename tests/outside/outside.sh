#!/usr/bin/env bash
# Uses the library as somebody outside of this tree does.
#
# outside.sh STEP SOURCE_FOLDER BUILD_FOLDER SCRATCH. The step `install` installs into
# SCRATCH/moved-here by way of another name, so that everything that follows also shows that the
# prefix may be moved. The other steps compile the programs of tests/outside/project against it and
# run them, alone and on two ranks.
set -euo pipefail
step=$1 source=$2 build=$3 scratch=$4
prefix=$scratch/moved-here
project=$source/tests/outside/project

run() {
  "$@"
  "$prefix/bin/esp-run" -n 2 "$@"
}

step_install() {
  rm -rf "$scratch"
  cmake --install "$build" --prefix "$scratch/first-place" > "$scratch.log"
  mv "$scratch/first-place" "$prefix"
  cmp "$source/LICENSE" "$prefix/share/doc/espalier/LICENSE"
}

step_find_package() {
  cmake -S "$project" -B "$scratch/cmake" -G Ninja -D CMAKE_PREFIX_PATH="$prefix" \
    -D late_source="$source/tests/mpi/absent/program.c"
  cmake --build "$scratch/cmake"
  run "$scratch/cmake/outside_late"
  run "$scratch/cmake/outside_c"
  run "$scratch/cmake/outside_cpp"
  run "$scratch/cmake/outside_mpi"
}

# Sets `flags`. pkg-config puts a backslash before each space of a folder, which xargs takes away.
flags_of() {  # PACKAGE
  mapfile -t flags < <(pkg-config --cflags --libs "$1" | xargs -n 1 printf '%s\n')
}

step_pkg_config() {
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name espalier.pc)")
  export PKG_CONFIG_PATH
  local flags rpath
  flags_of espalier
  rpath=-Wl,-rpath,$(pkg-config --variable=libdir espalier | xargs)
  [[ $(pkg-config --modversion espalier) == 0.* ]]
  cc -std=c99 -Wall -Werror "$project/main.c" -o "$scratch/c" "${flags[@]}" "$rpath"
  c++ -std=c++20 -Wall -Werror "$project/main.cpp" -o "$scratch/cpp" "${flags[@]}" "$rpath"
  run "$scratch/c"
  run "$scratch/cpp"
  flags_of espalier-mpi
  cc "$project/mpi.c" -o "$scratch/mpi" "${flags[@]}" "$rpath"
  run "$scratch/mpi"
}

# The wrappers of a bin folder: C and C++, in one step and in two, and what they say they would do.
check_wrappers() {  # BIN
  "$1/esp-cc" -Wall -Werror "$project/mpi.c" -o "$scratch/$step"
  run "$scratch/$step"
  "$1/esp-c++" -Wall -Werror -x c++ -c "$project/mpi.c" -o "$scratch/$step.o"
  "$1/esp-c++" "$scratch/$step.o" -o "$scratch/$step++"
  run "$scratch/$step++"
  "$1/esp-cc" "$source/examples/hello_c/hello.c" -o "$scratch/$step-c"
  run "$scratch/$step-c"
  local said
  said=$(CC=no ESP_CC="ccache mycc" "$1/esp-cc" --show -O2 a.c)
  said=${said//\"/}  # around folders with spaces
  [[ $said == "ccache mycc -I"*" -O2 a.c -L"*" -Wl,-rpath,"*" -lespalier_mpi -lespalier" ]]
  said=$(CXX=mycc "$1/esp-c++" --show -c a.cpp)
  [[ $said == "mycc -I"*" -c a.cpp" ]]
  [[ $(CC=mycc "$1/esp-cc" -compile_info) == "mycc $("$1/esp-cc" -showme:compile)" ]]
  [[ $(CXX=mycc "$1/esp-c++" -link_info) == "mycc $("$1/esp-c++" --showme:link)" ]]
  [[ $("$1/esp-cc" --showme:libs) == "espalier_mpi espalier" ]]
  [[ $("$1/esp-cc" --showme:incdirs) == *"$prefix/include/espalier/mpi"* ]]
  [[ -e $("$1/esp-cc" --showme:libdirs | tr -d \")/libespalier_mpi.so ]]
  [[ $("$1/esp-cc" --showme:version) == "esp-cc: Espalier 0."* ]]
  [[ $(CC=mycc "$1/esp-cc" --showme:command) == mycc ]]
  if "$1/esp-cc" --showme:nothing 2> /dev/null; then exit 1; fi
  said=$(CC=$1/esp-cc "$1/esp-cc" --version)
  [[ -n $said && $said != *lespalier_mpi* ]]
}

# Each program has its manual page, each page its program, and documents stand where links lead.
step_documents() {
  local documents=$prefix/share/doc/espalier
  diff <(cd "$prefix/bin" && printf '%s.1\n' *) <(cd "$prefix/share/man/man1" && printf '%s\n' *)
  grep -q '^\.TH ESPALIER 7' "$prefix/share/man/man7/espalier.7"
  cmp "$source/ARCHITECTURE.md" "$documents/ARCHITECTURE.md"
  local name
  grep -o '](docs/[^)]*)\|"docs/[^"]*"' "$documents/README.md" | tr -d ']()"' |
    sort -u > "$scratch/named"
  [[ $(wc -l < "$scratch/named") -ge 15 ]]
  while read -r name; do [[ -s $documents/$name ]]; done < "$scratch/named"
}

# The examples from their installed place, by the CMake package and by pkg-config.
step_examples() {
  local examples=$prefix/share/doc/espalier/examples by_make program
  cmake -S "$examples" -B "$scratch/examples" -G Ninja -D CMAKE_PREFIX_PATH="$prefix" \
    -D CMAKE_BUILD_TYPE=Debug -D CMAKE_C_FLAGS="-Wall -Werror" -D CMAKE_CXX_FLAGS="-Wall -Werror"
  cmake --build "$scratch/examples"
  by_make=$(mktemp -d)  # make and pkg-config know no folders with such names
  ln -s "$prefix" "$by_make/prefix"
  make -C "$examples" OUT="$by_make/new/folder" CFLAGS="-Wall -Werror" CXXFLAGS="-Wall -Werror" \
    PKG_CONFIG_PATH="$(dirname "$(find "$by_make/prefix/" -name espalier.pc)")"
  for program in hello_c hello_cpp hello_mpi jacobi sample_sort fft_transpose halo pgas_array \
      task_loop; do
    run "$scratch/examples/$program/$program"
    "$prefix/bin/esp-run" -n 2 "$by_make/new/folder/$program"
  done
  rm -r "$by_make"
  run "$scratch/examples/asp/asp" --synthetic 100 --self-check
  run "$scratch/examples/heat/heat" --steps 5 --self-check
  run "$scratch/examples/histogram_sort/histogram_sort" --keys 1000
  [[ -s $examples/data/liechtenstein.gr ]]
}

# The programs of README.md, compiled and started by its own lines, in a folder that looks like the
# tree.
step_readme() {
  rm -rf "$scratch/readme"
  mkdir "$scratch/readme"
  cd "$scratch/readme"
  ln -s "$source/include" include
  ln -s "$source/examples" examples
  ln -s "$build" build
  sed -n "/^\`\`\`c\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$source/README.md" > hello.c
  grep -E '^(cc|c\+\+|build/bin/esp-(run|cc)) ' "$source/README.md" > lines
  [[ $(wc -l < lines) == 6 ]]
  bash -eux lines > said
  cat said
  [[ $(grep -c '^rank . of 4: 3.14, counted 4$' said) == 4 ]]
  [[ $(grep -c '^hello from rank . of 4.*: answer 42[.0]*, sum of ranks 6$' said) == 8 ]]
  # Told the wrong standard, the C++ layer says so, and does not bury it below other errors.
  if c++ -std=c++17 -fsyntax-only -Iinclude -include espalier/espalier.hpp -x c++ /dev/null 2> said
  then
    exit 1
  fi
  cat said
  grep -q 'needs C++20: compile with -std=c++20' said
  [[ $(grep -c 'error:' said) == 1 ]]
}

step_wrappers_built() {
  prefix=$build
  check_wrappers "$build/bin"
}

step_wrappers_installed() {
  check_wrappers "$prefix/bin"
}

# Configures, builds and tests the project. What CMake has found must be this prefix's.
find_mpi() {  # FOLDER OPTION...
  local folder=$1
  cmake -S "$source/tests/outside/mpi_project" -B "$folder" -G Ninja "${@:2}"
  grep -q "libespalier_mpi.so" "$folder/CMakeCache.txt"
  grep -q "^MPIEXEC_EXECUTABLE:FILEPATH=$prefix/" "$folder/CMakeCache.txt"
  cmake --build "$folder"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error
}

# What CMake took must not be of two MPIs.
find_fortran() {  # FOLDER
  command -v gfortran > /dev/null || return 0
  local found
  found=$(sed -n 's/^MPI_[a-z_]*_LIBRARY:[A-Z]*=//p; s/^MPI_Fortran_COMPILER:[A-Z]*=//p' \
    "$1/CMakeCache.txt")
  grep -q 'libespalier_mpifort.so' <<< "$found"
  if grep -v "^$prefix/" <<< "$found"; then exit 1; fi
}

# Told the wrappers by the names of ours, and the launcher.
step_find_mpi() {
  find_mpi "$scratch/find_mpi" -D MPI_C_COMPILER="$prefix/bin/esp-cc" \
    -D MPI_CXX_COMPILER="$prefix/bin/esp-c++" -D MPI_Fortran_COMPILER="$prefix/bin/esp-fc" \
    -D MPIEXEC_EXECUTABLE="$prefix/bin/esp-run"
  find_fortran "$scratch/find_mpi"
  run "$scratch/find_mpi/outside_mpi"
}

# The folder of usual names: by PATH alone, and as the prefix of an MPI.
step_usual_names() {
  local usual object=$scratch/usual.o
  usual=$(dirname "$(find "$prefix" -path '*/espalier/mpi/bin')")
  export PATH=$usual/bin:$PATH
  unset CC CXX FC
  find_mpi "$scratch/usual_names"
  find_fortran "$scratch/usual_names"
  mpicc -c "$project/mpi.c" -o "$object"
  CC=mpicc mpicc "$object" -o "$scratch/usual"
  mpirun -np 4 -oversubscribe "$scratch/usual"
  mkdir -p "$scratch/sources"
  cp "$project/mpi.c" "$scratch/sources"
  make -C "$scratch/sources" -f /dev/null CC=mpicc mpi
  mpiexec -n 4 "$scratch/sources/mpi"
  mpic++ -x c++ "$project/mpi.c" -o "$scratch/usual++"
  mpirun -n 3 "$scratch/usual++"
  cc "$project/mpi.c" -I"$usual/include" -L"$usual/lib" -lmpi -o "$scratch/usual-prefix" \
    -Wl,-rpath,"$usual/lib"
  mpirun -n 2 "$scratch/usual-prefix"
  # As AC_CHECK_LIB does: no header, no run path.
  echo 'char MPI_Init(); int main() { return MPI_Init(); }' > "$scratch/check.c"
  cc "$scratch/check.c" -L"$usual/lib" -lmpi -o "$scratch/check"
  cc "$project/mpi.c" -I"$usual/include" -L"$usual/lib" -lmpi_abi -o "$scratch/usual-abi"
  LD_LIBRARY_PATH=$usual/lib mpirun -n 2 "$scratch/usual-abi"
}

"step_$step"
