# Precompiled headers of the standard library, {fmt} and GoogleTest: half the time of a build. They
# are for what is built beside an ordinary library, which proves that its sources include what they
# use: everything with a sanitizer, and tests.
set(ESPALIER_PRECOMPILED OFF CACHE STRING
  "Compile the headers of other libraries once per target: OFF, TESTS or ON (sanitizers only)")
set_property(CACHE ESPALIER_PRECOMPILED PROPERTY STRINGS OFF TESTS ON)
if(NOT ESPALIER_PRECOMPILED MATCHES "^(OFF|TESTS|ON)$")
  message(FATAL_ERROR "ESPALIER_PRECOMPILED is OFF, TESTS or ON, not '${ESPALIER_PRECOMPILED}'")
endif()
if(ESPALIER_PRECOMPILED STREQUAL "OFF" OR
   (ESPALIER_PRECOMPILED STREQUAL "TESTS" AND NOT ESPALIER_TESTS))
  return()
endif()
if(ESPALIER_PRECOMPILED STREQUAL "ON" AND NOT ESPALIER_SANITIZE)
  message(FATAL_ERROR "ESPALIER_PRECOMPILED=ON is for sanitizers: what users get is built without")
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(ESPALIER_PRECOMPILED_OPTIONS "SHELL:-Xclang -fno-pch-timestamp")
else()
  # g++ 12 suspects inlined code of the standard library when it comes from there.
  set(ESPALIER_PRECOMPILED_OPTIONS -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow)
endif()

set(ESPALIER_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory>
  <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# For a target with enough sources to pay for it.
function(espalier_precompile target)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  get_target_property(links ${target} LINK_LIBRARIES)
  if(NOT type MATCHES "LIBRARY|EXECUTABLE" OR type STREQUAL INTERFACE_LIBRARY)
    return()
  endif()
  list(LENGTH sources number)
  if(number LESS 5 OR sources MATCHES "[.]c(;|$)")
    return()
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})  # with other options than the rest: they do not fit
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    get_source_file_property(own ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(own)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
        PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  set(headers ${ESPALIER_PRECOMPILED_HEADERS} <fmt/format.h>)
  if("${links}" MATCHES "GTest")
    list(APPEND headers <gtest/gtest.h>)
  endif()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${ESPALIER_PRECOMPILED_OPTIONS}>")
  target_precompile_headers(${target} PRIVATE ${headers})
  # The compiler cache compares what is precompiled by its content.
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
    set(sloppiness CCACHE_SLOPPINESS=pch_defines,time_macros)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;${sloppiness};${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

function(espalier_precompile_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    espalier_precompile(${target})
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${folders})
    espalier_precompile_folder(${inner})
  endforeach()
endfunction()

set(ESPALIER_PRECOMPILED_FOLDER ${CMAKE_SOURCE_DIR})
if(ESPALIER_PRECOMPILED STREQUAL "TESTS")
  cmake_path(APPEND ESPALIER_PRECOMPILED_FOLDER tests)
endif()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL espalier_precompile_folder ${ESPALIER_PRECOMPILED_FOLDER})
