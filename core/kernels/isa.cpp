#include "core/kernels/isa.hpp"

#include "core/kernels/kernel_table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace espalier {
namespace {

#if defined(__x86_64__)
constexpr Isa kBaseIsa = Isa::kSse2;
#elif defined(__aarch64__)
constexpr Isa kBaseIsa = Isa::kNeon;
#else
constexpr Isa kBaseIsa = Isa::kGeneric;
#endif

#if defined(__x86_64__)
// Clang 16's __builtin_cpu_supports does not know it. It uses the registers of AVX, so whether the
// operating system saves them is answered with "avx2".
bool has_f16c() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

}  // namespace

const KernelTables* kernels_of(Isa isa) noexcept {
  if (isa == kBaseIsa) return &kBaseKernels;
#if defined(__x86_64__)
  // The options of cmake/kernels.cmake, one by one.
  const bool avx2 = __builtin_cpu_supports("avx2") && has_f16c();
  if (isa == Isa::kAvx2 && avx2) return &kAvx2Kernels;
  if (isa == Isa::kAvx512 && avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return &kAvx512Kernels;
  }
#endif
  return nullptr;
}

const char* isa_name(Isa isa) noexcept {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kGeneric:
      return "generic";
    case Isa::kSse2:
      return "sse2";
    case Isa::kNeon:
      return "neon";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

bool isa_supported(Isa isa) noexcept {
  return kernels_of(isa) != nullptr;
}

Isa best_isa() noexcept {
  Isa best = kBaseIsa;
  for (const Isa isa : kIsas) {
    if (isa_supported(isa)) best = isa;
  }
  return best;
}

std::string supported_isas_text() {
  std::string text;
  for (const Isa isa : kIsas) {
    if (isa_supported(isa)) text += std::string(text.empty() ? "" : ", ") + isa_name(isa);
  }
  return text;
}

CombineKernel combine_kernel_for(Isa isa, esp_op op, esp_type type, Store store) noexcept {
  const KernelTables* const kernels = kernels_of(isa);
  if (kernels == nullptr || !op_defined(op, type)) return nullptr;
  return (*kernels)[static_cast<std::size_t>(store)][kernel_index(op, type)];
}

}  // namespace espalier
