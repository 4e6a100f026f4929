// The kernels of devices, compiled for the host: for tests, and for drivers that are played.
//
// A target of its own, espalier_device_kernels_host: the library does without.
// Threads: any. path: data
#pragma once

#include <cstdint>
#include <string_view>

namespace espalier::device {

// Runs all `threads` threads of a launch, one after the other. parameters: addresses of them, as a
// launch has them. False: there is no such kernel.
bool run_kernel_on_host(std::string_view name, std::uint64_t threads,
                        const void* const* parameters) noexcept;

}  // namespace espalier::device
