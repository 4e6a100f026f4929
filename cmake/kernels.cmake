# Options of the reduction kernels: one source, compiled once per instruction set (see
# core/kernels/kernel_table.hpp; core/kernels/isa.cpp asks the processor for the same features).
#
# -O3 in every configuration, for the vectoriser. No contraction to fused multiply-add, which would
# make results depend on the instruction set. Never -ffast-math. They are called through tables, so
# optimising them once more when the library is linked takes half a minute for nothing; and line
# numbers are what a debugger can say of vectorised loops.
set(kernel_options -O3 -ffp-contract=off -g1 -fno-lto)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND kernel_options -Wno-pass-failed) # Long double cannot be vectorised: be silent.
endif()

set(kernels ${CMAKE_SOURCE_DIR}/core/kernels)
set_source_files_properties(${kernels}/combine_base.cpp PROPERTIES
  COMPILE_OPTIONS "${kernel_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 -mavx2 -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  set_source_files_properties(${kernels}/combine_avx2.cpp PROPERTIES
    COMPILE_OPTIONS "${kernel_options};${avx2}")
  set_source_files_properties(${kernels}/combine_avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${kernel_options};${avx512}")
endif()
