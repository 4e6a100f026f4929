// In place of the kernels where there was no compiler for them.
// Threads: any. path: setup
#include "core/device/kernels/kernel_ptx.hpp"

namespace espalier::device {

std::span<const KernelText> kernel_texts() noexcept {
  return {};
}

}  // namespace espalier::device
