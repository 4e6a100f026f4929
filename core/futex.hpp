// futex(2) on a word that may be shared between processes.
// Threads: any. path: slow
#pragma once

#include <atomic>
#include <cstdint>

namespace espalier {

// Sleeps while word == expected, for at most timeout_ns. Returns for any reason; callers look
// again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::uint64_t timeout_ns) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace espalier
