// Kernels for x86-64 with AVX2 and F16C; empty on other architectures. Options:
// cmake/kernels.cmake.
#if defined(__x86_64__)
#include "core/kernels/combine_loops.hpp"

namespace espalier {

constinit const KernelTables kAvx2Kernels = make_kernel_tables();

}  // namespace espalier
#endif
