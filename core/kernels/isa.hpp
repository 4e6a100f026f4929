// Instruction sets for which kernels were compiled, for tests and for a configured choice.
//
// combine_kernel() (core/datatype.hpp) takes the best one; every one gives the same bits.
// Threads: any. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/datatype.hpp"
#include "core/kernels/kernel_table.hpp"

namespace espalier {

// From the most general to the most capable. kSse2 and kNeon are the base of their architectures,
// kGeneric is the base of every other one.
enum class Isa : std::uint8_t { kGeneric, kSse2, kNeon, kAvx2, kAvx512 };
inline constexpr std::array<Isa, 5> kIsas = {Isa::kGeneric, Isa::kSse2, Isa::kNeon, Isa::kAvx2,
                                             Isa::kAvx512};

const char* isa_name(Isa isa) noexcept;
// By the names of combine_isa().
std::optional<Isa> isa_by_name(std::string_view name) noexcept;
// Kernels for it exist in this build, and processor and operating system can run them.
bool isa_supported(Isa isa) noexcept;
Isa best_isa() noexcept;
// nullptr when this build or this processor does not have it. Asks the processor, which takes
// microseconds in a virtual machine (cpuid is intercepted): not for the data path.
const KernelTable* kernels_of(Isa isa) noexcept;
// nullptr when the operator is not defined for the type, or the instruction set is not supported.
CombineKernel combine_kernel_for(Isa isa, esp_op op, esp_type type) noexcept;

}  // namespace espalier
