// Kernels for what every processor of the architecture has: SSE2 on x86-64, NEON on AArch64.
#include "core/kernels/combine_loops.hpp"

namespace espalier {

constinit const KernelTables kBaseKernels = make_kernel_tables();

}  // namespace espalier
