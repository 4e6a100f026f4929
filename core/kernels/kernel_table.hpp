// One table of combine kernels per instruction set.
//
// The kernels are one set of templates (combine_loops.hpp), compiled once per instruction set by
// the small files combine_*.cpp with the options of cmake/kernels.cmake. Everything those files
// emit has internal linkage or is one of the tables below: an inline function with external linkage
// could be emitted by several of them, and the linker would keep a copy that the processor may not
// be able to run. A test lists the symbols. Threads: any. path: setup
#pragma once

#include <array>
#include <cstddef>

#include "core/datatype.hpp"

namespace espalier {

// Indexed by kernel_index(); nullptr where the operator is not defined.
using KernelTable = std::array<CombineKernel, std::size_t{ESP_OP_BUILTIN_COUNT} * ESP_TYPE_COUNT>;
using KernelTables = std::array<KernelTable, 2>;  // by Store

[[gnu::always_inline]] constexpr std::size_t kernel_index(esp_op op, esp_type type) noexcept {
  return static_cast<std::size_t>(op) * ESP_TYPE_COUNT + static_cast<std::size_t>(type);
}

extern const KernelTables kBaseKernels;  // What every processor of the architecture can run.
#if defined(__x86_64__)
extern const KernelTables kAvx2Kernels;
extern const KernelTables kAvx512Kernels;
#endif

}  // namespace espalier
