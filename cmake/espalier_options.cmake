# Compiler options shared by all targets, and the helper that makes one library target per folder.

add_compile_options(-Wall -Wextra -Wshadow -Wimplicit-fallthrough -Werror -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)

set(ESPALIER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(ESPALIER_SANITIZE)
  add_compile_options(-fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ESPALIER_SANITIZE})
endif()

# espalier_folder(NAME DEPS...): static library espalier_NAME from all sources of folder NAME (not of its subfolders, which are listed
# by the folder's own CMakeLists.txt if it has one). New files are picked up by themselves.
function(espalier_folder name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp ${CMAKE_SOURCE_DIR}/${name}/*/*.cpp)
  if(sources)
    add_library(espalier_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(espalier_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(espalier_${name} ${scope} ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  foreach(dependency ${ARGN})
    if(TARGET espalier_${dependency})
      target_link_libraries(espalier_${name} ${scope} espalier_${dependency})
    else()
      target_link_libraries(espalier_${name} ${scope} ${dependency})
    endif()
  endforeach()
  if(sources)
    # The library neither throws nor asks for types at run time; callers may.
    target_compile_options(espalier_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  endif()
endfunction()
