# Precompiled headers of the standard library, {fmt} and GoogleTest: half the time of a build. They
# are for the configurations that are built beside an ordinary one, which proves that sources
# include what they use.
option(ESPALIER_PRECOMPILED "Compile the headers of other libraries once per target" OFF)
if(NOT ESPALIER_PRECOMPILED)
  return()
endif()
if(NOT ESPALIER_SANITIZE)
  message(FATAL_ERROR "ESPALIER_PRECOMPILED is for sanitizers: what users get is built without")
endif()

# The compiler cache compares what is precompiled by its content.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
else()
  # g++ 12 suspects inlined code of the standard library when it comes from there.
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow>")
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
  target_precompile_headers(${target} PRIVATE ${headers})
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

cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL espalier_precompile_folder ${CMAKE_SOURCE_DIR})
