# Options of the reduction kernels: the same source for each instruction set (core/kernels/kernel_table.hpp).
#
# -O3 in every configuration, for the vectoriser. No contraction to fused multiply-add, which would make results depend on the
# instruction set. Never -ffast-math.
set(kernel_options -O3 -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND kernel_options -Wno-pass-failed) # Long double cannot be vectorised; no need to say so.
endif()

set(kernels ${CMAKE_SOURCE_DIR}/core/kernels)
set_source_files_properties(${kernels}/combine_base.cpp PROPERTIES COMPILE_OPTIONS "${kernel_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/combine_avx2.cpp PROPERTIES COMPILE_OPTIONS "${kernel_options};-mavx2;-mf16c")
  set_source_files_properties(${kernels}/combine_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "${kernel_options};-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
endif()
