#include "core/device/kernels/host_kernels.hpp"

#include "core/device/kernels/copy_rows.hpp"
#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/reduce.hpp"
#include "core/kernels/operation_of.hpp"

namespace espalier::device {
namespace {

using RunThread = void (*)(const void* parameters, Thread thread);

template <typename Op, std::size_t alignment>
void reduce_on_host(const void* parameters, Thread thread) {
  reduce<Op, alignment>(*static_cast<const ReduceParameters*>(parameters), thread);
}
void copy_rows_on_host(const void* parameters, Thread thread) {
  copy_rows(*static_cast<const CopyRowsParameters*>(parameters), thread);
}

struct HostKernel {
  std::string_view name;
  RunThread run;
};
constexpr HostKernel kHostKernels[] = {
    {kCopyRowsKernel, &copy_rows_on_host},
#define ESP_REDUCTION(name, element, op, type) \
  {"esp_" #name "_" #element,                  \
   &reduce_on_host<decltype(operation_of<op, Element<type>>()), alignof(Element<type>)>},
#include "core/device/kernels/reductions.def"
};

}  // namespace

bool run_kernel_on_host(std::string_view name, std::uint64_t threads,
                        const void* const* parameters) noexcept {
  for (const HostKernel& kernel : kHostKernels) {
    if (kernel.name != name) continue;
    for (std::uint64_t i = 0; i < threads; ++i) kernel.run(parameters[0], {i, threads});
    return true;
  }
  return false;
}

}  // namespace espalier::device
