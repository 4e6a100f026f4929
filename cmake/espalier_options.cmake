# Compiler options shared by all targets, and the helper that makes one library target per folder.

add_compile_options(-Wall -Wextra -Wshadow -Wimplicit-fallthrough -Werror -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)

# A compiler cache speeds up fresh build folders; nothing depends on it.
find_program(ESPALIER_CCACHE ccache DOC "Compiler cache, used when present")
mark_as_advanced(ESPALIER_CCACHE)
if(ESPALIER_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${ESPALIER_CCACHE})
    endif()
  endforeach()
endif()

set(ESPALIER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(ESPALIER_SANITIZE)
  add_compile_options(
    -fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ESPALIER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # Compares types, of which the library has no information, by a runtime that C programs lack.
    add_compile_options(-fno-sanitize=function,vptr)
  endif()
  if(ESPALIER_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Fences order doorbells and pages that processes share, which this sanitizer cannot see anyway.
    add_compile_options(-Wno-tsan)
  endif()
endif()

set(ESPALIER_CLANG_TIDY "" CACHE STRING
  "Checker that runs beside each compilation of the library, e.g. clang-tidy-16")

# What users get is optimised as a whole when it is linked: calls between the folders' layers on the
# data path become inline. Objects carry ordinary code as well, for everything else that is linked
# from them.
set(ESPALIER_LTO AUTO CACHE STRING
  "Optimise the library when it is linked: AUTO (by g++ in release configurations), ON or OFF")
set_property(CACHE ESPALIER_LTO PROPERTY STRINGS AUTO ON OFF)
set(lto ${ESPALIER_LTO})
if(ESPALIER_LTO STREQUAL "AUTO")
  set(lto OFF)
  # Who brings flags for it has an own way, and the checker does not know g++'s.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE MATCHES "^Rel"
    AND NOT ESPALIER_SANITIZE AND NOT ESPALIER_CLANG_TIDY
    AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION AND NOT CMAKE_CXX_FLAGS MATCHES "-flto")
    set(lto ON)
  endif()
elseif(NOT ESPALIER_LTO MATCHES "^(ON|OFF)$")
  message(FATAL_ERROR "ESPALIER_LTO is AUTO, ON or OFF, not '${ESPALIER_LTO}'")
elseif(ESPALIER_LTO AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "ESPALIER_LTO=ON needs g++: objects with ordinary code beside the other")
endif()
if(lto)
  add_link_options($<IF:$<BOOL:$<TARGET_PROPERTY:ESPALIER_LTO>>,-flto=auto,-fno-lto>)
endif()

# espalier_optimised_whole(TARGET): the shared library, or a program that is measured and has the
# folders inside.
function(espalier_optimised_whole target)
  set_target_properties(${target} PROPERTIES ESPALIER_LTO ON)
endfunction()

# Sources with planted bugs are not one translation unit with others: tests/swarm compiles them
# again, and its linker must not find them in what it needs of the library.
function(espalier_unity_apart target)
  set(plain 0)
  set(planted 0)
  foreach(source ${ARGN})
    file(STRINGS ${source} plants REGEX "ESP_PLANT" LIMIT_COUNT 1)
    set(kind plain)
    if(plants)
      set(kind planted)
    endif()
    math(EXPR group "${${kind}} / 8")
    math(EXPR ${kind} "${${kind}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${kind}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# espalier_folder(FOLDER DEPS...): static library espalier_NAME, NAME being the last of the folder's
# path, from all sources of the folder and of its subfolders. New files are picked up by themselves.
# A subfolder sim is a library of its own: what users run does without the simulator.
function(espalier_folder folder)
  cmake_path(GET folder FILENAME name)
  file(GLOB sources CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/${folder}/*.cpp ${CMAKE_SOURCE_DIR}/${folder}/*/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/${folder}/sim/")
  add_library(espalier_${name} STATIC ${sources})
  if(CMAKE_UNITY_BUILD)
    espalier_unity_apart(espalier_${name} ${sources})
  endif()
  target_include_directories(espalier_${name} PUBLIC
    ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  foreach(dependency ${ARGN})
    if(TARGET espalier_${dependency})
      target_link_libraries(espalier_${name} PUBLIC espalier_${dependency})
    else()
      target_link_libraries(espalier_${name} PUBLIC ${dependency})
    endif()
  endforeach()
  # The library neither throws nor asks for types at run time; callers may.
  target_compile_options(espalier_${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>
    $<$<BOOL:${lto}>:-flto=auto -ffat-lto-objects>)
  if(ESPALIER_CLANG_TIDY)
    set_target_properties(espalier_${name} PROPERTIES
      CXX_CLANG_TIDY "${ESPALIER_CLANG_TIDY};--quiet;--warnings-as-errors=*")
  endif()
endfunction()

# Compilers take ten seconds to optimise a source that is mostly the templates of the option parser,
# sanitizers half a minute, and nobody waits for what it does.
function(espalier_parses_arguments)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O0)
endfunction()
# The same for the templates of JSON, which users do wait for, but not under a sanitizer.
function(espalier_reads_json)
  if(ESPALIER_SANITIZE)
    espalier_parses_arguments(${ARGN})
  endif()
endfunction()
