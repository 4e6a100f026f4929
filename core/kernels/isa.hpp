// Instruction sets for which kernels were compiled, for tests and for a configured choice.
//
// A job takes the best one or the one of ESPALIER_ISA (api/bring_up.cpp); every one gives the
// same bits.
// Threads: any. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/datatype.hpp"
#include "core/kernels/kernel_table.hpp"

namespace espalier {

// From the most general to the most capable. kSse2 and kNeon are the base of their architectures,
// kGeneric is the base of every other one. kAuto stands for best_isa() until somebody has asked.
enum class Isa : std::uint8_t { kAuto, kGeneric, kSse2, kNeon, kAvx2, kAvx512 };
inline constexpr std::array<Isa, 5> kIsas = {Isa::kGeneric, Isa::kSse2, Isa::kNeon, Isa::kAvx2,
                                             Isa::kAvx512};

const char* isa_name(Isa isa) noexcept;
// Kernels for it exist in this build, and processor and operating system can run them.
bool isa_supported(Isa isa) noexcept;
Isa best_isa() noexcept;
// "sse2, avx2": for people.
std::string supported_isas_text();
// nullptr when this build or this processor does not have it. Asks the processor, which takes
// microseconds in a virtual machine (cpuid is intercepted): not for the data path.
const KernelTables* kernels_of(Isa isa) noexcept;
// nullptr when the operator is not defined for the type, or combines another form of its elements
// (core/element_form.hpp), or when the instruction set is not supported.
CombineKernel combine_kernel_for(Isa isa, esp_op op, esp_type type,
                                 Store store = Store::kCached) noexcept;

}  // namespace espalier
