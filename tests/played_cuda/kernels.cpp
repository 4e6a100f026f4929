// The kernels that the played driver has, as functions of the host.
#include <map>

#include "tests/played_cuda/modules.hpp"

namespace played {
namespace {

// played_sum_f32(float* dst, const float* a, const float* b, unsigned long long count)
void played_sum_f32(const Launch& launch) {
  const auto count = launch.parameter<unsigned long long>(3);
  const std::size_t bytes = count * sizeof(float);
  auto* const dst =
      reinterpret_cast<float*>(launch.write(launch.parameter<cuda::Address>(0), bytes));
  const auto* const a =
      reinterpret_cast<const float*>(launch.read(launch.parameter<cuda::Address>(1), bytes));
  const auto* const b =
      reinterpret_cast<const float*>(launch.read(launch.parameter<cuda::Address>(2), bytes));
  for (unsigned long long i = 0; i < count; ++i) dst[i] = a[i] + b[i];
}

const std::map<std::string, KernelOfHost> kKernels = {{"played_sum_f32", &played_sum_f32}};

}  // namespace

KernelOfHost kernel_of_host(const std::string& name) {
  const auto found = kKernels.find(name);
  if (found != kKernels.end()) return found->second;
#if defined(PLAYED_LIBRARY_KERNELS)
  return kernel_of_library(name);
#else
  return nullptr;
#endif
}

}  // namespace played
