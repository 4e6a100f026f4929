// The library's own kernels (core/device/kernels), which are compiled for the host, too.
#include <cstdint>
#include <string_view>

#include "core/device/kernels/host_kernels.hpp"
#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/parameters.hpp"
#include "tests/played_cuda/modules.hpp"

namespace played {
namespace {

using espalier::Element;
using espalier::device::CopyRowsParameters;
using espalier::device::ReduceParameters;

struct PlayedReduction {
  std::string_view name;
  std::size_t element_bytes;
};
constexpr PlayedReduction kPlayedReductions[] = {
#define ESP_REDUCTION(name, element, op, type) {"esp_" #name "_" #element, sizeof(Element<type>)},
#include "core/device/kernels/reductions.def"
};

const PlayedReduction* find_played(std::string_view name) {
  for (const PlayedReduction& one : kPlayedReductions) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

void run_played(const Launch& launch, const void* parameters) {
  const std::uint64_t threads = std::uint64_t{launch.blocks} * launch.threads;
  (void)espalier::device::run_kernel_on_host(launch.name, threads, &parameters);
}

void play_reduction(const Launch& launch) {
  auto parameters = launch.parameter<ReduceParameters>(0);
  const std::uint64_t bytes = parameters.count * find_played(launch.name)->element_bytes;
  if (bytes == 0) return;
  for (std::uint64_t i = 0; i < parameters.k; ++i) {
    parameters.sources[i] = launch.read(cuda::address_of(parameters.sources[i]), bytes);
  }
  parameters.dst = launch.write(cuda::address_of(parameters.dst), bytes);
  run_played(launch, &parameters);
}

// Row by row: what lies between rows may be another stream's.
void play_copy_rows(const Launch& launch) {
  auto parameters = launch.parameter<CopyRowsParameters>(0);
  const cuda::Address src = cuda::address_of(parameters.src);
  const cuda::Address dst = cuda::address_of(parameters.dst);
  if (parameters.row_bytes == 0) return;
  for (std::uint64_t row = parameters.rows; row-- > 0;) {
    parameters.src = launch.read(src + row * parameters.src_stride, parameters.row_bytes);
    parameters.dst = launch.write(dst + row * parameters.dst_stride, parameters.row_bytes);
  }
  run_played(launch, &parameters);
}

}  // namespace

KernelOfHost kernel_of_library(const std::string& name) {
  if (name == espalier::device::kCopyRowsKernel) return &play_copy_rows;
  return find_played(name) != nullptr ? &play_reduction : nullptr;
}

}  // namespace played
