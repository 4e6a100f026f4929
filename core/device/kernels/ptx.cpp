// The kernels as entries of PTX: one translation unit, compiled as device code by clang
// (cmake/device_kernels.cmake) and without any header or library of CUDA's.
//
// Standard headers declare what a device lacks and stand outside of what becomes device code.
// Threads: any. path: data
#include <array>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "espalier/espalier.h"

#pragma clang force_cuda_host_device begin

#include "core/device/kernels/copy_rows.hpp"
#include "core/device/kernels/parameters.hpp"
#include "core/device/kernels/reduce.hpp"
#include "core/kernels/operation_of.hpp"

namespace espalier::device {
namespace {

// Halves by the device's conversions: the same bits as those of core/half.hpp but for the payload
// of a NaN, in a tenth of the instructions.
inline float widen_half(Half half) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(half.bits));
  return wide;
}
inline Half narrow_half(float wide) {
  Half half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(wide));
  return half;
}

template <typename Op>
struct OnDevice {
  using Type = Op;
};
template <>
struct OnDevice<Sum<Half>> {
  struct Type : Plain<Half> {
    static Half combine(Half a, Half b) { return narrow_half(widen_half(a) + widen_half(b)); }
  };
};
template <>
struct OnDevice<Product<Half>> {
  struct Type : Plain<Half> {
    static Half combine(Half a, Half b) { return narrow_half(widen_half(a) * widen_half(b)); }
  };
};

inline Thread this_thread() {
  const auto block = static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_ntid_x());
  const auto blocks = static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_nctaid_x());
  const auto before = static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_ctaid_x()) * block;
  return {before + static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_tid_x()), blocks * block};
}

}  // namespace
}  // namespace espalier::device

#define ESP_ENTRY(name, Parameters)                                                             \
  extern "C" __attribute__((global, launch_bounds(espalier::device::kBlockThreads))) void name( \
      const espalier::device::Parameters p)

#define ESP_REDUCTION(name, element, op, type)                                      \
  ESP_ENTRY(esp_##name##_##element, ReduceParameters) {                             \
    using namespace espalier;                                                       \
    using Op = device::OnDevice<decltype(operation_of<op, Element<type>>())>::Type; \
    device::reduce<Op, alignof(Element<type>)>(p, device::this_thread());           \
  }
#include "core/device/kernels/reductions.def"

ESP_ENTRY(esp_copy_rows, CopyRowsParameters) {
  espalier::device::copy_rows(p, espalier::device::this_thread());
}

#pragma clang force_cuda_host_device end
