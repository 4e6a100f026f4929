#include "core/device/kernels/kernel_ptx.hpp"

namespace espalier::device {

std::string_view kernel_ptx(std::string_view name) noexcept {
  for (const KernelText& kernel : kernel_texts()) {
    if (kernel.name == name) return kernel.ptx;
  }
  return {};
}

}  // namespace espalier::device
