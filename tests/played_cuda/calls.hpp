// The functions that the played driver exports, with the driver's names.
#pragma once

#include "tests/played_cuda/control.hpp"

namespace espalier::device::cuda {

#define PLAYED_DECLARE(member, name, parameters) \
  extern "C" __attribute__((visibility("default"))) Code name parameters;
ESP_CUDA_FUNCTIONS(PLAYED_DECLARE)
PLAYED_PROGRAM_FUNCTIONS(PLAYED_DECLARE)
#undef PLAYED_DECLARE

}  // namespace espalier::device::cuda
