// The kernels of devices as PTX, which the driver of a device compiles for it when it is loaded.
//
// A module for each, so that a first use compiles one of them only. They were made by clang while
// the library was built (cmake/device_kernels.cmake), or left out. Threads: any. path: setup
#pragma once

#include <span>
#include <string_view>

namespace espalier::device {

struct KernelText {
  std::string_view name;
  std::string_view ptx;  // with a zero behind its end
};

// All kernels. Empty: this build has none, and the host reduces.
std::span<const KernelText> kernel_texts() noexcept;
// The module of one kernel. Empty: there is no such.
std::string_view kernel_ptx(std::string_view name) noexcept;

}  // namespace espalier::device
