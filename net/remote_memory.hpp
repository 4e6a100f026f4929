// RemoteMemory: memory of another process, by the names that its adapter knows it by.
// Value. path: data
#pragma once

#include <cstdint>

namespace espalier::net {

struct RemoteMemory {
  std::uint64_t address = 0;  // in that process; 0: there is none
  std::uint32_t key = 0;
};

}  // namespace espalier::net
