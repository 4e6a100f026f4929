// How often this program has asked for memory so far (operator new, of any kind).
#pragma once

#include <cstdint>

namespace espalier::test {
std::uint64_t allocations() noexcept;
}
