# The reduction kernels of devices (core/device/kernels/README.md): ptx.cpp becomes PTX by clang 16,
# in CUDA mode but without anything of CUDA's, and the PTX becomes a source of the library. Without
# that compiler the library is built all the same, and says that it has none.
set(ESPALIER_DEVICE_KERNELS AUTO CACHE STRING
  "Reductions on NVIDIA's devices: AUTO (where clang++-16 is found), ON or OFF")
set_property(CACHE ESPALIER_DEVICE_KERNELS PROPERTY STRINGS AUTO ON OFF)
if(NOT ESPALIER_DEVICE_KERNELS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR
    "ESPALIER_DEVICE_KERNELS is AUTO, ON or OFF, not '${ESPALIER_DEVICE_KERNELS}'")
endif()
find_program(ESPALIER_PTX_COMPILER clang++-16 DOC "clang 16 with the target nvptx64")
mark_as_advanced(ESPALIER_PTX_COMPILER)

# The oldest devices and the oldest drivers that take it: compute capability 6.0 (2016), PTX 5.0
# (drivers of CUDA 8). Drivers compile it for newer devices. Sums are rounded as the host's: no
# product is fused with a sum, and subnormals stay.
set(ptx_options -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_60
  -Xclang -target-feature -Xclang -ptx78 -Xclang -target-feature -Xclang +ptx50
  -std=c++20 -O3 -ffp-contract=off -fno-gpu-flush-denormals-to-zero
  -Wall -Wextra -Werror -Wno-unknown-cuda-version
  -I ${CMAKE_SOURCE_DIR} -I ${CMAKE_SOURCE_DIR}/include)

set(ESPALIER_HAVE_DEVICE_KERNELS OFF)
if(ESPALIER_PTX_COMPILER AND NOT ESPALIER_DEVICE_KERNELS STREQUAL "OFF")
  file(WRITE ${CMAKE_BINARY_DIR}/generated/no_kernels.cpp "#include <type_traits>\n")
  execute_process(COMMAND ${ESPALIER_PTX_COMPILER} ${ptx_options} -S
    -o ${CMAKE_BINARY_DIR}/generated/no_kernels.ptx ${CMAKE_BINARY_DIR}/generated/no_kernels.cpp
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    set(ESPALIER_HAVE_DEVICE_KERNELS ON)
  endif()
endif()

set(device_kernels ${CMAKE_SOURCE_DIR}/core/device/kernels)
target_sources(espalier_core PRIVATE ${device_kernels}/kernel_ptx.cpp)
if(ESPALIER_HAVE_DEVICE_KERNELS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(ESPALIER_KERNELS_PTX ${CMAKE_BINARY_DIR}/generated/kernels.ptx)
  set(kernel_texts ${CMAKE_BINARY_DIR}/generated/kernel_texts.cpp)
  add_custom_command(OUTPUT ${ESPALIER_KERNELS_PTX}
    COMMAND ${ESPALIER_PTX_COMPILER} ${ptx_options} -S -MD -MT ${ESPALIER_KERNELS_PTX}
      -MF ${ESPALIER_KERNELS_PTX}.d -o ${ESPALIER_KERNELS_PTX} ${device_kernels}/ptx.cpp
    DEPENDS ${device_kernels}/ptx.cpp DEPFILE ${ESPALIER_KERNELS_PTX}.d
    COMMENT "Reduction kernels of devices" VERBATIM)
  add_custom_command(OUTPUT ${kernel_texts}
    COMMAND ${Python3_EXECUTABLE} -B ${device_kernels}/embed.py ${ESPALIER_KERNELS_PTX}
      ${kernel_texts}
    DEPENDS ${ESPALIER_KERNELS_PTX} ${device_kernels}/embed.py VERBATIM)
  target_sources(espalier_core PRIVATE ${kernel_texts})
  set_source_files_properties(${kernel_texts} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS -fno-lto)
elseif(ESPALIER_DEVICE_KERNELS STREQUAL "ON")
  message(FATAL_ERROR "ESPALIER_DEVICE_KERNELS=ON needs clang++-16 (ESPALIER_PTX_COMPILER is "
    "'${ESPALIER_PTX_COMPILER}') that knows the target nvptx64")
else()
  message(STATUS "No clang++-16 for nvptx64 (ESPALIER_DEVICE_KERNELS=${ESPALIER_DEVICE_KERNELS}): "
    "built without reductions on devices")
  target_sources(espalier_core PRIVATE ${device_kernels}/kernel_texts_absent.cpp)
endif()

# The same kernels for the host: for tests, and for drivers that are played. Nothing is fused here
# either.
add_library(espalier_device_kernels_host STATIC EXCLUDE_FROM_ALL
  ${device_kernels}/host_kernels.cpp)
target_include_directories(espalier_device_kernels_host PUBLIC
  ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_options(espalier_device_kernels_host PRIVATE -ffp-contract=off -fno-exceptions)
